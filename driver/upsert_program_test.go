package driver

import (
	"fmt"
	"strings"
)

func (p *upsertProgram) insert(t *upsertTable, scope []string) string {
	var columns []string
	for _, c := range t.columns {
		if !p.in(5) || c == "id" && !t.id {
			columns = append(columns, c)
		}
	}
	if len(columns) == 0 {
		columns = t.columns
	}
	list := "(" + strings.Join(columns, ",") + ")"
	if len(columns) == len(t.columns) && p.in(2) {
		list = ""
	}
	into := "INSERT " + p.or() + "INTO " + t.name
	name := t.name
	if !p.trigger && p.in(6) {
		name, into = "z", into+" AS z"
	}
	into += list + " "
	row := func(scope []string) string {
		values := make([]string, len(columns))
		for i := range values {
			values[i] = p.value(scope)
		}
		return strings.Join(values, ",")
	}
	var text string
	switch {
	case p.in(4):
		from := p.any()
		order := make([]string, len(columns))
		for i := range order {
			order[i] = fmt.Sprint(i + 1)
		}
		text = into + "SELECT " + row(append(append([]string(nil), scope...), from.columns...)) + " FROM " + from.name +
			" WHERE " + p.condition(from.columns, scope) + " ORDER BY " + strings.Join(order, ",")
		if p.in(3) {
			text += fmt.Sprintf(" LIMIT %d", 1+p.n(4))
		}
	default:
		text = into + "VALUES(" + row(scope) + ")"
		for range p.n(4) {
			text += ",(" + row(scope) + ")"
		}
	}
	return text + p.upsert(t, name, scope) + p.returning(t, false)
}

func (p *upsertProgram) upsert(t *upsertTable, name string, scope []string) (text string) {
	if p.in(5) {
		return ""
	}
	clauses := 1 + p.n(3)
	for k := range clauses {
		target := ""
		switch {
		case len(t.targets) > 0 && (k < clauses-1 || p.n(3) > 0):
			target = "(" + p.one(t.targets...)
			if !strings.Contains(target, ") ") && !strings.HasSuffix(target, ")") || strings.Count(target, "(") > strings.Count(target, ")") {
				target += ")"
			}
		case k < clauses-1:
			continue
		}
		text += " ON CONFLICT" + target + " DO "
		if p.in(4) {
			text += "NOTHING"
			continue
		}
		var around []string
		for _, c := range t.all {
			around = append(around, "excluded."+c, name+"."+c, c)
		}
		if !t.without {
			around = append(around, "excluded.rowid", "rowid")
		}
		around = append(around, scope...)
		text += "UPDATE SET " + p.set(t, around)
		if p.in(3) {
			text += " WHERE " + p.one(name+".", "excluded.") + p.one(t.all...) + p.one("=", "<", ">", " IS NOT ") + p.expression(around)
		}
	}
	return text
}

func (p *upsertProgram) set(t *upsertTable, around []string) string {
	var list []string
	for range 1 + p.n(2) {
		switch p.n(9) {
		case 0:
			list = append(list, "(a,c)=("+p.value(around)+","+p.expression(around)+")")
		case 1:
			list = append(list, "(b,c)=(SELECT "+p.value(around)+","+p.value(around)+")")
		default:
			list = append(list, p.one(t.columns...)+"="+p.expression(around))
		}
	}
	return strings.Join(list, ", ")
}

// returning draws a RETURNING clause. Without rowids, the rows that are there come
// in another order than natively.
func (p *upsertProgram) returning(t *upsertTable, there bool) string {
	if p.trigger || !p.in(5) || there && t.without {
		return ""
	}
	return " RETURNING " + p.one("*", p.one(t.all...)+", a||'-'||b AS z", "*, (SELECT count(*) FROM "+t.name+")", "typeof(a), coalesce(b,c)")
}

func (p *upsertProgram) update(t *upsertTable, scope []string) string {
	around := append(append([]string(nil), scope...), t.all...)
	for _, c := range t.columns {
		around = append(around, t.name+"."+c)
	}
	or := p.or()
	if t.without && strings.Contains(or, "REPLACE") {
		or = ""
	}
	return "UPDATE " + or + t.name + " SET " + p.set(t, around) + " WHERE " + p.condition(t.columns, scope) + p.returning(t, true)
}

func (p *upsertProgram) drawTrigger() string {
	p.triggers++
	p.trigger = true
	defer func() { p.trigger = false }()
	t := p.any()
	event := p.one("INSERT", "UPDATE", "DELETE")
	var scope []string
	for _, c := range t.columns {
		if event != "DELETE" {
			scope = append(scope, "new."+c)
		}
		if event != "INSERT" {
			scope = append(scope, "old."+c)
		}
	}
	body := fmt.Sprintf("INSERT INTO log VALUES('r%d',%s,%s)", p.triggers, p.one(scope...), p.one(scope...))
	if p.in(2) {
		other := p.any()
		body = p.insert(other, scope)
		if p.in(4) {
			body = p.update(other, scope)
		}
	}
	return fmt.Sprintf("CREATE TRIGGER r%d %s %s ON %s WHEN %s BEGIN %s; END", p.triggers, p.one("BEFORE", "AFTER", "AFTER"), event, t.name, p.condition(scope, scope), body)
}

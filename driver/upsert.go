package driver

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// planUpsert makes a plan of the ON CONFLICT clauses of an INSERT and returns the
// expression that is its value for a row. abort: the INSERT says OR ABORT, in a trigger.
func (c *conn) planUpsert(ins sqltext.Insertion, def *engine.TableDef, base sqltext.Edits, ps *planning, abort bool) (string, error) {
	n := c.nesting(ps, def, base)
	clauses, err := ins.Clauses(n)
	if err != nil {
		if missing, ok := errors.AsType[sqltext.ErrNoColumn](err); ok {
			err = newError("", ErrGeneric, "%s", missing.Error())
		}
		return "", err
	}
	plan := vtab.NewPlan()
	plan.Abort = abort
	for _, clause := range clauses {
		u := vtab.Upsert{Any: clause.Target == ""}
		if !u.Any {
			t, err := c.sh.tables.conflicts.target(def, ins.Alias(), clause.Target)
			if err != nil {
				return "", err
			}
			u.Key, u.Index = t.key, t.index
		}
		if clause.Set != nil {
			if u.Set, err = ps.setList(clause.Set, def); err != nil {
				return "", err
			}
		}
		plan.Upserts = append(plan.Upserts, u)
	}
	return c.made(ps, plan, n.Args)
}

// conflictTarget is what an ON CONFLICT clause is about: the rowid or an index.
type conflictTarget struct {
	key   bool
	index uint64
}

// conflictTargets finds out which unique index a conflict target means. SQLite is
// asked: of scratch tables that have one unique index each, the target fits the
// one it means.
type conflictTargets struct {
	mu    sync.Mutex
	db    *vtab.Conn
	known map[conflictQuestion]conflictTarget
}

type conflictQuestion struct {
	def           *engine.TableDef
	alias, target string
}

// keptTargets is how many answers are kept.
const keptTargets = 1024

func (t *conflictTargets) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.db == nil {
		return nil
	}
	db := t.db
	t.db, t.known = nil, nil
	return db.Close()
}

func (t *conflictTargets) target(def *engine.TableDef, alias, target string) (conflictTarget, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := conflictQuestion{def, alias, target}
	if answer, ok := t.known[q]; ok {
		return answer, nil
	}
	if t.db == nil {
		db, err := vtab.OpenPlain()
		if err != nil {
			return conflictTarget{}, err
		}
		t.db = db
	}
	answer, err := t.ask(q)
	if err != nil {
		return answer, err
	}
	if t.known == nil || len(t.known) >= keptTargets {
		t.known = map[conflictQuestion]conflictTarget{}
	}
	t.known[q] = answer
	return answer, nil
}

// ask tries the key and the unique indexes, in the order SQLite goes through them.
func (t *conflictTargets) ask(q conflictQuestion) (answer conflictTarget, err error) {
	var said error
	fits, err := t.fits(q, nil)
	if fits && err == nil {
		if !q.def.WithoutRowid {
			return conflictTarget{key: true}, nil
		}
		return conflictTarget{index: q.def.Indexes[primaryKey(q.def)].ID}, nil
	}
	said = err
	for i := len(q.def.Indexes) - 1; i >= 0; i-- {
		ix := q.def.Indexes[i]
		if !ix.Unique || q.def.WithoutRowid && i == primaryKey(q.def) {
			continue
		}
		fits, err := t.fits(q, ix)
		if fits && err == nil {
			return conflictTarget{index: ix.ID}, nil
		}
		if said == nil {
			said = err
		}
	}
	if said == nil {
		said = newError("", ErrGeneric, "ON CONFLICT clause does not match any PRIMARY KEY or UNIQUE constraint")
	}
	return answer, said
}

// primaryKey returns the position of the index that is the PRIMARY KEY.
func primaryKey(def *engine.TableDef) int {
	return slices.IndexFunc(def.Indexes, func(ix *engine.IndexDef) bool { return ix.Origin == "pk" })
}

// fits reports whether a target is an index or, for nil, the key of the table,
// which the others were not.
func (t *conflictTargets) fits(q conflictQuestion, ix *engine.IndexDef) (fits bool, err error) {
	name := sqltext.Quote(q.def.Name)
	ddl := []string{"CREATE TABLE " + name + "(" + scratchColumns(q.def, ix == nil) + ")"}
	if q.def.WithoutRowid {
		ddl[0] = "CREATE TABLE " + name + "(" + scratchColumns(q.def, false) + ", PRIMARY KEY(" + scratchTerms(q.def, q.def.Indexes[primaryKey(q.def)]) + ")) WITHOUT ROWID"
	}
	switch {
	case ix == nil:
	case ix.SQL != "":
		ddl = append(ddl, ix.SQL)
	default:
		ddl = append(ddl, `CREATE UNIQUE INDEX "the index" ON `+name+"("+scratchTerms(q.def, ix)+")")
	}
	defer func() {
		err = errors.Join(err, t.db.Exec("DROP TABLE IF EXISTS "+name))
	}()
	for _, sql := range ddl {
		if err := t.db.Exec(sql); err != nil {
			return false, err
		}
	}
	alias := ""
	if q.alias != "" {
		alias = " AS " + sqltext.Quote(q.alias)
	}
	st, _, err := t.db.Prepare("INSERT INTO " + name + alias + " SELECT * FROM " + name + " WHERE 1 ON CONFLICT" + q.target + " DO NOTHING")
	if st != nil {
		st.Finalize()
	}
	if err != nil && strings.HasSuffix(err.Error(), "ON CONFLICT clause does not match any PRIMARY KEY or UNIQUE constraint") {
		return false, nil
	}
	return err == nil, err
}

// scratchTerms lists the columns of an automatic index.
func scratchTerms(def *engine.TableDef, ix *engine.IndexDef) string {
	var terms []string
	for _, term := range ix.Columns {
		terms = append(terms, sqltext.Quote(def.Columns[term.Column].Name)+" COLLATE "+term.Collation.String())
	}
	return strings.Join(terms, ",")
}

// scratchColumns lists the columns of a table as far as a conflict target can tell
// them apart.
func scratchColumns(def *engine.TableDef, key bool) string {
	var list []string
	for i := range def.Columns {
		col := &def.Columns[i]
		if !col.Visible() {
			continue
		}
		text := sqltext.Quote(col.Name)
		if key && i == def.RowidAlias {
			text += " INTEGER PRIMARY KEY"
		}
		if col.Collation != row.Binary {
			text += " COLLATE " + col.Collation.String()
		}
		list = append(list, text)
	}
	return strings.Join(list, ",")
}

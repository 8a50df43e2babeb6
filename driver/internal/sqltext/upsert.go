package sqltext

// Clause is one ON CONFLICT clause of an INSERT.
type Clause struct {
	Target string     // "(a, b) WHERE p" as written, "" for none
	Set    *NestedSet // nil: DO NOTHING
}

// Alias returns the name that an INSERT gives its table, "" for none.
func (i Insertion) Alias() string {
	if i.n.Alias == nil {
		return ""
	}
	return i.n.Alias.Name
}

// Clauses reads the ON CONFLICT clauses. n is what their expressions need.
func (i Insertion) Clauses(n *Nesting) ([]Clause, error) {
	n.src, n.trigger, n.with, n.alias = i.text, i.trigger, i.n.With, i.Alias()
	name := n.alias
	if name == "" {
		name = i.n.Table.Name.Name
	}
	n.excluded = Lower(name) != "excluded"
	var list []Clause
	for _, u := range i.n.Upserts {
		var c Clause
		if k := len(u.Target); k > 0 {
			c.Target = "(" + i.text[u.Target[0].Pos():u.Target[k-1].End()] + "\n)"
			if u.TargetWhere != nil {
				c.Target += " WHERE " + i.text[u.TargetWhere.Pos():u.TargetWhere.End()] + "\n"
			}
		}
		if !u.DoNothing {
			set, err := n.setList(u.Set, u.Where)
			if err != nil {
				return nil, err
			}
			c.Set = set
		}
		list = append(list, c)
	}
	return list, nil
}

// CutUpserts takes the ON CONFLICT clauses out, with the edits
// within them. It comes after Splice.
func (i Insertion) CutUpserts(e *Edits) {
	if start, end := i.Upserts(); end > 0 {
		e.Put(start, end, "")
	}
}

// Upserts returns where the ON CONFLICT clauses stand, 0, 0 without one.
func (i Insertion) Upserts() (start, end int) {
	n := len(i.n.Upserts)
	if n == 0 {
		return 0, 0
	}
	return i.n.Upserts[0].Pos(), i.n.Upserts[n-1].End()
}

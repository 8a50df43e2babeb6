package sqltext

// countStar recognises a text that is exactly SELECT count(*) FROM name,
// quoted or qualified as it may be, and returns the name and the spelling of
// the column, which SQLite takes as the column's name.
//
// SQLite steps through every row of a virtual table to count it; a snapshot
// knows the number.
func countStar(src string, first lexeme) (*Name, string) {
	i := first.end
	want := func(word string) (lexeme, bool) {
		t := next(src, i)
		i = t.end
		if len(word) == 1 {
			return t, t.kind == tokSymbol && src[t.start] == word[0]
		}
		return t, t.is(src, word)
	}
	if !first.is(src, "SELECT") {
		return nil, ""
	}
	count, ok := want("count")
	if !ok {
		return nil, ""
	}
	for _, w := range [...]string{"(", "*", ")"} {
		if _, ok := want(w); !ok {
			return nil, ""
		}
	}
	label := src[count.start:i]
	if _, ok := want("FROM"); !ok {
		return nil, ""
	}
	var n Name
	t := next(src, i)
	if n.Name, ok = t.name(src); !ok {
		return nil, ""
	}
	if t = next(src, t.end); t.kind == tokSymbol && src[t.start] == '.' {
		n.Schema = n.Name
		t = next(src, t.end)
		if n.Name, ok = t.name(src); !ok {
			return nil, ""
		}
		t = next(src, t.end)
	}
	if t.kind == tokSymbol && src[t.start] == ';' {
		t = next(src, t.end)
	}
	if t.kind != tokEnd {
		return nil, ""
	}
	return &n, label
}

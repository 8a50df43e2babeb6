package sqltext

import "iter"

// Statements yields the statements of a text one by one, each with its
// semicolon and with the blanks and comments before it. Pieces that hold
// nothing but blanks and comments are left out.
func Statements(src string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for src != "" {
			stmt, rest, found := Cut(src)
			if found && !yield(stmt) {
				return
			}
			src = rest
		}
	}
}

// Cut splits the first statement off a text. found is false when there is
// nothing but blanks and comments before the first semicolon. The semicolons in
// the body of CREATE TRIGGER do not end it; the one after its END does.
func Cut(src string) (stmt, rest string, found bool) {
	var (
		words      [5]lexeme // the first ones, an EXPLAIN left out
		n          int
		last, prev lexeme
		any        bool
	)
	for i := 0; ; {
		t := next(src, i)
		i = t.end
		switch {
		case t.kind == tokEnd:
			if t.end < len(src) { // NUL
				src = src[:t.end]
			}
			return src, "", any
		case t.kind == tokSymbol && src[t.start] == ';':
			if startsTrigger(src, words[:n]) && !(last.is(src, "END") && prev.kind == tokSymbol && src[prev.start] == ';') {
				prev, last = last, t
				continue
			}
			return src[:i], src[i:], any
		}
		any = true
		if n < len(words) && !(n == 0 && t.is(src, "EXPLAIN")) {
			words[n] = t
			n++
		}
		prev, last = last, t
	}
}

// startsTrigger reports whether the first words are CREATE [TEMP] TRIGGER.
// EXPLAIN QUERY PLAN adds two words in front.
func startsTrigger(src string, words []lexeme) bool {
	if len(words) > 2 && words[0].is(src, "QUERY") {
		words = words[2:]
	}
	if len(words) < 2 || !words[0].is(src, "CREATE") {
		return false
	}
	if words[1].is(src, "TEMP") || words[1].is(src, "TEMPORARY") {
		words = words[1:]
	}
	return len(words) > 1 && words[1].is(src, "TRIGGER")
}

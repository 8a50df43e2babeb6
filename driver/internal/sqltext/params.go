package sqltext

import (
	"strconv"

	"github.com/sqlc-dev/meyer/lexer"
	"github.com/sqlc-dev/meyer/token"
)

// Numbering gives the parameters of a text of several statements one numbering,
// the one they would have if the text were a single statement: a ? takes the
// next number, ?N is N, and a name keeps the number it got first. SQLite itself
// starts at 1 in each statement.
type Numbering struct {
	high  int
	names map[string]int
}

// Map returns, for each parameter of a statement by the number SQLite gives it
// there (from 1; index 0 is not used), its number in the whole text. A number
// that the statement skips maps to 0.
func (n *Numbering) Map(stmt string) []int {
	local := Numbering{}
	out := []int{0}
	for _, t := range lexer.Lex(stmt) {
		if t.Kind != token.VARIABLE {
			continue
		}
		spelling := t.Text(stmt)
		l, g := local.number(spelling), n.number(spelling)
		for len(out) <= l {
			out = append(out, 0)
		}
		out[l] = g
	}
	return out
}

// High returns the highest number given so far.
func (n *Numbering) High() int { return n.high }

// Named reports whether a parameter had a name.
func (n *Numbering) Named() bool { return len(n.names) > 0 }

func (n *Numbering) number(spelling string) int {
	if spelling == "?" {
		n.high++
		return n.high
	}
	if spelling[0] == '?' {
		k, _ := strconv.Atoi(spelling[1:])
		n.high = max(n.high, k)
		return k
	}
	if k, ok := n.names[spelling]; ok {
		return k
	}
	if n.names == nil {
		n.names = map[string]int{}
	}
	n.high++
	n.names[spelling] = n.high
	return n.high
}

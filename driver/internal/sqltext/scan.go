package sqltext

import "strings"

// tokenKind is as much of a token's nature as splitting needs.
type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokWord
	tokQuoted
	tokSymbol
)

// lexeme is a span of the source. Numbers and parameters come out as words and
// symbols; that is enough for every question asked of this scanner.
type lexeme struct {
	kind       tokenKind
	start, end int
}

// next returns the first token of src at or after i, past blanks and comments.
// A NUL byte ends the text, as it does for SQLite.
func next(src string, i int) lexeme {
	for i < len(src) {
		switch c := src[i]; {
		case c == 0:
			return lexeme{tokEnd, i, i}
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			i++
		case c == '-' && strings.HasPrefix(src[i:], "--"):
			i = until(src, i+2, "\n")
		case c == '/' && strings.HasPrefix(src[i:], "/*"):
			i = until(src, i+2, "*/")
		case c == '\'' || c == '"' || c == '`':
			j := i + 1
			for {
				k := strings.IndexByte(src[j:], c)
				if k < 0 {
					return lexeme{tokQuoted, i, len(src)}
				}
				if j += k + 1; j >= len(src) || src[j] != c { // a doubled quote goes on
					return lexeme{tokQuoted, i, j}
				}
				j++
			}
		case c == '[':
			return lexeme{tokQuoted, i, until(src, i, "]")}
		case isWord(c):
			j := i + 1
			for j < len(src) && isWord(src[j]) {
				j++
			}
			return lexeme{tokWord, i, j}
		default:
			return lexeme{tokSymbol, i, i + 1}
		}
	}
	return lexeme{tokEnd, len(src), len(src)}
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// until returns the position just past the first end at or after i.
func until(src string, i int, end string) int {
	if i > len(src) {
		return len(src)
	}
	if j := strings.Index(src[i:], end); j >= 0 {
		return i + j + len(end)
	}
	return len(src)
}

// is reports whether a token is the given word, in any case.
func (t lexeme) is(src, word string) bool {
	return t.kind == tokWord && t.end-t.start == len(word) && strings.EqualFold(src[t.start:t.end], word)
}

// name returns what an identifier token names, and whether it is one.
func (t lexeme) name(src string) (string, bool) {
	s := src[t.start:t.end]
	switch {
	case t.kind == tokWord:
		return s, s[0] != '$' && (s[0] < '0' || s[0] > '9')
	case t.kind != tokQuoted || len(s) < 2 || s[0] == '\'':
		return "", false
	case s[0] == '[':
		return s[1 : len(s)-1], s[len(s)-1] == ']'
	case s[len(s)-1] != s[0]:
		return "", false
	}
	q := s[:1]
	return strings.ReplaceAll(s[1:len(s)-1], q+q, q), true
}

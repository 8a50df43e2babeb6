package main

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// statementScanner finds where a statement ends, a byte at a time, so that a
// script is never held as a whole and a shell never reads a line twice. It sees
// what sqlite3_complete sees: a statement ends at a semicolon outside of
// comments and quotes, CREATE TRIGGER at the one after "; END".
type statementScanner struct {
	inside byte      // what the scanner is in: a closing quote, '-' or '*' for a comment, else 0
	prev   byte      // byte before, where two make a token
	word   []byte    // word being read
	first  [6]string // first tokens of the statement, upper case
	tokens int
	last   string // last token
	before string // and the ones before it
	third  string
}

// step takes the next byte and reports whether it ends a statement.
func (s *statementScanner) step(c byte) (ended bool) {
	prev := s.prev
	s.prev = c
	switch s.inside {
	case 0:
	case '-':
		if c == '\n' {
			s.inside = 0
		}
		return false
	case '*':
		if prev == '*' && c == '/' {
			s.inside, s.prev = 0, 0
		}
		return false
	default:
		if c == s.inside { // a doubled quote just begins the next string
			s.inside = 0
		}
		return false
	}
	if prev == '-' && c == '-' || prev == '/' && c == '*' {
		s.inside, s.prev = c, 0
		s.drop()
		return false
	}
	if isWordByte(c) {
		s.word = append(s.word, c)
		return false
	}
	s.endWord()
	switch c {
	case '\'', '"', '`':
		s.inside = c
		s.token("'")
	case '[':
		s.inside = ']'
		s.token("'")
	case ';':
		if s.trigger() && !(s.last == "END" && s.before == ";") {
			s.token(";")
			return false
		}
		return true
	default:
		if c > ' ' {
			s.token(string(c))
		}
	}
	return false
}

// isWordByte reports whether a byte belongs to a name or a number.
func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (s *statementScanner) endWord() {
	if len(s.word) > 0 {
		s.token(strings.ToUpper(string(s.word)))
		s.word = s.word[:0]
	}
}

func (s *statementScanner) token(t string) {
	if s.tokens < len(s.first) {
		s.first[s.tokens] = t
	}
	s.tokens++
	s.third, s.before, s.last = s.before, s.last, t
}

// drop takes back the byte that turned out to begin a comment.
func (s *statementScanner) drop() {
	s.tokens--
	if s.tokens < len(s.first) {
		s.first[s.tokens] = ""
	}
	s.last, s.before = s.before, s.third
}

// trigger reports whether the statement is a CREATE TRIGGER.
func (s *statementScanner) trigger() bool {
	w := s.first[:]
	if w[0] == "EXPLAIN" {
		w = w[1:]
		if w[0] == "QUERY" {
			w = w[2:]
		}
	}
	return w[0] == "CREATE" && (w[1] == "TRIGGER" || (w[1] == "TEMP" || w[1] == "TEMPORARY") && w[2] == "TRIGGER")
}

// empty reports whether nothing but space, comments and semicolons was seen.
func (s *statementScanner) empty() bool { return s.tokens == 0 && len(s.word) == 0 && s.inside == 0 }

// statement is a piece of a script.
type statement struct {
	text string
	line int // of its first word
	head []string
}

// is reports whether a statement begins with a word, in upper case.
func (s statement) is(words ...string) bool {
	for _, w := range words {
		if s.head[0] == w {
			return true
		}
	}
	return false
}

// scriptReader reads the statements of a script one after another.
type scriptReader struct {
	r    *bufio.Reader
	line int
	read int64 // bytes
}

func newScriptReader(r io.Reader) *scriptReader {
	return &scriptReader{r: bufio.NewReaderSize(r, 1<<16), line: 1}
}

// next returns the next statement, or io.EOF. A last one need not end with a
// semicolon.
func (s *scriptReader) next() (statement, error) {
	var scan statementScanner
	var text []byte
	line := s.line
	for {
		c, err := s.r.ReadByte()
		if errors.Is(err, io.EOF) {
			scan.endWord()
			if scan.tokens == 0 {
				return statement{}, io.EOF
			}
			return statement{strings.TrimSpace(string(text)), line, scan.first[:]}, nil
		}
		if err != nil {
			return statement{}, err
		}
		s.read++
		if s.read <= 3 && c == "\xef\xbb\xbf"[s.read-1] && len(text) == 0 {
			continue // a byte order mark
		}
		if len(text) == 0 && (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
			if c == '\n' {
				s.line++
				line = s.line
			}
			continue
		}
		text = append(text, c)
		if c == '\n' {
			s.line++
		}
		ended := scan.step(c)
		if scan.tokens == 0 && len(scan.word) == 0 {
			line = s.line // comments before a statement are not its place
		}
		if ended {
			if scan.tokens > 0 {
				return statement{string(text), line, scan.first[:]}, nil
			}
			scan, text, line = statementScanner{}, text[:0], s.line
		}
	}
}

// splitScript returns the statements of a text.
func splitScript(text string) (all []statement) {
	for s := newScriptReader(strings.NewReader(text)); ; {
		next, err := s.next()
		if err != nil { // the end: a string is always readable
			return all
		}
		all = append(all, next)
	}
}

// terminated ends a statement with a semicolon, out of reach of a comment at its
// end, which is part of a view's definition.
func terminated(text string) string {
	var scan statementScanner
	for i := range len(text) {
		scan.step(text[i])
	}
	if scan.inside == '-' {
		return text + "\n;"
	}
	return text + ";"
}

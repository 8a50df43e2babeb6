package slt

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Kind says what a Record does.
type Kind uint8

// Kinds of records.
const (
	Statement Kind = iota
	Query
	HashThreshold
	Halt
	Unknown // a record this package does not know; SQL holds its first line
)

// Sort modes of a query.
const (
	NoSort uint8 = iota
	RowSort
	ValueSort
)

// Cond is one skipif or onlyif line.
type Cond struct {
	Only   bool
	Engine string
}

// Record is one record of a script. Strings share the script's memory.
type Record struct {
	Kind      Kind
	Line      int // of the record's first line, from 1
	Conds     []Cond
	SQL       string
	WantError bool     // statement error
	Types     string   // query: one letter a column
	Sort      uint8    // query
	Label     string   // query
	Want      []string // query: the lines after ----
	N         int      // hash-threshold
}

// Runs reports whether the record is to run on an engine known by any of these names.
func (r *Record) Runs(engines []string) bool {
	for _, c := range r.Conds {
		hit := false
		for _, e := range engines {
			hit = hit || strings.EqualFold(e, c.Engine)
		}
		if hit != c.Only {
			return false
		}
	}
	return true
}

// Scanner reads the records of one script.
type Scanner struct {
	src  string
	pos  int
	line int // number of the line last returned by next
}

// NewScanner reads from src.
func NewScanner(src []byte) *Scanner {
	if bytes.IndexByte(src, '\r') >= 0 {
		src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	}
	return &Scanner{src: string(src)}
}

func (s *Scanner) next() (string, bool) {
	if s.pos >= len(s.src) {
		return "", false
	}
	rest := s.src[s.pos:]
	n := strings.IndexByte(rest, '\n')
	if n < 0 {
		n = len(rest)
		s.pos = len(s.src)
	} else {
		s.pos += n + 1
	}
	s.line++
	return rest[:n], true
}

func blank(l string) bool { return strings.TrimSpace(l) == "" }

// Next returns the next record, or false at the end of the script.
func (s *Scanner) Next() (*Record, bool) {
	r := new(Record)
	for {
		l, ok := s.next()
		if !ok {
			return nil, false
		}
		if blank(l) || l[0] == '#' {
			continue
		}
		if r.Line == 0 {
			r.Line = s.line
		}
		f := strings.Fields(l)
		arg := func(i int) string {
			if i < len(f) {
				return f[i]
			}
			return ""
		}
		switch f[0] {
		case "skipif", "onlyif":
			r.Conds = append(r.Conds, Cond{f[0] == "onlyif", arg(1)})
			continue
		case "halt":
			r.Kind = Halt
		case "hash-threshold":
			r.Kind = HashThreshold
			r.N, _ = strconv.Atoi(arg(1))
		case "statement":
			r.Kind = Statement
			switch arg(1) {
			case "ok":
			case "error":
				r.WantError = true
			default:
				r.Kind = Unknown
			}
			r.SQL, _ = s.body(false)
		case "query":
			r.Kind = Query
			r.Types = arg(1)
			switch arg(2) {
			case "", "nosort":
			case "rowsort":
				r.Sort = RowSort
			case "valuesort":
				r.Sort = ValueSort
			default:
				r.Kind = Unknown
			}
			r.Label = arg(3)
			var more bool
			if r.SQL, more = s.body(true); more {
				for {
					l, ok := s.next()
					if !ok || l == "" {
						break
					}
					r.Want = append(r.Want, l)
				}
			}
		default:
			r.Kind = Unknown
			s.body(false)
		}
		if r.Kind == Unknown {
			r.SQL = l
		}
		return r, true
	}
}

// body reads lines up to a blank one, or up to ---- if sep (then more is true).
func (s *Scanner) body(sep bool) (sql string, more bool) {
	start := s.pos
	end := start
	comment := false
	for {
		l, ok := s.next()
		if !ok || blank(l) {
			break
		}
		if sep && strings.TrimRight(l, " ") == "----" {
			more = true
			break
		}
		comment = comment || l[0] == '#'
		end = s.pos
	}
	sql = strings.TrimSuffix(s.src[start:end], "\n")
	if comment {
		ls := strings.Split(sql, "\n")
		k := ls[:0]
		for _, l := range ls {
			if !strings.HasPrefix(l, "#") {
				k = append(k, l)
			}
		}
		sql = strings.Join(k, "\n")
	}
	return sql, more
}

func (r *Record) String() string { return fmt.Sprintf("line %d: %s", r.Line, r.SQL) }

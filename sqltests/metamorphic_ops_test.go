package sqltests

import (
	"fmt"
	"strconv"
	"strings"
)

// A metaList is a list of operations that sessions of one database do in turn.
// Its text has one operation a line, as in
//
//	sessions 2
//	0 exec INSERT INTO t0(k, a) VALUES(?1, 2) <- 'x'
//	1 rows:any-order SELECT a FROM t0
//	0 crash
//
// with the session, the verb, the SQL and its arguments.
type metaList struct {
	sessions int
	ops      []metaOp
}

type metaOp struct {
	session int
	verb    metaVerb
	text    string
	args    []string // literals

	anyOrder  bool // the rows have no promised order
	canonical bool // nor promise which of several equal values they show
}

type metaVerb string

const (
	metaExec   metaVerb = "exec"
	metaRows   metaVerb = "rows"
	metaOpen   metaVerb = "open"  // rows that are read later
	metaDrain  metaVerb = "drain" // reads them
	metaDump   metaVerb = "dump"  // the schema and every table
	metaCheck  metaVerb = "check"
	metaReopen metaVerb = "reopen"
	metaCrash  metaVerb = "crash"
	// These are about the store alone: plain SQLite does nothing.
	metaCheckpoint metaVerb = "checkpoint"
	metaCompact    metaVerb = "compact"
	metaFault      metaVerb = "fault" // a metaFailure, armed from now on
)

const metaArgs = " <- "

func (o metaOp) String() string {
	s := fmt.Sprintf("%d %s", o.session, o.verb)
	if o.anyOrder {
		s += ":any-order"
	}
	if o.canonical {
		s += ":canonical"
	}
	if o.text != "" {
		s += " " + o.text
	}
	if len(o.args) > 0 {
		s += metaArgs + strings.Join(o.args, ", ")
	}
	return s
}

func (l metaList) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sessions %d\n", l.sessions)
	for _, o := range l.ops {
		fmt.Fprintln(&b, o)
	}
	return b.String()
}

// with returns the list with other operations.
func (l metaList) with(ops []metaOp) metaList { return metaList{l.sessions, ops} }

// values are the operation's arguments as Go values.
func (o metaOp) values() (out []any) {
	for _, a := range o.args {
		out = append(out, literalValue(a))
	}
	return out
}

// parseMetaList reads what String wrote; empty lines and comments are skipped.
func parseMetaList(text string) (l metaList, err error) {
	l.sessions = 1
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		first, rest, _ := strings.Cut(line, " ")
		if first == "sessions" {
			if l.sessions, err = strconv.Atoi(rest); err != nil {
				return l, err
			}
			continue
		}
		var o metaOp
		if o.session, err = strconv.Atoi(first); err != nil || o.session < 0 || o.session >= l.sessions {
			return l, fmt.Errorf("%q names no session of %d", line, l.sessions)
		}
		verb, text, _ := strings.Cut(rest, " ")
		flags := strings.Split(verb, ":")
		o.verb = metaVerb(flags[0])
		for _, f := range flags[1:] {
			switch f {
			case "any-order":
				o.anyOrder = true
			case "canonical":
				o.canonical = true
			default:
				return l, fmt.Errorf("%q has an unknown flag %s", line, f)
			}
		}
		switch o.verb {
		case metaExec, metaRows, metaOpen, metaDrain, metaDump, metaCheck, metaReopen, metaCrash, metaCheckpoint, metaCompact:
		case metaFault:
			if _, err := parseMetaFailure(text); err != nil {
				return l, fmt.Errorf("%q: %w", line, err)
			}
		default:
			return l, fmt.Errorf("%q has an unknown verb", line)
		}
		text, args, found := strings.Cut(text, metaArgs)
		o.text = text
		if found {
			o.args = strings.Split(args, ", ")
		}
		l.ops = append(l.ops, o)
	}
	return l, nil
}

package vtab

import (
	"strconv"
	"strings"

	lib "modernc.org/sqlite/lib"
)

// EXPLAIN QUERY PLAN shows of a virtual table its name and idxNum:idxStr. The
// end of idxStr says the same as SQLite says of a native table, in two parts:
// the word that comes before the table's name and what comes after it.
const (
	searchVerb = "SEARCH"
	scanVerb   = "SCAN"

	explainMark = " VIRTUAL TABLE INDEX "
)

// Explained returns a line of EXPLAIN QUERY PLAN as SQLite would have it for a
// native table: SCAN t, or SEARCH t USING INDEX t_a (a=?). Lines about
// other things come back as they are.
func Explained(line string) string {
	before, after, ok := strings.Cut(line, explainMark)
	if !ok {
		return line
	}
	fields := strings.SplitN(after, ":", 5) // idxNum, letters, tests, id, text
	if len(fields) < 5 {
		return line
	}
	_, name, ok := strings.Cut(before, " ")
	if !ok {
		return line
	}
	verb, text, ok := strings.Cut(fields[4], " ")
	if verb != searchVerb && verb != scanVerb {
		return line
	}
	if text = strings.TrimLeft(text, " "); !ok || text == "" {
		return verb + " " + name
	}
	return verb + " " + name + " " + text
}

// explain sets idxStr.
func (pl *planner) explain(verb, text string, id uint64, tests []term) {
	pl.explainDistinct(verb, text, id, 0, tests)
}

func (pl *planner) explainDistinct(verb, text string, id uint64, columns int, tests []term) {
	if pl.past {
		text = joinText(text, "AS OF ?")
	}
	b := make([]byte, 0, 64)
	b = append(append(b, pl.letters...), ':')
	for _, tm := range tests {
		b = appendTest(b, tm)
	}
	b = strconv.AppendUint(append(b, ':'), id, 10)
	b = strconv.AppendInt(append(b, '/'), int64(columns), 10)
	b = append(append(b, ':'), verb...)
	b = append(append(b, ' '), text...)
	pl.ii.FidxStr = sqliteString(pl.tls, string(b))
	if pl.ii.FidxStr != 0 {
		pl.ii.FneedToFreeIdxStr = 1
	}
}

// described lists the terms taken since the last call.
func (pl *planner) described() string {
	text := "(" + strings.Join(pl.parts, " AND ") + ")"
	pl.parts = pl.parts[:0]
	return text
}

func (pl *planner) columnName(col int) string {
	if col < 0 || col == pl.t.info.Def.RowidAlias {
		return "rowid"
	}
	return pl.t.info.Def.Columns[col].Name
}

func operatorText(op uint8) string {
	switch op {
	case lib.SQLITE_INDEX_CONSTRAINT_GT, lib.SQLITE_INDEX_CONSTRAINT_GE: // SQLite does not tell them apart
		return ">?"
	case lib.SQLITE_INDEX_CONSTRAINT_LT, lib.SQLITE_INDEX_CONSTRAINT_LE:
		return "<?"
	}
	return "=?"
}

func joinText(a, b string) string {
	if a == "" {
		return b
	}
	return a + " " + b
}

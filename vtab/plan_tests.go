package vtab

import (
	"strconv"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// test is a comparison of a column with an argument that the cursor makes
// itself: a row that fails it costs no step of SQLite's.
type test struct {
	col  int // -1: the rowid
	op   byte
	coll row.Collation
	val  row.Value // the argument, converted
}

// leftOver returns the terms that a plan does not answer otherwise and that
// the cursor can test: those of used are positions in aConstraint it answers.
// An IN is not among them: it would come as one scan per element.
func (pl *planner) leftOver(terms []term, used func(at int) bool) []term {
	var tests []term
	for _, tm := range terms {
		if len(tests) < maxTests && !tm.in && (used == nil || !used(tm.at)) {
			tests = append(tests, tm)
		}
	}
	return tests
}

// useTests passes the tests and returns their number's bits.
func (pl *planner) useTests(tests []term) int32 {
	for _, tm := range tests {
		pl.take(tm)
	}
	return int32(len(tests)) << planTests
}

var testOps = map[uint8]byte{
	lib.SQLITE_INDEX_CONSTRAINT_EQ: '=', lib.SQLITE_INDEX_CONSTRAINT_IS: 'i', lib.SQLITE_INDEX_CONSTRAINT_ISNULL: 'i',
	lib.SQLITE_INDEX_CONSTRAINT_LT: '<', lib.SQLITE_INDEX_CONSTRAINT_LE: 'l',
	lib.SQLITE_INDEX_CONSTRAINT_GT: '>', lib.SQLITE_INDEX_CONSTRAINT_GE: 'g',
}

// appendTest appends a test as idxStr has it: operator, collation (b, n or r),
// number of the column and ";".
func appendTest(b []byte, tm term) []byte {
	b = append(b, testOps[tm.op], "bnr"[tm.coll])
	return append(strconv.AppendInt(b, int64(tm.col), 10), ';')
}

// parseTests reads the tests of an idxStr.
func parseTests(tests []test, s string) []test {
	for s != "" {
		one, rest, ok := strings.Cut(s, ";")
		if !ok || len(one) < 3 {
			return tests
		}
		col, err := strconv.Atoi(one[2:])
		if err != nil {
			return tests
		}
		tests = append(tests, test{op: one[0], coll: row.Collation(strings.IndexByte("bnr", one[1])), col: col})
		s = rest
	}
	return tests
}

// passes reports whether a value of the column passes.
func (ts *test) passes(v row.Value) bool {
	if ts.op == 'i' {
		return v.IsNull() == ts.val.IsNull() && row.Compare(v, ts.val, ts.coll) == 0
	}
	if v.IsNull() {
		return false
	}
	c := row.Compare(v, ts.val, ts.coll)
	switch ts.op {
	case '=':
		return c == 0
	case '<':
		return c < 0
	case 'l':
		return c <= 0
	case '>':
		return c > 0
	}
	return c >= 0
}

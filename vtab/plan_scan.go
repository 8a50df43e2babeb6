package vtab

import (
	"math"

	lib "modernc.org/sqlite/lib"
)

// byRowid plans the lookup of one rowid or of a list of them.
func (pl *planner) byRowid(rowid []term) bool {
	list := -1
	for _, tm := range rowid {
		switch {
		case tm.op != lib.SQLITE_INDEX_CONSTRAINT_EQ && tm.op != lib.SQLITE_INDEX_CONSTRAINT_IS:
		case tm.in:
			list = tm.at
		default:
			pl.pass(tm.at)
			pl.ii.FidxFlags = lib.SQLITE_INDEX_SCAN_UNIQUE
			pl.finish(planRowid, 1, 1)
			pl.explain(searchVerb, "USING INTEGER PRIMARY KEY (rowid=?)", 0, nil)
			pl.consumeOrder(false)
			return true
		}
	}
	if list < 0 {
		return false
	}
	lib.Xsqlite3_vtab_in(pl.tls, pl.info, int32(list), 1)
	pl.pass(list)
	const n = 25 // SQLite's own guess of a list
	num := int32(planList)
	if pl.orderedByRowid() {
		num |= pl.consumeOrder(true)
	}
	pl.finish(num, n*2, n)
	pl.explain(searchVerb, "USING INTEGER PRIMARY KEY (rowid=?)", 0, nil)
	return true
}

// scanPlan is a way to read the table in its own order.
type scanPlan struct {
	bounds  []term // on the rowid: lower, upper, as far as there are some
	tests   []term
	desc    bool
	ordered bool
	first   bool // the first row is the one that min wants
	hash    bool // the equalities among the tests pay for a transient index
	cost    float64
	rows    float64
}

// scanning plans a scan of the rows, within bounds on the rowid if there are
// some, with tests for what is compared with other columns.
func (pl *planner) scanning(others, rowid []term) scanPlan {
	s := scanPlan{rows: pl.rows}
	if pl.t.scanKey < 0 {
		for _, pick := range []func(uint8) bool{isLower, isUpper} {
			for _, tm := range rowid {
				if pick(tm.op) {
					s.bounds = append(s.bounds, tm)
					break
				}
			}
		}
		s.rows = pl.rowidFraction(s.bounds)
		if s.ordered = pl.orderedByRowid(); s.ordered {
			s.desc = pl.orderBy()[0].Fdesc != 0
		}
	} else if ok, desc := pl.orderedBy(pl.t.info.Def.Indexes[pl.t.scanKey], 0); ok {
		s.ordered, s.desc = true, desc
	}
	read := s.rows
	s.tests = pl.leftOver(others, nil)
	varying := false
	for _, tm := range s.tests {
		varying = varying || !tm.constant && isEquality(tm.op)
	}
	s.rows = pl.tested(s.rows, s.tests)
	s.first = pl.min == -1 && pl.t.scanKey < 0 && pl.everything(len(s.bounds)+len(s.tests))
	s.hash = varying && !s.first && len(s.bounds) == 0 && !s.desc
	switch {
	case s.first:
		s.rows = 1
		s.cost = 1 + float64(len(s.tests)*testFraction)
	case s.hash:
		// What is compared with another table changes from row to row of it.
		// The cursor then makes a hash table of its own, once.
		s.cost = math.Log2(read+2) + s.rows*4 + read*3/hashedLoops
	case len(s.tests) > 0:
		s.cost = read*2 + 3 + s.rows
	default:
		s.cost = read*3 + 3
	}
	if pl.t.scanKey >= 0 && !s.hash {
		s.cost += read
	}
	return s
}

const (
	testFraction = 4    // of the rows pass a test of which nothing is known
	hashedRows   = 20   // at most are equal where no two in a sample are
	hashedLoops  = 1000 // of another table's rows pay for making a hash table
	indexAhead   = 4    // times the cost of a hash table an index may have
)

// useScan makes a scan the plan.
func (pl *planner) useScan(s scanPlan) {
	num, verb := int32(planScan), scanVerb
	var ordered []term
	for _, tm := range s.bounds {
		pl.take(tm)
		verb = searchVerb
		if isLower(tm.op) {
			num |= planLower
			if tm.op == lib.SQLITE_INDEX_CONSTRAINT_GT {
				num |= planLowerExcl
			}
			continue
		}
		num |= planUpper
		if tm.op == lib.SQLITE_INDEX_CONSTRAINT_LT {
			num |= planUpperExcl
		}
	}
	text := ""
	if len(s.bounds) > 0 {
		text = "USING INTEGER PRIMARY KEY " + pl.described()
	}
	var id uint64
	if pl.t.scanKey >= 0 {
		num = planIndex | int32(pl.t.scanKey)<<planIndexAt
		id = pl.t.info.Def.Indexes[pl.t.scanKey].ID
	}
	if s.hash { // the equalities first: they are what EXPLAIN calls an index
		num, verb = planHash, searchVerb
		for _, equal := range []bool{true, false} {
			for _, tm := range s.tests {
				if isEquality(tm.op) == equal {
					pl.take(tm)
					ordered = append(ordered, tm)
				}
			}
			if equal {
				text = "USING AUTOMATIC COVERING INDEX " + pl.described()
			}
		}
		s.tests = ordered
		num |= int32(len(s.tests)) << planTests
	} else {
		num |= pl.useTests(s.tests)
	}
	if s.ordered {
		pl.ii.ForderByConsumed = 1
		if s.desc {
			num |= planDesc
		}
	}
	if s.first {
		num |= planFirst
		verb = searchVerb
	}
	if len(pl.parts) > 0 {
		text = joinText(text, "FILTER "+pl.described())
	}
	pl.finish(num, s.cost, s.rows)
	pl.explain(verb, text, id, s.tests)
}

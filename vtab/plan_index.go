package vtab

import (
	"math"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
)

// candidate is a way to read the table by one index.
type candidate struct {
	ix      int
	eq      []term // one per leading key column
	bounds  []term // on the next one: lower, upper, as far as there are some
	tests   []term
	ordered bool // gives the order asked for
	desc    bool
	unique  bool // at most one row
	keyed   bool // its keys have all columns that are used
	told    bool // and tell their values
	first   bool // the first row is the one that min wants
	cost    float64
	rows    float64
	total   float64 // cost, sorting included
}

// bestIndex returns the cheapest index for the terms; its total is infinite
// when no index helps.
func (pl *planner) bestIndex(others, rowid []term) candidate {
	best := candidate{total: math.Inf(1)}
	if pl.t.c.PushdownOff {
		return best
	}
	for i, ix := range pl.t.info.Def.Indexes {
		if i > planIndexMask {
			break
		}
		if ix.Where != 0 { // SQLite does not tell whether the WHERE clause implies the index's
			continue
		}
		if cand, ok := pl.consider(i, ix, others, rowid); ok && cand.total < best.total {
			best = cand
		}
	}
	return best
}

// consider fits the terms to an index: equality on leading columns, then
// bounds on the next one.
func (pl *planner) consider(at int, ix *engine.IndexDef, others, rowid []term) (candidate, bool) {
	cand := candidate{ix: at, unique: ix.Unique}
	for _, ic := range ix.Columns {
		terms := others
		if ic.Column == pl.t.info.Def.RowidAlias {
			terms = rowid
		}
		eq, ok := equality(terms, ic, pl.t.info.Def.RowidAlias)
		if ok && cand.answers(eq.at) { // the column is in the index twice
			break
		}
		if !ok || len(cand.eq) == maxIndexTerms {
			cand.bounds = bounds(terms, ic, pl.t.info.Def.RowidAlias)
			break
		}
		cand.eq = append(cand.eq, eq)
		if eq.in || eq.op != lib.SQLITE_INDEX_CONSTRAINT_EQ {
			cand.unique = false
		}
	}
	cand.unique = cand.unique && len(cand.eq) == len(ix.Columns) && pl.sure(at)
	if pl.sure(at) {
		cand.ordered, cand.desc = pl.orderedBy(ix, len(cand.eq))
	}
	if !pl.past {
		cand.keyed, cand.told = pl.keyed(ix)
	}
	step := 4.0
	switch {
	case cand.told:
		step = 2
	case cand.keyed: // what is only compared need not be told
		step = 3
	}
	cand.tests = pl.leftOver(others, cand.answers)
	if at := len(cand.eq); at < len(ix.Columns) && ix.Columns[at].Column == pl.min && pl.everything(at+len(cand.bounds)+len(cand.tests)) &&
		!cand.list() && ix.Columns[at].Collation == pl.t.info.Def.Columns[pl.min].Collation {
		cand.first, cand.desc = true, ix.Columns[at].Desc
	}
	switch {
	case cand.first:
		cand.rows = 1
		cand.cost = math.Log2(pl.rows+2) + float64(len(cand.tests)*testFraction)
		cand.total = cand.cost
		return cand, true
	case len(cand.eq) == 0 && len(cand.bounds) == 0:
		if !cand.ordered {
			return cand, false
		}
		cand.rows = pl.rows // the order alone
		cand.cost = pl.rows*step + 4
	default:
		cand.rows = pl.fraction(cand)
		cand.cost = cand.rows*step + math.Log2(pl.rows+2)
	}
	cand.rows = pl.tested(cand.rows, cand.tests)
	cand.total = pl.total(cand.cost, cand.rows, cand.ordered && !cand.list())
	return cand, true
}

// list reports whether one of the equalities is an IN, of which the elements come
// one after the other.
func (cand *candidate) list() bool {
	for _, tm := range cand.eq {
		if tm.in {
			return true
		}
	}
	return false
}

// answers reports whether the index itself answers a constraint.
func (cand *candidate) answers(at int) bool {
	for _, tm := range cand.eq {
		if tm.at == at {
			return true
		}
	}
	for _, tm := range cand.bounds {
		if tm.at == at {
			return true
		}
	}
	return false
}

// on reports whether a term compares the column of an index as the index
// orders it.
func (tm *term) on(ic engine.IndexColumn, alias int) bool {
	return (tm.col == ic.Column || tm.col < 0 && ic.Column == alias) && tm.coll == ic.Collation
}

// equality finds the term that fixes a key column. One whose collation is not
// the index's tests something else; one of an IN counts only if there is no
// better.
func equality(terms []term, ic engine.IndexColumn, alias int) (term, bool) {
	var found term
	ok := false
	for _, tm := range terms {
		if isEquality(tm.op) && tm.on(ic, alias) && (!ok || found.in) {
			found, ok = tm, true
		}
	}
	return found, ok
}

// bounds finds the terms that bound a key column, the lower one first.
func bounds(terms []term, ic engine.IndexColumn, alias int) []term {
	var found []term
	for _, pick := range []func(uint8) bool{isLower, isUpper} {
		for _, tm := range terms {
			if pick(tm.op) && tm.on(ic, alias) {
				found = append(found, tm)
				break
			}
		}
	}
	return found
}

// useIndex makes a candidate the plan.
func (pl *planner) useIndex(cand candidate) {
	ix := pl.t.info.Def.Indexes[cand.ix]
	num := int32(planIndex) | int32(cand.ix)<<planIndexAt | int32(len(cand.eq))<<planTerms
	verb := scanVerb
	for _, tm := range cand.eq {
		pl.take(tm)
		verb = searchVerb
	}
	for _, tm := range cand.bounds {
		pl.take(tm)
		verb = searchVerb
		switch tm.op {
		case lib.SQLITE_INDEX_CONSTRAINT_GT:
			num |= planLower | planLowerExcl
		case lib.SQLITE_INDEX_CONSTRAINT_GE:
			num |= planLower
		case lib.SQLITE_INDEX_CONSTRAINT_LT:
			num |= planUpper | planUpperExcl
		default:
			num |= planUpper
		}
	}
	switch {
	case cand.first:
		verb = searchVerb
		num |= planFirst
		if cand.desc {
			num |= planDesc
		}
	case cand.unique:
		pl.ii.FidxFlags = lib.SQLITE_INDEX_SCAN_UNIQUE
		pl.consumeOrder(false)
	case cand.ordered && !cand.list():
		pl.consumeOrder(true)
		if cand.desc {
			num |= planDesc
		}
	}
	text := "USING INDEX " + ix.Name
	switch {
	case cand.ix == pl.t.scanKey && verb == scanVerb:
		text = ""
	case cand.ix == pl.t.scanKey:
		text = "USING PRIMARY KEY"
	case cand.keyed:
		num |= planKeyed
		text = "USING COVERING INDEX " + ix.Name
	}
	if len(pl.parts) > 0 {
		text += " " + pl.described()
	}
	if num |= pl.useTests(cand.tests); len(cand.tests) > 0 {
		text = joinText(text, "FILTER "+pl.described())
	}
	columns := 0
	if num&planKeyed != 0 && pl.ii.ForderByConsumed != 0 && pl.distinct(cand) {
		num |= planDistinct
		columns = pl.usedColumns(ix)
	}
	pl.finish(num, cand.cost, cand.rows)
	pl.explainDistinct(verb, text, ix.ID, columns, cand.tests)
}

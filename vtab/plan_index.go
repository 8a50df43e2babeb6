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
	lower   int    // positions in aConstraint, -1 for none
	upper   int
	bounds  [2]term
	ordered bool // gives the order asked for
	desc    bool
	unique  bool // at most one row
	cost    float64
	rows    float64
}

// bestIndex returns the cheapest index for the terms; its cost is infinite
// when no index helps.
func (pl *planner) bestIndex(byColumn map[int][]term, rowid []term) candidate {
	best := candidate{cost: math.Inf(1)}
	for i, ix := range pl.t.info.Def.Indexes {
		if cand, ok := pl.consider(i, ix, byColumn, rowid); ok && cand.cost < best.cost {
			best = cand
		}
	}
	return best
}

// consider fits the terms to an index: equality on leading columns, then
// bounds on the next one.
func (pl *planner) consider(at int, ix *engine.IndexDef, byColumn map[int][]term, rowid []term) (candidate, bool) {
	cand := candidate{ix: at, lower: -1, upper: -1, unique: ix.Unique}
	for _, ic := range ix.Columns {
		terms := byColumn[ic.Column]
		if ic.Column == pl.t.info.Def.RowidAlias {
			terms = rowid
		}
		eq, ok := equality(terms, ic)
		if !ok || len(cand.eq) == maxIndexTerms {
			pl.bound(&cand, terms, ic)
			break
		}
		cand.eq = append(cand.eq, eq)
		if eq.in || eq.op != lib.SQLITE_INDEX_CONSTRAINT_EQ {
			cand.unique = false
		}
	}
	cand.unique = cand.unique && len(cand.eq) == len(ix.Columns)
	cand.ordered, cand.desc = pl.orderedBy(ix, len(cand.eq))
	if len(cand.eq) == 0 && cand.lower < 0 && cand.upper < 0 {
		if !cand.ordered {
			return cand, false
		}
		// The order alone: dearer than a scan by rowid, cheaper than one that
		// is sorted afterwards.
		cand.rows = pl.rows
		cand.cost = pl.rows*4 + 4 - pl.rows*math.Log2(pl.rows+2)/2
		return cand, true
	}
	cand.rows = pl.fraction(cand)
	cand.cost = cand.rows*4 + math.Log2(pl.rows+2)
	return cand, true
}

// equality finds the term that fixes a key column. One whose collation is not
// the index's tests something else; one of an IN counts only if there is no
// better.
func equality(terms []term, ic engine.IndexColumn) (term, bool) {
	var found term
	ok := false
	for _, tm := range terms {
		if isEquality(tm.op) && tm.coll == ic.Collation && (!ok || found.in) {
			found, ok = tm, true
		}
	}
	return found, ok
}

func (pl *planner) bound(cand *candidate, terms []term, ic engine.IndexColumn) {
	for _, tm := range terms {
		switch {
		case tm.coll != ic.Collation:
		case isLower(tm.op) && cand.lower < 0:
			cand.lower, cand.bounds[0] = tm.at, tm
		case isUpper(tm.op) && cand.upper < 0:
			cand.upper, cand.bounds[1] = tm.at, tm
		}
	}
}

// fraction guesses how many rows a candidate gives, with the numbers SQLite
// uses for an index it has no statistics of.
func (pl *planner) fraction(cand candidate) float64 {
	if cand.unique {
		return 1
	}
	rows := pl.rows
	if n := len(cand.eq); n > 0 {
		rows = min(rows, max(2, float64(11-n)))
		for _, tm := range cand.eq {
			if tm.in {
				rows = min(pl.rows, rows*25)
			}
		}
	}
	for _, at := range []int{cand.lower, cand.upper} {
		if at >= 0 {
			rows /= 4
		}
	}
	return max(1, rows)
}

// orderedBy reports whether reading the index gives the order asked for, the
// first eq key columns being constant, and whether backwards. SQLite names a
// column in aOrderBy only if it is ordered by its own collation.
func (pl *planner) orderedBy(ix *engine.IndexDef, eq int) (ok, desc bool) {
	def := pl.t.info.Def
	next, first := eq, true
	for _, ob := range pl.orderBy() {
		col := int(ob.FiColumn)
		if col < 0 {
			col = def.RowidAlias
		}
		down := ob.Fdesc != 0
		switch {
		case col >= 0 && isConstant(ix, eq, col, def):
			continue
		case next < len(ix.Columns):
			ic := ix.Columns[next]
			if ic.Column != col || col < 0 || ic.Collation != def.Columns[col].Collation {
				return false, false
			}
			down = down != ic.Desc
			next++
		case col == def.RowidAlias: // the rowid stands behind the key, ascending
			return first || down == desc, down || desc
		default:
			return false, false
		}
		if first {
			desc, first = down, false
		} else if down != desc {
			return false, false
		}
	}
	return !first, desc
}

// isConstant reports whether a column is fixed by one of the equalities.
func isConstant(ix *engine.IndexDef, eq, col int, def *engine.TableDef) bool {
	for _, ic := range ix.Columns[:eq] {
		if ic.Column == col && ic.Collation == def.Columns[col].Collation {
			return true
		}
	}
	return false
}

// useIndex makes a candidate the plan.
func (pl *planner) useIndex(cand candidate) {
	ix := pl.t.info.Def.Indexes[cand.ix]
	num := int32(planIndex) | int32(cand.ix)<<planIndexAt | int32(len(cand.eq))<<planTerms
	letters := make([]byte, 0, len(cand.eq)+3+len(ix.Name))
	inList := false
	for _, tm := range cand.eq {
		pl.pass(tm.at)
		letters = append(letters, tm.letter)
		inList = inList || tm.in
	}
	if cand.lower >= 0 {
		pl.pass(cand.lower)
		letters = append(letters, cand.bounds[0].letter)
		num |= planLower
		if cand.bounds[0].op == lib.SQLITE_INDEX_CONSTRAINT_GT {
			num |= planLowerExcl
		}
	}
	if cand.upper >= 0 {
		pl.pass(cand.upper)
		letters = append(letters, cand.bounds[1].letter)
		num |= planUpper
		if cand.bounds[1].op == lib.SQLITE_INDEX_CONSTRAINT_LT {
			num |= planUpperExcl
		}
	}
	switch {
	case cand.unique:
		pl.ii.FidxFlags = lib.SQLITE_INDEX_SCAN_UNIQUE
		pl.consumeOrder(false)
	case len(pl.orderBy()) > 0 && !inList:
		ok, desc := pl.orderedBy(ix, len(cand.eq))
		if ok {
			pl.consumeOrder(true)
			if desc {
				num |= planDesc
			}
		}
	}
	pl.ii.FidxStr = sqliteString(pl.tls, string(append(append(letters, ':'), ix.Name...)))
	if pl.ii.FidxStr != 0 {
		pl.ii.FneedToFreeIdxStr = 1
	}
	pl.finish(num, cand.cost, cand.rows)
}

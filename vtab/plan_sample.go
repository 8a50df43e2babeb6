package vtab

import (
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// sample is a few rows of a table, from which the planner tells how many rows
// pass a test that no index knows of. It is taken anew when the table has
// become twice as large or half as large.
type sample struct {
	def   *engine.TableDef
	rows  int // of the table, when the sample was taken
	taken []engine.Entry
	share map[sampledColumn]float64
}

type sampledColumn struct {
	col  int
	coll row.Collation
}

const sampleSize = 32

func (pl *planner) sample() *sample {
	if !pl.statistics() {
		return nil
	}
	t, rows := pl.t, pl.stats.Len()
	if s := t.sample; s == nil || rows > 2*s.rows || 2*rows < s.rows {
		t.sample = &sample{def: t.info.Def, rows: rows, taken: pl.stats.Sample(sampleSize), share: map[sampledColumn]float64{}}
	}
	return t.sample
}

// passing estimates which share of the rows passes a test.
func (pl *planner) passing(tm term) float64 {
	const unknown = 1.0 / testFraction
	s := pl.sample()
	if s == nil {
		return unknown
	}
	if v, ok := pl.literal(tm); ok {
		return s.fits(tm, v)
	}
	if !isEquality(tm.op) {
		return unknown
	}
	return s.equal(sampledColumn{tm.col, tm.coll})
}

// fits is the share of the sample that passes a comparison with a literal.
func (s *sample) fits(tm term, v row.Value) float64 {
	v, ok := convert(tm.letter, v)
	if !ok {
		return 0
	}
	ts := test{op: testOps[tm.op], coll: tm.coll, val: v}
	n := 0.0
	for _, e := range s.taken {
		if ts.passes(s.def.Value(e.Rec, tm.col)) {
			n++
		}
	}
	return (n + 0.5) / float64(len(s.taken)+1)
}

// equal is the chance that two rows have the same value in a column: the share
// of the rows that equal an unknown one.
func (s *sample) equal(c sampledColumn) float64 {
	if share, ok := s.share[c]; ok {
		return share
	}
	keys := map[string]int{}
	for _, e := range s.taken {
		keys[string(row.AppendKey(nil, s.def.Value(e.Rec, c.col), c.coll, false))]++
	}
	same := 0
	for _, n := range keys {
		same += n * (n - 1) / 2
	}
	rows, pairs := float64(s.rows), float64(len(s.taken)*(len(s.taken)-1)/2)
	share := float64(same) / pairs
	if same == 0 { // few are equal; how few, the sample is too small to tell
		share = max(1/rows, min(hashedRows/rows, 0.5/pairs))
	}
	s.share[c] = share
	return share
}

// tested returns how many of n rows pass all tests.
func (pl *planner) tested(n float64, tests []term) float64 {
	for _, tm := range tests {
		n *= pl.passing(tm)
	}
	return max(1, n)
}

package catchup

import (
	"maps"
	"testing"
)

func TestWatermarks(t *testing.T) {
	lagging := Positions{slow: at(2)}
	several := Positions{idx: at(7), slow: at(4)}
	shards := Positions{idx: {shard: 7, quiet: 1}}
	for _, c := range []struct {
		name      string
		compacted Progress
		positions Positions
		relied    []int64
		want      Progress
	}{
		{"a plain scan relies on none", at(5), lagging, nil, at(5)},
		{"a lagging index", at(5), lagging, []int64{slow}, at(2)},
		{"one without a position", at(5), lagging, []int64{other}, at(0)},
		{"one without a position holds its siblings back", at(5), lagging, []int64{slow, other}, at(0)},
		{"in either order", at(5), lagging, []int64{other, slow}, at(0)},
		{"the first of two", at(9), several, []int64{idx}, at(7)},
		{"the second of two", at(9), several, []int64{slow}, at(4)},
		{"the lower one of two", at(9), several, []int64{idx, slow}, at(4)},
		{"the lower one in either order", at(9), several, []int64{slow, idx}, at(4)},
		{"never beyond what is compacted", at(3), several, []int64{idx}, at(3)},
		{"every shard its own", Progress{shard: 9, quiet: 9}, shards, []int64{idx}, Progress{shard: 7, quiet: 1}},
		{"a shard without progress excludes nothing", at(9), shards, []int64{idx}, at(7)},
		{"nothing is compacted", nil, several, []int64{idx}, Progress{}},
	} {
		if got := Watermarks(c.compacted, c.positions, c.relied); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestRetirable(t *testing.T) {
	p := Positions{idx: at(7), slow: {shard: 4, quiet: 9}}
	for _, c := range []struct {
		name       string
		generation uint64
		relied     []int64
		ok         bool
		lagging    int64
	}{
		{"all have it", 4, []int64{idx, slow}, true, 0},
		{"one lags", 5, []int64{idx, slow}, false, slow},
		{"whoever does not is not asked", 5, []int64{idx}, true, 0},
		{"one has no position", 1, []int64{idx, other}, false, other},
		{"not compacted", 9, nil, false, 0},
		{"no index is relied on", 8, nil, true, 0},
		{"no generation", 0, nil, false, 0},
	} {
		if ok, lagging := Retirable(shard, c.generation, at(8), p, c.relied); ok != c.ok || lagging != c.lagging {
			t.Errorf("%s: %v, %d", c.name, ok, lagging)
		}
	}
	if ok, _ := Retirable(quiet, 1, at(8), p, []int64{slow}); ok {
		t.Error("retired of a shard that was not compacted")
	}
}

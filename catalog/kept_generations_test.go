package catalog

import (
	"fmt"
	"strings"
	"testing"
)

// TestKeptGenerations: every generation says why it is kept, and the views say the same
// to a person with a plain shell.
func TestKeptGenerations(t *testing.T) {
	ctx := t.Context()
	l := indexedStore(t, Creation{}, 2)
	s := l.stateNow()
	shard := s.Shards[0].ID
	b, err := l.c.CreateBranchPoint(ctx, "b", s.Timeline)
	if err != nil {
		t.Fatal(err)
	}
	job := l.segmentJob()
	l.mustInstall(l.indexes(l.covering(job, refA)))
	l.publish(l.rotateMany(1)...)
	l.rotateMany(1)
	want := func(sentences ...string) {
		t.Helper()
		list, err := l.c.KeptGenerations(ctx)
		if err != nil || len(list) != len(sentences) {
			t.Fatal(list, err)
		}
		for i, k := range list {
			if k.Generation != int64(i+1) || k.ShardID != shard || k.Timeline != MainTimeline || !strings.Contains(k.Why, sentences[i]) {
				t.Errorf("%+v, want …%s…", k, sentences[i])
			}
		}
	}
	lags := "index by_x of table a has caught up with generations up to 0 only"
	want("the head has it: "+lags, lags, "the head has it: it is not compacted: the base has generations of its shard up to 2", "to be replayed", "goes on in it")
	ask := func() {
		for query, want := range map[string]string{
			`SELECT timeline, index_name, table_name, index_id, table_id, shard_id, compacted_generation, caught_up_generation, lag FROM index_catchup ORDER BY index_id`: fmt.Sprintf(
				"main|primary|a|40|40|%[1]d|2|2|0\nmain|primary|b|41|41|%[1]d|2|0|2\nmain|by_x|a|45|40|%[1]d|2|0|2", shard),
			`SELECT * FROM exclusion_watermarks ORDER BY table_name`:                  fmt.Sprintf("main|a|%[1]d|0\nmain|b|%[1]d|0", shard),
			`SELECT generation, retirable, why FROM retirable_generations ORDER BY 1`: "1|0|" + lags + "\n2|0|" + lags + "\n3|0|it is not compacted: the base has generations of its shard up to 2",
			`SELECT index_name, table_name, ordinal, entries FROM index_segments`:     "primary|a|0|7",
		} {
			if got := stockShell(t, l.c.options.Dir, query); got != want {
				t.Errorf("%s\ngot  %q\nwant %q", query, got, want)
			}
		}
	}
	ask()
	l.mustInstall(l.indexes(l.covering(job, refI)))
	if err := l.c.EndJob(ctx, job.ID, 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	branch := `still needed by branch point "b"`
	want(branch, branch, "not compacted", "to be replayed", "goes on in it")
	if n := collectAll(t, l.c); n != 0 {
		t.Errorf("%d collected of what branch point %d reads", n, b.ID)
	}
	if err := l.c.DeleteBranchPoint(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	want("next collection", "next collection", "not compacted", "to be replayed", "goes on in it")
	if n := collectAll(t, l.c); n != 2 {
		t.Errorf("%d collected", n)
	}
}

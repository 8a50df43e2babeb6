package catchup

import (
	"maps"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// The ids of these tests: a table with its indexes idx, slow and other, a second
// table, and two shards.
const (
	table, second    = 1, 2
	idx, slow, other = 10, 11, 12
	elsewhere        = 20 // of the second table
	shard, quiet     = 100, 101
)

var tableOf = map[int64]int64{idx: table, slow: table, other: table, elsewhere: second}

// at is the progress or the positions of shard.
func at(generation uint64) Progress { return Progress{shard: generation} }

func of(index int64, p Progress) Positions { return Positions{index: p} }

func set(fragments ...uint64) *roaring64.Bitmap { return roaring64.BitmapOf(fragments...) }

func seg(object int64, fragments ...uint64) Segment { return Segment{object, set(fragments...)} }

// read is a version that has fragments of table.
func read(compacted Progress, fragments ...uint64) *Read {
	return &Read{compacted, map[int64]*roaring64.Bitmap{table: set(fragments...)}}
}

// on are the segments of idx.
func on(segments ...Segment) Segments { return Segments{idx: segments} }

// commit is one, with what the catalog does about positions.
type commit struct {
	name          string
	before, after Segments // after: nil: as before
	prior         Positions
	committed     Progress
	read          *Read
	narrowed      []int64 // after the derivation
	legacy        bool    // positions are not maintained
	want          Positions
}

func (c *commit) run(t *testing.T) Positions {
	t.Helper()
	word := int64(Feature)
	if c.legacy {
		word = 0
	}
	maintained, err := Maintained(word, word)
	if err != nil {
		t.Fatal(err)
	}
	if !maintained {
		return c.prior
	}
	after := c.after
	if after == nil {
		after = c.before
	}
	return Withdraw(Derive(c.before, after, tableOf, c.prior, c.committed, c.read), c.narrowed...)
}

var both = on(seg(1, 0, 1))

// commits are named by the rule they show.
var commits = []commit{
	{name: "an_index_covering_the_read_version_is_credited",
		before: both, committed: at(5), read: read(at(5), 0, 1), want: of(idx, at(5))},
	{name: "an_index_covering_it_by_several_segments_is_credited",
		before: on(seg(1, 0), seg(2, 1)), committed: at(5), read: read(at(5), 0, 1), want: of(idx, at(5))},
	{name: "an_index_short_of_the_read_version_is_not_credited",
		before: on(seg(1, 0)), committed: at(5), read: read(at(5), 0, 1)},
	{name: "an_index_is_not_credited_for_the_fragments_of_another_table",
		before: Segments{idx: {seg(1, 0, 1)}, elsewhere: {seg(2, 2)}}, committed: at(5),
		read: &Read{at(5), map[int64]*roaring64.Bitmap{table: set(0, 1), second: set(2, 3)}}, want: of(idx, at(5))},
	{name: "an_index_of_an_unknown_table_is_not_credited",
		before: Segments{99: {seg(1, 0, 1)}}, committed: at(5), read: &Read{at(5), map[int64]*roaring64.Bitmap{0: set(0)}}},
	{name: "a_bitmap_pruned_in_place_does_not_keep_its_position",
		before: both, after: on(seg(1, 0)), prior: of(idx, at(5)), committed: at(5), read: read(at(5), 0, 1)},
	{name: "a_bitmap_that_becomes_unknown_does_not_keep_its_position",
		before: both, after: on(Segment{Object: 1}), prior: of(idx, at(5)), committed: at(5), read: read(at(5), 0, 1)},
	{name: "an_unknown_bitmap_that_is_learnt_does_not_keep_its_position",
		before: on(Segment{Object: 1}), after: on(seg(1, 0)), prior: of(idx, at(5)), committed: at(5), read: read(at(5), 0, 1)},
	{name: "an_unchanged_index_of_an_unknown_segment_keeps_its_position",
		before: on(Segment{Object: 1}), prior: of(idx, at(5)), committed: at(6), read: read(at(6), 0, 1), want: of(idx, at(5))},
	{name: "a_segment_written_anew_does_not_keep_its_position",
		before: on(seg(1, 0)), after: on(seg(2, 0)), prior: of(idx, at(5)), committed: at(5), read: read(at(5), 0, 1)},
	{name: "an_appended_segment_does_not_keep_its_position",
		before: on(seg(1, 0)), after: on(seg(1, 0), seg(2, 7)), prior: of(idx, at(5)), committed: at(5), read: read(at(5), 0, 1)},
	{name: "the_order_of_segments_says_nothing",
		before: on(seg(1, 0), seg(2, 7)), after: on(seg(2, 7), seg(1, 0)), prior: of(idx, at(5)), committed: at(6), read: read(at(6), 0, 1), want: of(idx, at(5))},
	{name: "an_unchanged_index_is_not_raised_beyond_what_it_proves",
		before: on(seg(1, 0)), prior: of(idx, at(2)), committed: at(5), read: read(at(5), 0, 1), want: of(idx, at(2))},
	{name: "a_carried_position_cannot_exceed_the_committed_progress",
		before: on(seg(1, 0)), prior: of(idx, at(9)), committed: at(3), read: read(at(3), 0, 1), want: of(idx, at(3))},
	{name: "an_unchanged_index_is_never_lowered",
		before: both, prior: of(idx, at(9)), committed: at(9), read: read(at(4), 0, 1), want: of(idx, at(9))},
	{name: "an_unchanged_index_that_proves_nothing_is_never_lowered",
		before: on(seg(1, 0)), prior: of(idx, at(9)), committed: at(9), read: read(at(9), 0, 1), want: of(idx, at(9))},
	{name: "credit_is_capped_by_the_committed_progress",
		before: both, committed: at(3), read: read(at(9), 0, 1), want: of(idx, at(3))},
	{name: "credit_never_reaches_past_the_read_version",
		before: both, committed: at(5), read: read(at(2), 0, 1), want: of(idx, at(2))},
	{name: "an_index_with_an_unknown_segment_is_not_credited",
		before: on(seg(1, 0, 1), Segment{Object: 2}), committed: at(5), read: read(at(5), 0, 1)},
	{name: "an_index_without_a_bitmap_is_not_credited",
		before: on(Segment{Object: 1}), committed: at(5), read: read(at(5), 0, 1)},
	{name: "a_dropped_index_loses_its_entry",
		before: both, after: Segments{}, prior: of(idx, at(5)), committed: at(5), read: read(at(5), 0, 1)},
	{name: "a_new_index_covering_the_read_version_is_credited",
		before: Segments{}, after: both, committed: at(5), read: read(at(5), 0, 1), want: of(idx, at(5))},
	{name: "a_new_index_has_nothing_to_keep",
		before: Segments{}, after: on(), prior: of(idx, at(5)), committed: at(5), read: read(at(5), 0, 1)},
	{name: "each_shard_is_credited_independently",
		before: both, committed: Progress{shard: 4, quiet: 3}, read: read(at(4), 0, 1), want: of(idx, Progress{shard: 4, quiet: 0})},
	{name: "indexes_are_credited_independently",
		before: Segments{idx: {seg(1, 0, 1)}, slow: {seg(2, 0)}}, committed: at(6), read: read(at(6), 0, 1), want: of(idx, at(6))},
	{name: "no_compaction_progress_writes_no_entries",
		before: both, read: read(nil, 0, 1)},
	{name: "a_table_without_mem_wal_is_a_no_op",
		before: Segments{}, committed: at(5), read: read(at(5), 0, 1)},
	{name: "without_a_read_version_nothing_changes",
		before: both, prior: of(idx, at(5)), committed: at(5), want: of(idx, at(5))},
	{name: "without_a_read_version_nothing_is_proven",
		before: both, committed: at(5)},
	{name: "without_a_read_version_a_changed_index_still_loses_its_position",
		before: both, after: on(seg(2, 0)), prior: of(idx, at(5)), committed: at(5)},
	{name: "an_untrained_index_earns_nothing",
		before: Segments{idx: {seg(1, 0, 1)}, slow: {seg(2)}, other: {}}, committed: at(5), read: read(at(5), 0, 1), want: of(idx, at(5))},
	{name: "a_shard_keeps_its_position_while_another_advances",
		before: both, prior: of(idx, Progress{quiet: 7}), committed: Progress{shard: 10, quiet: 7}, read: read(at(9), 0, 1), want: of(idx, Progress{shard: 9, quiet: 7})},
	{name: "carried_positions_do_not_leak_between_shards",
		before: on(seg(1, 0)), prior: of(idx, Progress{shard: 8, quiet: 2}), committed: Progress{shard: 9, quiet: 9}, read: read(Progress{shard: 9, quiet: 9}, 0, 1), want: of(idx, Progress{shard: 8, quiet: 2})},
	{name: "an_ordinary_index_job_is_never_blocked",
		before: both, after: on(seg(2, 0)), prior: of(idx, at(5)), committed: at(5), read: read(at(5), 0, 1)},
	{name: "an_index_caught_up_to_nothing_gets_no_entry",
		before: on(seg(1, 0)), prior: of(idx, at(0)), committed: at(5), read: read(at(5), 0, 1)},
	{name: "a_bitmap_narrowed_after_the_build_loses_its_position",
		before: both, prior: of(idx, at(5)), committed: at(5), read: read(at(5), 0, 1), narrowed: []int64{idx}},
	{name: "metadata_migration_that_does_not_narrow_keeps_its_position",
		before: both, after: on(seg(1, 1, 0)), prior: of(idx, at(5)), committed: at(5), narrowed: []int64{slow}, want: of(idx, at(5))},
	{name: "an_unchanged_commit_does_not_rewrite_the_system_index",
		before: both, prior: of(idx, Progress{shard: 5, quiet: 0}), committed: Progress{shard: 5, quiet: 2}, read: read(at(5), 0, 1), want: of(idx, at(5))},
	{name: "the_derivation_is_stable_across_attempts",
		before: on(seg(1, 0)), after: both, prior: of(idx, at(3)), committed: at(5), read: read(at(4), 0, 1), want: of(idx, at(4))},
	{name: "a_table_with_no_catchup_entry_earns_one",
		before: both, prior: Positions{}, committed: at(5), read: read(at(5), 0, 1), want: of(idx, at(5))},
	{name: "a_legacy_table_is_untouched",
		before: both, after: on(seg(1, 0)), prior: of(slow, at(7)), committed: at(5), read: read(at(5), 0, 1), legacy: true, want: of(slow, at(7))},
	{name: "a_read_version_without_fragments_proves_nothing",
		before: both, committed: at(5), read: read(at(5))},
	{name: "a_read_version_that_lacks_the_table_proves_nothing",
		before: both, committed: at(5), read: &Read{Compacted: at(5)}},
	{name: "a_compaction_does_not_credit_its_own_generation",
		before: both, prior: of(idx, at(5)), committed: at(6), read: read(at(5), 0, 1), want: of(idx, at(5))},
	{name: "the_next_commit_after_the_extension_credits_it",
		before: both, after: on(seg(1, 0, 1), seg(2, 2)), prior: of(idx, at(5)), committed: at(6), read: read(at(6), 0, 1, 2), want: of(idx, at(6))},
	{name: "a_rewrite_that_renumbers_withdraws",
		before: both, after: on(seg(2, 2)), prior: of(idx, at(5)), committed: at(5), read: read(at(5), 0, 1)},
	{name: "the_next_repair_after_a_rewrite_earns_it_again",
		before: on(seg(2, 2)), committed: at(5), read: read(at(5), 2), want: of(idx, at(5))},
	{name: "an_entry_of_a_shard_without_progress_is_dropped",
		before: on(seg(1, 0)), prior: of(idx, Progress{shard: 5, quiet: 4}), committed: at(5), read: read(at(5), 0, 1), want: of(idx, at(5))},
}

func TestDerive(t *testing.T) {
	for _, c := range commits {
		t.Run(c.name, func(t *testing.T) {
			got := c.run(t)
			if !Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
			for index, shards := range got {
				if len(shards) == 0 || maps.Equal(shards, at(0)) {
					t.Errorf("index %d has an entry that says nothing: %v", index, shards)
				}
			}
			if again := c.run(t); !Equal(again, got) {
				t.Errorf("%v at first, then %v", got, again)
			}
		})
	}
}

// TestNotStoredAgain: a result that says the same is known to.
func TestNotStoredAgain(t *testing.T) {
	a := of(idx, Progress{shard: 5, quiet: 0})
	for _, c := range []struct {
		b    Positions
		want bool
	}{
		{of(idx, at(5)), true},
		{Positions{idx: at(5), slow: at(0)}, true},
		{of(idx, at(4)), false},
		{of(idx, at(6)), false},
		{of(slow, at(5)), false},
		{of(idx, Progress{quiet: 5}), false},
		{Positions{idx: at(5), slow: at(1)}, false},
		{nil, false},
	} {
		if Equal(a, c.b) != c.want || Equal(c.b, a) != c.want {
			t.Errorf("%v and %v: want equal %v", a, c.b, c.want)
		}
	}
}

func TestMaintained(t *testing.T) {
	for _, c := range []struct {
		reader, writer int64
		want, half     bool
	}{{Feature, Feature, true, false}, {0, 0, false, false}, {Feature | 1, Feature, true, false}, {Feature, 0, false, true}, {0, Feature, false, true}} {
		got, err := Maintained(c.reader, c.writer)
		if got != c.want || (err != nil) != c.half {
			t.Errorf("%d, %d: %v, %v", c.reader, c.writer, got, err)
		}
	}
}

// TestWouldAdvance: a job that finds nothing to build commits only if it raises
// a position.
func TestWouldAdvance(t *testing.T) {
	for _, c := range []struct {
		name     string
		segments Segments
		prior    Positions
		want     bool
	}{
		{"behind", both, of(idx, at(7)), true},
		{"without a position", both, nil, true},
		{"there", both, of(idx, at(9)), false},
		{"not spanning", on(seg(1, 0)), of(idx, at(7)), false},
		{"one of two", Segments{idx: both[idx], slow: {seg(2, 0)}}, of(idx, at(9)), false},
		{"beyond", both, of(idx, at(12)), false}, // lowered, which is no advance
	} {
		if got := WouldAdvance(c.segments, tableOf, c.prior, *read(at(9), 0, 1)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if WouldAdvance(both, tableOf, nil, *read(nil, 0, 1)) {
		t.Error("nothing was compacted")
	}
}

func TestLost(t *testing.T) {
	before := Positions{slow: at(3), idx: {quiet: 4, shard: 5}, other: at(6)}
	after := Positions{idx: {quiet: 4, shard: 2}, other: at(7), elsewhere: at(1)}
	got := Lost(before, after)
	want := []Loss{{idx, shard, 5, 2}, {slow, shard, 3, 0}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%v, want %v", got, want)
	}
	if lost := Lost(Positions{idx: {shard: 5, quiet: 4}}, nil); len(lost) != 2 || lost[0].Shard != shard || lost[1].Shard != quiet {
		t.Error(lost)
	}
}

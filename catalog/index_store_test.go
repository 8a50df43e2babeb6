package catalog

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
)

// indexedClosed is a closed store of indexedStore with segments over its base, whose
// generations are retained yet.
func indexedClosed(t *testing.T) (dir string) {
	t.Helper()
	l := indexedStore(t, Creation{}, 2)
	job := l.segmentJob()
	u := l.covering(job, refB)
	u.Retire = false
	l.mustInstall(l.indexes(u))
	if err := l.c.EndJob(t.Context(), job.ID, 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	return copied(t, l.c)
}

// indexSteps are the commits from a head to one of which all generations are retired
// and collected.
var indexSteps = []string{"start-job", "reserve-segment", "seal-segment", "prepare-publication", "begin-publication", "adopt-publication", "retire-publication", "end-job", "claim", "collected"}

func indexOnce(t *testing.T) func(ctx context.Context, c *Catalog) error {
	return func(ctx context.Context, c *Catalog) error {
		l := newLog(t, c)
		fragments := l.fragmentsOf(tableA)
		p := l.indexes(&IndexUpdate{Relied: []IndexRef{refA, refB}, Retire: true})
		job, err := c.StartJob(ctx, "index", "")
		if err != nil {
			return err
		}
		r, err := c.ReserveSegment(ctx, job.ID)
		if err != nil {
			return err
		}
		s := SegmentSeal{ObjectID: r.ObjectID, Extent: 512, IndexRef: refA, Fragments: setOf(fragments...)}
		if err := c.SealSegment(ctx, s); err != nil {
			return err
		}
		p.Index.Indexes = []IndexSegments{{refA, []SegmentRef{{r.ObjectID, nil}}}}
		if err := adoptOnce(ctx, c, p); err != nil {
			return err
		}
		if err := c.EndJob(ctx, job.ID, 1, 1, nil); err != nil {
			return err
		}
		return collectOnce(ctx, c)
	}
}

// TestIndexCommits: whichever commit of a publication of indexes goes wrong, the store
// is as before it or as after it; positions and what is retired by them are never apart.
func TestIndexCommits(t *testing.T) {
	base := indexedClosed(t)
	for n, step := range indexSteps {
		for _, mode := range []string{"before", "after", "killed"} {
			t.Run(step+"-"+mode, func(t *testing.T) {
				ctx := t.Context()
				dir := interrupt(t, base, step, mode, indexOnce(t))
				done := n
				if mode != "before" {
					done++
				}
				c := openStore(t, Options{Dir: dir})
				l := newLog(t, c)
				before := l.stateNow()
				adopted := done >= 6
				if adopted != (l.position(tableA) == 2) || adopted != (len(before.Retained) == 0) || adopted != (len(before.IndexState.Segments) == 2) {
					t.Errorf("%d steps done: %+v, retained %d", done, before.IndexState, len(before.Retained))
				}
				l.sound()
				checkGarbageAgrees(t, c)
				if _, err := c.ResolvePublications(ctx); err != nil {
					t.Fatal(err)
				}
				if _, err := c.AbandonJobs(ctx); err != nil {
					t.Fatal(err)
				}
				if after := l.stateNow(); fmt.Sprint(after) != fmt.Sprint(before) {
					t.Errorf("settling changed the state:\n%+v\n%+v", before, after)
				}
				want := 0
				switch {
				case adopted && done < 10:
					want = 2 // the generations
				case !adopted && done >= 2:
					want = 1 // the segment
				}
				checkGarbageAgrees(t, c)
				if n := collectAll(t, c); n != want {
					t.Errorf("%d collected, want %d", n, want)
				}
				l.sound()
			})
		}
	}
}

// TestBackupOfIndexes: a copy has segments, vectors and retained generations, and what
// it says of them is signed for the new catalog.
func TestBackupOfIndexes(t *testing.T) {
	ctx := t.Context()
	l := indexedStore(t, Creation{}, 2)
	job := l.segmentJob()
	l.mustInstall(l.indexes(l.covering(job, refA)))
	l.publish(l.rotateMany(1)...)
	l.publishBase(l.stateNow().Timeline, l.increment(3, 1))
	l.segment(job, refB, l.fragmentsOf(tableB)...) // of no head
	was := l.stateNow()
	dir := copied(t, l.c)
	file := filepath.Join(dir, FileName)
	kept, _, err := PruneCopy(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, o := range kept.Objects {
		kinds[o.Kind]++
	}
	if kinds[KindIndex] != 1 || kinds[KindKV] != 5 {
		t.Errorf("kept %v", kinds)
	}
	if _, err := RenewCopy(ctx, file, time.Now()); err != nil {
		t.Fatal(err)
	}
	own := newLog(t, openStore(t, Options{Dir: dir}))
	own.sound()
	s := own.stateNow()
	if fmt.Sprint(s.IndexState) != fmt.Sprint(was.IndexState) || fmt.Sprint(s.Base) != fmt.Sprint(was.Base) || len(s.Retained) != 3 {
		t.Errorf("%+v\nwas %+v", s, was)
	}
	own.schema = l.schema
	job = own.segmentJob()
	if a := own.mustInstall(own.indexes(own.covering(job, allIndexes...))); len(a.Retired) != 3 {
		t.Errorf("retired %v", a.Retired)
	}
}

// TestTamperedIndexes edits what no guard of an open file can keep: every such edit is
// found when the state is read, or when the catalog is checked.
func TestTamperedIndexes(t *testing.T) {
	l := indexedStore(t, Creation{}, 2)
	job := l.segmentJob()
	u := l.covering(job, allIndexes...)
	u.Held = []int64{l.stateNow().Retained[0].ObjectID, l.stateNow().Retained[1].ObjectID}
	l.mustInstall(l.indexes(u))
	l.publish(l.rotateMany(1)...)
	l.publishBase(l.stateNow().Timeline, l.increment(3, 1))
	other, err := encodeDeleted(roaring.BitmapOf(3))
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range []string{
		fmt.Sprintf(`UPDATE entry_fragments SET deleted = x'%x' WHERE deleted IS NOT NULL`, other), // as many
		`DELETE FROM index_state_segments WHERE index_id = 45`,
		`UPDATE index_state_segments SET ordinal = 1 WHERE index_id = 45`,
		`UPDATE index_state_segments SET fragments = x'00' WHERE index_id = 45`,
		`DELETE FROM index_state_catchup`,
		`DELETE FROM index_state_catchup WHERE index_id = 45`,
		`UPDATE index_state_catchup SET generation = 3`,
		`INSERT INTO index_state_catchup SELECT index_state_id, index_id, shard_id + 1, 1 FROM index_state_catchup WHERE index_id = 45`,
		`UPDATE index_state_compacted SET generation = generation + 1`,
		`DELETE FROM index_state_compacted`,
		`UPDATE segments SET fragments = x'00'`,
		`UPDATE segments SET entries = entries + 1`,
		`UPDATE segments SET index_id = 46 WHERE index_id = 45`,
		`DELETE FROM segments WHERE index_id = 45`,
		`UPDATE entry_fragments SET live_rows = live_rows - 1 WHERE live_rows > 0`,
		`UPDATE entry_fragments SET deleted = NULL`,
		`DELETE FROM entry_fragments`,
		`DELETE FROM entry_fragments WHERE deleted IS NOT NULL`,
		`UPDATE entry_fragments SET sum = NULL`,
		`UPDATE manifest_entries SET contribution_role = 'update' WHERE contribution_role = 'merged'`,
		`UPDATE generation_tables SET table_id = 41`,
		`DELETE FROM generation_tables`,
		`UPDATE generations SET tables_digest = NULL`,
		`UPDATE objects SET state = 'quarantined' WHERE kind = 'index'`,
	} {
		t.Run(edit, func(t *testing.T) {
			tampered(t, l.c, func(ctx context.Context, tx *writeTx) error {
				_, err := tx.ExecContext(ctx, edit)
				return err
			}, func(ctx context.Context, tx *writeTx) {
				if _, err := readState(ctx, tx, MainTimeline); errors.Is(err, ErrCorrupt) {
					return
				}
				if strings.Contains(edit, "index_state_") {
					t.Error("the state is read")
				}
				found := false
				if err := checkIndexes(ctx, tx.Tx, func(string) { found = true }); err != nil {
					t.Fatal(err)
				}
				if !found {
					t.Error("nothing is wrong")
				}
			})
		})
	}
}

// TestHalfSet: feature words that say different things to readers and writers, or that
// are unknown, are refused wherever an index state is taken over (C3, C14).
func TestHalfSet(t *testing.T) {
	for name, x := range map[string]struct {
		reader, writer int64
		want           error
	}{
		"reader only":    {128, 0, ErrCorrupt},
		"writer only":    {0, 128, ErrCorrupt},
		"unknown reader": {128 | 256, 128, ErrNewer},
		"unknown writer": {128, 128 | 1, ErrNewer},
	} {
		t.Run(name, func(t *testing.T) {
			l := indexedStore(t, Creation{}, 2)
			if _, err := l.c.CreateBranchPoint(t.Context(), "b", l.stateNow().Timeline); err != nil {
				t.Fatal(err)
			}
			job := l.segmentJob()
			head := l.stateNow().Timeline
			u := l.covering(job, refA)
			tampered(t, l.c, func(ctx context.Context, tx *writeTx) error {
				if _, err := tx.ExecContext(ctx, `PRAGMA ignore_check_constraints = ON`); err != nil {
					return err
				}
				rows, err := readStateRows(ctx, tx, "")
				if err != nil {
					return err
				}
				for i := range rows {
					rows[i].ReaderFeatures, rows[i].WriterFeatures = x.reader, x.writer
					digest := rows[i].digest(l.c.identity())
					if _, err := tx.ExecContext(ctx, `UPDATE index_states SET reader_features = ?, writer_features = ?, digest = ? WHERE index_state_id = ?`,
						x.reader, x.writer, digest[:], rows[i].ID); err != nil {
						return err
					}
				}
				_, err = tx.ExecContext(ctx, `PRAGMA ignore_check_constraints = OFF`)
				return err
			}, func(ctx context.Context, tx *writeTx) {
				identity := l.c.identity()
				h, err := readHead(ctx, tx, head.ID, identity)
				if err != nil {
					t.Fatal(err)
				}
				b, err := readBranchPoint(ctx, tx, "b", identity)
				if err != nil {
					t.Fatal(err)
				}
				_, open := readState(ctx, tx, MainTimeline)
				_, publish := readIndexUpdate(ctx, tx, u, h, identity)
				for what, err := range map[string]error{"open": open, "publish": publish, "restore": checkRestored(ctx, tx, identity, h, b)} {
					if !errors.Is(err, x.want) {
						t.Errorf("%s: %v", what, err)
					}
				}
			})
		})
	}
}

// TestSharedMergeOfWholeBases: a base of new objects only is shared with what it says of
// its fragments; one that keeps objects is not.
func TestSharedMergeOfWholeBases(t *testing.T) {
	c, _ := newStore(t, Creation{Shards: 2})
	l, child := idleFork(t, c)
	b := l.compact(l.stateNow().Timeline.LSN, 2)
	l.live(&b)
	b.base.Steps, b.base.Recipe = l.steps(b.base.LSN), theRecipe
	l.publishBase(l.stateNow().Timeline, b)
	checkMergeRows(t, c, 1, 1)
	got, files, ok := child.shared()
	if !ok || len(files) != 2 {
		t.Fatal(files, ok)
	}
	for i, f := range files {
		got.base.Objects[i].Live = f.Live
		for _, s := range f.Live {
			if s.Sum == nil {
				t.Errorf("%+v", f)
			}
		}
	}
	got.base.Steps = child.steps(got.base.LSN)
	child.publishBase(child.stateNow().Timeline, got)
	if s := child.stateNow(); len(s.Retained) == 0 || fmt.Sprint(s.Base) != fmt.Sprint(l.stateNow().Base) {
		t.Errorf("%+v", s)
	}
	checkMergeRows(t, c, 0, 0)

	again, other := idleFork2(t, l)
	k := again.increment(again.stateNow().Timeline.LSN, 1)
	k.base.Recipe = theRecipe
	again.publishBase(again.stateNow().Timeline, k)
	checkMergeRows(t, c, 0, 0)
	if _, _, ok := other.shared(); ok {
		t.Error("a base that keeps objects is shared")
	}
}

// idleFork2 forks a timeline that has published once more.
func idleFork2(t *testing.T, l *log) (*log, *log) {
	t.Helper()
	gens := l.rotate()
	if err := l.c.Register(t.Context(), gens...); err != nil {
		t.Fatal(err)
	}
	l.publish(gens...)
	return l, forkOf(t, l, "other", l.stateNow().Timeline)
}

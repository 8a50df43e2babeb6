package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// head is the head of the main timeline, as the catalog has it.
func headOf(t testing.TB, s *Store) catalog.State {
	t.Helper()
	state, err := s.cat.State(context.Background())
	must(t, err)
	return state
}

// checkHead compares the head with the state the store is in.
func checkHead(t testing.TB, s *Store) {
	t.Helper()
	state, r := headOf(t, s), s.durable.Load()
	want := r.totals()
	h := &state.Timeline
	if LSN(h.LSN) != r.lsn || h.LiveCount != want.rows || sumOf(h.Fingerprint) != want.sum || h.SchemaVersion != int64(r.schema.Version()) {
		t.Errorf("head: commit %d, %d rows, sum %x, schema %d; the store has %d, %d, %x, %d",
			h.LSN, h.LiveCount, h.Fingerprint, h.SchemaVersion, r.lsn, want.rows, want.sum, r.schema.Version())
	}
	for _, g := range state.Generations {
		if g.InHead != (g.State == catalog.GenerationSealed) {
			t.Errorf("generation %d of shard %d is %s, in the head: %t", g.Generation, g.ShardID, g.State, g.InHead)
		}
	}
}

// TestCheckpointPublishes: after a checkpoint the head is the state, with the
// sums of its tables, whatever schema changes the files hold; a second one
// changes nothing; an open replays the head's files and goes on.
func TestCheckpointPublishes(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards}
		s, err := Open(t.Context(), Options{Dir: o.Dir, FS: o.FS, Shards: shards, Create: true})
		must(t, err)
		must(t, s.Checkpoint(t.Context(), nil)) // of nothing
		if h := headOf(t, s); h.Timeline.Revision != 0 {
			t.Errorf("an empty store was published: %+v", h.Timeline)
		}
		for i, step := range []func(tx *Tx) error{
			all(createTable("t"), createTable("u")),
			all(put("t", 1, 1, "a"), put("t", 2, 2, "b"), put("u", 1, 1, "c")),
			all(put("t", 1, 1, "changed"), remove("t", 2), put("t", 3, 3, "d")),
			dropTable("t"), // its rows are in files of the head
			all(createTable("t"), put("t", 1, 1, "again"), remove("u", 1)),
			all(put("t", 2, 2, "of a table that goes"), dropTable("t")),
			dropTable("u"),
		} {
			wait(t, s, update(t, s, step))
			must(t, s.Checkpoint(t.Context(), nil))
			checkHead(t, s)
			before := headOf(t, s).Timeline
			must(t, s.Checkpoint(t.Context(), nil))
			if after := headOf(t, s).Timeline; after.Revision != before.Revision || after.Revision != int64(i+1) {
				t.Errorf("revision %d after checkpoint %d, then %d", before.Revision, i+1, after.Revision)
			}
			state := dump(s.Durable())
			checkStore(t, s)
			must(t, s.Close())
			s, err = Open(t.Context(), o)
			must(t, err)
			if got := dump(s.Durable()); got != state {
				t.Errorf("reopened:\n%s\nwant:\n%s", got, state)
			}
		}
		checkStore(t, s)
		must(t, s.Close())
	})
}

func dropTable(name string) func(tx *Tx) error {
	return func(tx *Tx) error { return tx.Apply(DropTable{Table: tx.Schema().Lookup(name).Table.ID}) }
}

// TestRotationPublishes: the head follows the rotations by itself, and many cuts
// in a row need not have a publication each.
func TestRotationPublishes(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		s := openStore(t, Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, GenerationSize: 1 << 10})
		wait(t, s, update(t, s, createTable("t")))
		for i := range int64(200) {
			wait(t, s, update(t, s, put("t", i%20, i, strings.Repeat("x", 300))))
		}
		quiet(t, s)
		eventually(t, "the last cut to be published", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.pub.cuts) == 0 && len(s.pub.waiting) == 0
		})
		m := s.Metrics()
		if m.Rotations < 20 || m.Publications == 0 || m.Publications > m.Rotations {
			t.Errorf("%d rotations, %d publications", m.Rotations, m.Publications)
		}
		checkStore(t, s)
		must(t, s.Checkpoint(t.Context(), nil))
		checkHead(t, s)
		t.Logf("%d rotations, %d seals, %d publications", m.Rotations, m.Seals, m.Publications)
	})
}

// TestPublicationTakesNoWriteLock: a cut is sealed and published, and files of another
// are made, while one transaction has the write lock all the time.
func TestPublicationTakesNoWriteLock(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		s := openStore(t, Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, GenerationSize: 1 << 10, NoCompaction: true})
		wait(t, s, update(t, s, createTable("t")))
		must(t, s.Checkpoint(t.Context(), nil))
		before := s.Metrics()
		var tx *Tx
		for i := int64(0); ; i++ {
			var err error
			tx, err = s.Begin(t.Context()) // rotates first when a file is full
			must(t, err)
			if s.Metrics().Rotations > before.Rotations {
				break
			}
			must(t, put("t", i, i, strings.Repeat("x", 300))(tx))
			must(t, tx.Prepare())
			wait(t, s, tx.Commit())
		}
		eventually(t, "the cut to be published", func() bool { return s.Metrics().Publications > before.Publications })
		if lsn := s.Head().LSN(); lsn != tx.From().LSN() {
			t.Errorf("commit %d was appended while the transaction had the lock, from %d on", lsn, tx.From().LSN())
		}
		tx.Rollback()
		checkHead(t, s)
	})
}

// TestPublicationFaults fails every catalog commit of a checkpoint, with and
// without doing it. The store goes on as far as its catalog does; the next open
// finds the old head or the new one, and has every row.
func TestPublicationFaults(t *testing.T) {
	errCommit := errors.New("commit fails")
	overShards(t, func(t *testing.T, shards int) {
		faults, adopted := 0, 0
		names := map[string]bool{}
		for n := 1; ; n++ {
			hit := ""
			for what, fail := range map[string]func(commit func() error) error{
				"before":  func(func() error) error { return errCommit },
				"unheard": func(commit func() error) error { return errors.Join(commit(), errCommit) },
			} {
				var armed atomic.Bool
				commits, failed := 0, ""
				o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, Create: true}
				o.CatalogSeam = &catalog.Seam{Commit: func(name string, commit func() error) error {
					if !armed.Load() {
						return commit()
					}
					if commits++; commits != n {
						return commit()
					}
					failed = name
					return fail(commit)
				}}
				s, err := Open(t.Context(), o)
				must(t, err)
				wait(t, s, update(t, s, all(createTable("t"), createTable("u"))))
				wait(t, s, update(t, s, all(put("t", 1, 1, "a"), put("u", 2, 2, "b"))))
				wait(t, s, update(t, s, dropTable("u")))
				quiet(t, s)
				armed.Store(true)
				refused := s.Checkpoint(t.Context(), nil)
				if refused != nil && failed == "" {
					t.Errorf("COMMIT %d, %s: refused with %v and nothing failed", n, what, refused)
				}
				if s.Poisoned() == nil {
					wait(t, s, update(t, s, put("t", 2, 2, "more")))
				}
				state, lsn := dump(s.Durable()), s.Durable().LSN()
				if err := s.Close(); err != nil && !errors.Is(err, ErrPoisoned) {
					t.Errorf("COMMIT %d (%s), %s: close: %v", n, failed, what, err)
				}
				o.CatalogSeam = nil
				if s, err = Open(t.Context(), o); err != nil {
					t.Fatalf("COMMIT %d (%s), %s: open: %v", n, failed, what, err)
				}
				if got := dump(s.Durable()); got != state || s.Durable().LSN() != lsn {
					t.Errorf("COMMIT %d (%s), %s: reopened with\n%s\nwant\n%s", n, failed, what, got, state)
				}
				checkStore(t, s)
				if headOf(t, s).Timeline.Revision > 0 {
					adopted++
				}
				must(t, s.Checkpoint(t.Context(), nil))
				checkHead(t, s)
				must(t, s.Close())
				if failed != "" {
					faults++
					hit, names[failed] = failed, true
				}
			}
			if hit == "" {
				break
			}
		}
		if len(names) < 6 || adopted == 0 || adopted == faults {
			t.Errorf("%d faults in %v, %d of them with a head that was adopted", faults, names, adopted)
		}
		t.Logf("%d faults in %d kinds of transactions, after %d the head was the new one at open", faults, len(names), adopted)
	})
}

// TestHeadThatLies: a head that does not fit the log is damage, and so is a log
// that ends before its head.
func TestHeadThatLies(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{Dir: t.TempDir(), FS: m})
	wait(t, s, update(t, s, createTable("t")))
	wait(t, s, update(t, s, put("t", 1, 1, "a")))
	must(t, s.Checkpoint(t.Context(), nil))
	for what, change := range map[string]func(*catalog.Timeline){
		"live count":  func(h *catalog.Timeline) { h.LiveCount++ },
		"fingerprint": func(h *catalog.Timeline) { h.Fingerprint[3] ^= 1 },
		"commit":      func(h *catalog.Timeline) { h.LSN++ },
	} {
		sp := specimen{mem: m, id: s.id, state: headOf(t, s)}
		change(&sp.state.Timeline)
		var bad *CorruptError
		if _, err := sp.scan(); !errors.As(err, &bad) {
			t.Errorf("%s: %v", what, err)
		}
	}
	sp := specimen{mem: m, id: s.id, state: headOf(t, s)}
	if _, err := sp.scan(); err != nil {
		t.Errorf("unchanged: %v", err)
	}
}

// TestOpenCancelledInPublication: a context that ends while an open publishes
// leaves nothing in the way of later publications.
func TestOpenCancelledInPublication(t *testing.T) {
	for _, last := range []string{"register", "prepare-publication", "begin-publication", "adopt-publication"} {
		o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Create: true}
		o.CatalogSeam = &catalog.Seam{Commit: func(name string, commit func() error) error {
			if name == "register" {
				return errors.New("commit fails")
			}
			return commit()
		}}
		s, err := Open(t.Context(), o)
		must(t, err)
		wait(t, s, update(t, s, createTable("t")))
		if err := s.Checkpoint(t.Context(), nil); err == nil {
			t.Fatal("the checkpoint did not fail")
		}
		must(t, s.Close())

		ctx, cancel := context.WithCancel(t.Context())
		hit := false
		o.CatalogSeam = &catalog.Seam{Commit: func(name string, commit func() error) error {
			err := commit()
			if name == last && !hit {
				hit = true
				cancel()
			}
			return err
		}}
		s, err = Open(ctx, o)
		must(t, err)
		if !hit {
			t.Errorf("%s: the open did not come to it", last)
		}
		wait(t, s, update(t, s, put("t", 1, 1, "a")))
		if err := s.Checkpoint(t.Context(), nil); err != nil {
			t.Errorf("cancelled after %s: %v", last, err)
		} else {
			checkHead(t, s)
		}
		must(t, s.Close())
	}
}

// failsOnce is an attempt that the catalog does not let go of at first.
type failsOnce struct{ calls int }

func (f *failsOnce) Abandon(ctx context.Context) error {
	if f.calls++; f.calls == 1 {
		return syscall.ENOSPC
	}
	return ctx.Err()
}

// TestAttemptLeftBehind: an attempt that could not be given up is given up
// before the next one.
func TestAttemptLeftBehind(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, createTable("t")))
	left := new(failsOnce)
	cause := errors.New("adoption fails")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.pub.giveUp(ended, left, cause); !errors.Is(err, cause) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("giving up: %v", err)
	}
	must(t, s.Checkpoint(t.Context(), nil))
	if left.calls != 2 || s.pub.left != nil {
		t.Errorf("%d calls, %v is left", left.calls, s.pub.left)
	}
	if err := s.pub.giveUp(ended, left, cause); !errors.Is(err, cause) || s.pub.left != nil {
		t.Errorf("giving up with a context that ended: %v", err)
	}
	checkHead(t, s)
}

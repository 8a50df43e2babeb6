package engine

import (
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A publication of a forked timeline finds no room in the catalog at one of its steps,
// nor does giving it up; the timeline is closed. Opened again beside main, it is
// settled, publishes as ever, and has every row.
func TestTimelineResolvesItsPublications(t *testing.T) {
	noRoom := errNoRoom(t)
	for _, step := range []string{"begin-publication", "adopt-publication", "retire-publication"} {
		t.Run(step, func(t *testing.T) {
			var armed atomic.Bool
			var failed []string // guarded by the catalog's writer
			o := Options{FS: vfs.NewMem(), NoCompaction: true, CatalogSeam: &catalog.Seam{Commit: func(name string, commit func() error) error {
				if armed.Load() && (name == step || name == "abandon-publication") {
					failed = append(failed, name)
					return noRoom
				}
				return commit()
			}}}
			s := openStore(t, o)
			wait(t, s, update(t, s, all(createTable("a"), put("a", 1, 1))))
			_, err := s.Fork(t.Context(), "dev")
			must(t, err)
			dev := openTimeline(t, s, "dev", Options{NoCompaction: true})
			wait(t, dev, update(t, dev, put("a", 2, 2, "dev")))
			want := dump(dev.Durable())
			armed.Store(true)
			// Behind the adoption there is only something to tidy up.
			if err := dev.Checkpoint(t.Context(), nil); (step == "retire-publication") != (err == nil) || err != nil && !errors.Is(err, catalog.ErrFull) {
				t.Errorf("the checkpoint: %v", err)
			}
			must(t, dev.Close())
			armed.Store(false)
			if !slices.Contains(failed, step) {
				t.Fatalf("only %q failed", failed)
			}
			unresolved := func() int {
				t.Helper()
				l, err := s.cat.Inspect(t.Context(), "unresolved_publications")
				must(t, err)
				return len(l.Rows)
			}
			left := 1
			if step == "retire-publication" { // it was adopted, and only retains too much
				left = 0
			}
			if n := unresolved(); n != left {
				t.Fatalf("%d publications are unresolved, want %d", n, left)
			}
			wait(t, s, update(t, s, put("a", 3, 3, "main")))
			must(t, s.Checkpoint(t.Context(), nil))
			if n := unresolved(); n != left {
				t.Errorf("main's publication left %d unresolved", n)
			}
			dev = openTimeline(t, s, "dev", Options{NoCompaction: true, Events: nothingFails(t)})
			if n := unresolved(); n != 0 {
				t.Errorf("%d publications are unresolved after the open", n)
			}
			if got := dump(dev.Durable()); got != want {
				t.Errorf("opened with\n%s\nwant\n%s", got, want)
			}
			wait(t, dev, update(t, dev, put("a", 4, 4, "dev")))
			must(t, dev.Checkpoint(t.Context(), nil))
			state, err := s.cat.StateOf(t.Context(), "dev")
			must(t, err)
			if h, r := state.Timeline, dev.durable.Load(); LSN(h.LSN) != r.lsn || sumOf(h.Fingerprint) != r.totals().sum {
				t.Errorf("the head is commit %d of sum %x, the timeline %d of %x", h.LSN, h.Fingerprint, r.lsn, r.totals().sum)
			}
			for _, query := range []string{"SELECT count(*) FROM publication_attempts WHERE state <> 'retired'", "SELECT count(*) FROM owners WHERE kind = 'recovery' AND state <> 'released'"} {
				if n := catalogNumber(t, s, query); n != 0 {
					t.Errorf("%s: %d", query, n)
				}
			}
			checkStore(t, dev)
			must(t, dev.Close())
		})
	}
}

// catalogNumber asks the catalog for a number.
func catalogNumber(t *testing.T, s *Store, query string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.opts.Dir, catalog.FileName)+"?mode=ro")
	must(t, err)
	defer func() { must(t, db.Close()) }()
	must(t, db.QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

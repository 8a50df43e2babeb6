package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// Whoever wants a timeline that is open only for a piece of work waits until that has
// ended, or for as long as its context lets it.
func TestTimelineInPassing(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), NoCompaction: true})
	wait(t, s, update(t, s, createTable("a")))
	_, err := s.Fork(t.Context(), "dev")
	must(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	nothing := func(*Store) error { return nil }
	ways := map[string]func(context.Context) error{
		"another piece of work": func(ctx context.Context) error { return s.WithTimeline(ctx, "dev", nothing) },
		"an open": func(ctx context.Context) error {
			dev, err := s.OpenTimeline(ctx, "dev", Options{NoCompaction: true})
			if err != nil {
				return err
			}
			return dev.Close()
		},
	}
	must(t, s.WithTimeline(t.Context(), "dev", func(*Store) error {
		for what, way := range ways {
			if err := way(ended); !errors.Is(err, context.Canceled) {
				t.Errorf("%s of what is open in passing, with a context that ended: %v", what, err)
			}
		}
		if err := s.DropTimeline(ended, "dev"); !errors.Is(err, context.Canceled) {
			t.Errorf("dropped while it is open in passing, with a context that ended: %v", err)
		}
		return nil
	}))
	// What a user has open is shared by work and by nobody else.
	dev := openTimeline(t, s, "dev", Options{NoCompaction: true})
	must(t, s.WithTimeline(ended, "dev", func(shared *Store) error {
		if shared != dev {
			t.Error("a second store of an open timeline")
		}
		return nil
	}))
	if _, err := s.OpenTimeline(t.Context(), "dev", Options{}); !errors.Is(err, ErrTimelineOpen) {
		t.Errorf("opened twice: %v", err)
	}
	must(t, dev.Close())
}

// Work, opens and closes of one timeline, all at once: none fails, and all that was
// written is there.
func TestTimelineSharedAtOnce(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), NoCompaction: true})
	wait(t, s, update(t, s, createTable("a")))
	_, err := s.Fork(t.Context(), "dev")
	must(t, err)
	const workers, rounds = 3, 6
	var wg sync.WaitGroup
	for w := range int64(workers) {
		wg.Go(func() {
			for i := range int64(rounds) {
				err := s.WithTimeline(t.Context(), "dev", func(dev *Store) error {
					_, err := dev.CreateBranchPoint(t.Context(), fmt.Sprint("bp ", w, " ", i))
					return err
				})
				if err != nil {
					t.Errorf("worker %d, round %d: %v", w, i, err)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range int64(rounds) {
			dev, err := s.OpenTimeline(t.Context(), "dev", Options{NoCompaction: true})
			if err != nil {
				t.Errorf("open %d: %v", i, err)
				return
			}
			wait(t, dev, update(t, dev, put("a", i, i)))
			for err = ErrBusy; errors.Is(err, ErrBusy); {
				err = dev.Close()
			}
			must(t, err)
		}
	})
	wg.Wait()
	dev := openTimeline(t, s, "dev", Options{NoCompaction: true})
	if n := dev.Durable().Table(dev.Durable().Schema().Lookup("a").Table.ID).Len(); n != rounds {
		t.Errorf("%d rows, want %d", n, rounds)
	}
	list, err := s.BranchPoints(t.Context())
	if err != nil || len(list) != workers*rounds {
		t.Errorf("%d branch points, %v", len(list), err)
	}
	checkStore(t, dev)
	must(t, dev.Close())
}

// A timeline that is being dropped is not there for whoever opens it meanwhile, and is
// not said to be open.
func TestOpenWhileDropped(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), NoCompaction: true})
	wait(t, s, update(t, s, createTable("a")))
	for i := range 20 {
		name := fmt.Sprint("dev ", i)
		_, err := s.Fork(t.Context(), name)
		must(t, err)
		dropped := make(chan error)
		go func() { dropped <- s.DropTimeline(t.Context(), name) }()
		dev, err := s.OpenTimeline(t.Context(), name, Options{NoCompaction: true})
		gone := <-dropped
		switch {
		case err == nil && errors.Is(gone, ErrTimelineOpen):
			must(t, dev.Close())
		case err == nil || gone != nil || !errors.Is(err, catalog.ErrNotFound):
			t.Fatalf("opened with %v, dropped with %v", err, gone)
		}
	}
}

// A file that another timeline collected, with its directory, between the look at the
// directories and the one at the catalog is none to remove.
func TestStrayThatIsGone(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), NoCompaction: true})
	must(t, s.removeStray(catalog.ObjectPath(1<<40, catalog.KindKV)))
}

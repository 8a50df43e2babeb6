package engine

import (
	"context"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A generation that rows of the newest state are read from stays, whatever indexes say,
// until they are read from the base.
func TestRetiredAreNotRead(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: f, Shards: 1, GenerationSize: 4 << 10, NoCompaction: true})
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 40, "k"))))
	s.compactor.unindexed = true
	must(t, s.Compact(t.Context(), nil))
	s.compactor.turn <- struct{}{}
	s.mu.Lock()
	held := len(stateOf(t, s).Retained)
	for i := range s.replaced {
		s.replaced[i].lease = noLease
	}
	some := len(s.replaced)
	s.mu.Unlock()
	job, err := s.cat.StartJob(t.Context(), JobIndex, "")
	must(t, err)
	must(t, s.indexBase(t.Context(), job.ID, nil, false, nil, nil))
	must(t, s.cat.EndJob(t.Context(), job.ID, 0, 0, nil))
	if now := len(stateOf(t, s).Retained); some == 0 || now != held || held == 0 {
		t.Errorf("%d generations of %d are retained, %d are read from", now, held, some)
	}
	s.mu.Lock()
	for i := range s.replaced {
		s.replaced[i].lease = 0
	}
	s.compactor.behind = true
	s.mu.Unlock()
	<-s.compactor.turn
	s.compactor.signal()
	eventually(t, "generations to be retired", func() bool { return len(stateOf(t, s).Retained) == 0 })
	checkStore(t, s)
}

// Where a compaction could not have rows read from its base, the files that they are read
// from stay, and go when the compactor has made up for that, without another compaction.
func TestRetiredWhenRowsHaveMoved(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), Shards: 1, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 40, "k"))))
	s.compactor.turn <- struct{}{}
	c, err := s.compactable(t.Context(), 0)
	must(t, err)
	job, err := s.cat.StartJob(t.Context(), JobCompact, "")
	must(t, err)
	made, err := s.makeBase(t.Context(), job.ID, c, compactMode{}, nil)
	must(t, err)
	must(t, s.installBase(t.Context(), c, made))
	ended, end := context.WithCancel(t.Context())
	end()
	if err := s.repoint(ended, c, made.fresh); err == nil {
		t.Fatal("rows were moved")
	}
	s.compactor.left = &repointing{cut: c, files: made.fresh}
	s.indexAfter(t.Context(), job.ID, nil)
	must(t, s.cat.EndJob(t.Context(), job.ID, 1, 1, nil))
	list, err := s.IndexCatchup(t.Context())
	must(t, err)
	for _, x := range list {
		if x.Lag() != 0 {
			t.Errorf("%+v", x)
		}
	}
	if len(stateOf(t, s).Retained) == 0 {
		t.Error("nothing is retained, and rows are read from it")
	}
	<-s.compactor.turn
	s.compactor.signal()
	eventually(t, "generations to be retired", func() bool { return len(stateOf(t, s).Retained) == 0 })
	for rowid, at := range placesOf(t, s.Durable().Table(s.Durable().Schema().Lookup("k").Table.ID)) {
		if at.kind != filed {
			t.Errorf("row %d is at %+v", rowid, at)
		}
	}
	checkStore(t, s)
}

package engine

import (
	"maps"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// Whoever tells of a commit when a restore has told of a later one comes late: LOCK does
// not go back.
func TestLockGoesOnlyForward(t *testing.T) {
	mem := vfs.NewMem()
	s := openStore(t, Options{FS: mem, NoCompaction: true})
	lsn := update(t, s, createTable("a"))
	wait(t, s, lsn)
	branch(t, s, "bp")
	restored, err := s.RestoreTo(t.Context(), "bp")
	must(t, err)
	s.writeLock(lsn)
	contents, _, err := mem.PeekLock(lockName)
	must(t, err)
	if told, whole := parseLock(contents); !whole || !maps.Equal(told, map[string]LSN{catalog.MainTimeline: restored}) {
		t.Errorf("%q: %v, want commit %d", contents, told, restored)
	}
}

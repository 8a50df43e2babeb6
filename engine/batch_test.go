package engine

import (
	"runtime"
	"testing"
	"weak"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A state that nobody reads any more is let go, also the one that the last commit
// of a generation left, and the one whose batch failed.
func TestOldStatesAreLetGo(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: fault})
	wait(t, s, update(t, s, all(createTable("t"), createVolatile("v"))))
	var old []weak.Pointer[root]
	for k := range int64(3) {
		wait(t, s, update(t, s, put("t", k, k, "a row")))
		old = append(old, weak.Make(s.head.Load()))
		must(t, s.Checkpoint(t.Context(), nil))
	}
	// This one is the newest that was synced, not the newest there is.
	wait(t, s, update(t, s, put("t", 9, 9, "a row")))
	old = append(old, weak.Make(s.head.Load()))
	wait(t, s, update(t, s, put("v", 1, 1, "a volatile row")))
	fault.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncData {
			return errFence
		}
		return nil
	})
	lsn := update(t, s, put("t", 10, 10, "a row that is lost"))
	old = append(old, weak.Make(s.head.Load()))
	if err := s.WaitDurable(t.Context(), lsn); err == nil {
		t.Error("a failed sync was acknowledged")
	}
	left := len(old)
	for n := 0; left > 0 && n < 100; n++ {
		runtime.GC()
		left = 0
		for _, r := range old {
			if r.Value() != nil {
				left++
			}
		}
	}
	if left > 0 {
		t.Errorf("%d of %d old states are still there", left, len(old))
	}
	fault.SetHook(nil)
}

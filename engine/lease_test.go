package engine

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A closed store is let go of, with all its files: nothing that waits for the end of
// a lease keeps it.
func TestClosedStoreIsLetGo(t *testing.T) {
	gone := make(chan struct{})
	func() {
		m := vfs.NewMem()
		s, err := Open(t.Context(), Options{Dir: t.TempDir(), FS: m, Create: true})
		must(t, err)
		wait(t, s, update(t, s, all(createKeys("k", 2), put("k", 1, 1, strings.Repeat("x", 100)))))
		must(t, s.Compact(t.Context(), nil))
		must(t, s.Close())
		runtime.AddCleanup(s.objects, func(c chan struct{}) { close(c) }, gone)
	}()
	for range 20 {
		runtime.GC()
		select {
		case <-gone:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Error("something keeps the store")
}

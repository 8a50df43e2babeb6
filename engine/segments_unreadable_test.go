package engine

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A segment that cannot be opened or read is as good as none: the store opens, says so,
// and a job of kind index writes it anew.
func TestUnreadableSegments(t *testing.T) {
	for _, c := range []struct {
		name  string
		kinds vfs.Kind
		err   error
	}{{"open", vfs.OpOpenRead, syscall.EACCES}, {"read", vfs.OpRead, syscall.EIO}} {
		t.Run(c.name, func(t *testing.T) {
			f := vfs.NewFault(vfs.NewMem())
			var told atomic.Int32
			o := Options{FS: f, Dir: t.TempDir(), Create: true, NoCompaction: true, Events: func(e Event) {
				if e.Kind == EventSegmentDamaged {
					told.Add(1)
				}
			}}
			s, err := Open(t.Context(), o)
			must(t, err)
			wait(t, s, update(t, s, all(createKeys("k", 3), createTable("a"))))
			for i := range int64(30) {
				wait(t, s, update(t, s, all(put("k", i, i, "x", "y"), put("a", i, i, "z"))))
			}
			must(t, s.Compact(t.Context(), nil))
			wait(t, s, update(t, s, put("k", 3, 300, "later", "y")))
			want := dump(s.Durable())
			must(t, s.Close())
			f.SetHook(func(op vfs.Op) error {
				if op.Kind&c.kinds != 0 && strings.HasSuffix(op.Name, ".index") {
					return c.err
				}
				return nil
			})
			s, err = Open(t.Context(), o)
			must(t, err)
			if got := dump(s.Durable()); got != want || told.Load() == 0 {
				t.Errorf("told %d times:\n%s\nwant:\n%s", told.Load(), got, want)
			}
			verifyRoot(t, (*root)(s.Durable()))
			f.SetHook(nil)
			before := s.Metrics().SegmentsWritten
			must(t, s.Index(t.Context(), "", nil))
			if s.Metrics().SegmentsWritten == before {
				t.Error("nothing was written anew")
			}
			checkStore(t, s)
			told.Store(0)
			must(t, s.Close())
			s, err = Open(t.Context(), o)
			must(t, err)
			if got := dump(s.Durable()); got != want || told.Load() != 0 {
				t.Errorf("afterwards, told %d times:\n%s\nwant:\n%s", told.Load(), got, want)
			}
			must(t, s.Close())
		})
	}
}

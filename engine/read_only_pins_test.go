package engine

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A pin that could not be released, for lack of room say, is released later.
func TestReaderReleasesLater(t *testing.T) {
	noRoom := errNoRoom(t)
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true}
	s := filled(t, o)
	var failed atomic.Bool
	ro := o
	ro.CatalogSeam = &catalog.Seam{Commit: func(op string, commit func() error) error {
		if op == "unpin" && failed.CompareAndSwap(false, true) {
			return noRoom
		}
		return commit()
	}}
	r := openReading(t, ro)
	for n := int64(0); !failed.Load(); n++ {
		wait(t, s, update(t, s, put("a", n, n, strings.Repeat("z", 500))))
		sees(t, r, s.Durable().LSN())
	}
	collectGarbage()
	eventually(t, "one pin", func() bool {
		pins, err := s.cat.Pins(t.Context())
		must(t, err)
		return len(pins) == 1
	})
}

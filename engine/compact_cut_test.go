package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A file of the base that was cut off since is damaged, also where a compaction would
// keep it and needs to read nothing of it: rows that are in memory are written anew, and
// rows that are not are missing.
func TestCompactNoticesWhatIsCutOff(t *testing.T) {
	for _, resident := range []Resident{ResidentAll, ResidentKeys} {
		for _, real := range []bool{false, true} {
			for _, part := range []int64{0, 3} { // of four
				t.Run(fmt.Sprintf("%s/real=%t/%d", resident, real, part), func(t *testing.T) {
					o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Create: true, GenerationSize: 8 << 10, NoCompaction: true}
					if real {
						o.FS = vfs.OS(o.Dir)
					}
					s, err := Open(t.Context(), o)
					must(t, err)
					defer func() {
						if s != nil {
							_ = s.Close() // it is damaged
						}
					}()
					wait(t, s, update(t, s, all(createTableAs("t", resident), manyRows("t", 300, "t"))))
					must(t, s.Compact(t.Context(), nil))
					dump(s.Durable()) // rows are read through mappings
					victim := s.base[len(s.base)-1]
					file, err := o.FS.Open(victim.path)
					must(t, err)
					must(t, file.Truncate(victim.info.Bytes*part/4))
					must(t, file.Close())
					wait(t, s, update(t, s, all(createTable("u"), put("u", 1, 1, "x"))))
					err = s.Compact(t.Context(), nil)
					if resident == ResidentKeys {
						var bad *CorruptError
						if !errors.As(err, &bad) || bad.File != victim.path {
							t.Errorf("%v, want that %s is damaged", err, victim.path)
						}
						return
					}
					must(t, err)
					for _, f := range s.base {
						if f.object == victim.object {
							t.Errorf("%s is kept", f.path)
						}
					}
					want := dump(s.Durable())
					must(t, s.Close())
					if s, err = Open(t.Context(), o); err != nil {
						t.Fatal(err)
					}
					if got := dump(s.Durable()); got != want {
						t.Errorf("after a reopen:\n%s\nwant:\n%s", got, want)
					}
					checkStore(t, s)
				})
			}
		}
	}
}

package row

import "testing"

// The hot paths work in the memory they are given.
func TestNoAllocations(t *testing.T) {
	buf := make([]byte, 0, 1024)
	scratch := make([]byte, 0, 1024)
	rec := record(benchRow...)
	ids := []uint32{1, 2, 3, 4, 5, 6, 7}
	var d Decoder
	d.Reset(rec)
	d.Column(6)
	for name, f := range map[string]func(){
		"AppendRecord":  func() { buf = AppendRecord(buf[:0], benchRow) },
		"Record.Column": func() { sink += int(rec.Column(6).Kind()) },
		"Validate":      func() { sink += len(rec); _ = rec.Validate() },
		"RowSum":        func() { sink += int(RowSum(1, 1, ids, rec, 0, &scratch)[0]) },
		"Decoder": func() {
			d.Reset(rec)
			for i := range benchRow {
				sink += int(d.Column(i).Kind())
			}
		},
		"AppendKey": func() {
			for _, v := range benchRow {
				for c := Binary; c <= RTrim; c++ {
					buf = AppendKey(buf[:0], v, c, true)
				}
			}
		},
		"Apply": func() {
			for _, a := range []Affinity{AffBlob, AffInteger, AffNumeric, AffReal} {
				for _, v := range benchRow {
					sink += int(a.Apply(v).Kind())
				}
			}
		},
		"Compare": func() {
			for _, v := range benchRow {
				sink += Compare(v, benchRow[2], NoCase)
			}
		},
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

package row

import "testing"

// The row of the benchmarks: 7 columns, 60 bytes.
var benchRow = []Value{
	{}, IntValue(123456), TextValue("Harbour Lights"), RealValue(49.47), IntValue(1), IntValue(1 << 33), TextValue("2024-05-17 10:00:00"),
}

func BenchmarkAppendRecord(b *testing.B) {
	b.ReportAllocs()
	buf := make([]byte, 0, 256)
	for b.Loop() {
		buf = AppendRecord(buf[:0], benchRow)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkDecoderAllColumns(b *testing.B) {
	b.ReportAllocs()
	rec := record(benchRow...)
	var d Decoder
	n := 0
	for b.Loop() {
		d.Reset(rec)
		for i := range benchRow {
			n += int(d.Column(i).Kind())
		}
	}
	sink = n
}

func BenchmarkDecoderOneColumn(b *testing.B) {
	b.ReportAllocs()
	rec := record(benchRow...)
	var d Decoder
	n := 0
	for b.Loop() {
		d.Reset(rec)
		n += int(d.Column(1).Int())
	}
	sink = n
}

func BenchmarkDecoderColumnAgain(b *testing.B) {
	b.ReportAllocs()
	var d Decoder
	d.Reset(record(benchRow...))
	n := 0
	for b.Loop() {
		n += int(d.Column(5).Int())
	}
	sink = n
}

func BenchmarkRecordColumn(b *testing.B) {
	b.ReportAllocs()
	rec := record(benchRow...)
	n := 0
	for b.Loop() {
		n += int(rec.Column(5).Int())
	}
	sink = n
}

func BenchmarkValidate(b *testing.B) {
	b.ReportAllocs()
	rec := record(benchRow...)
	for b.Loop() {
		if err := rec.Validate(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRowSum(b *testing.B) {
	b.ReportAllocs()
	rec := record(benchRow...)
	ids := []uint32{1, 2, 3, 4, 5, 6, 7}
	var scratch []byte
	var s Sum
	for b.Loop() {
		s = s.Add(RowSum(7, 42, ids, rec, 0, &scratch))
	}
	sink = int(s[0])
}

func BenchmarkAppendKey(b *testing.B) {
	for _, x := range []struct {
		name string
		v    Value
		c    Collation
		desc bool
	}{
		{"int", IntValue(123456), Binary, false},
		{"int-desc", IntValue(123456), Binary, true},
		{"int-big", IntValue(1<<60 + 1), Binary, false},
		{"real", RealValue(49.47), Binary, false},
		{"text-19", TextValue("2024-05-17 10:00:00"), Binary, false},
		{"text-19-nocase", TextValue("2024-05-17 10:00:00"), NoCase, false},
		{"text-19-rtrim", TextValue("2024-05-17 10:00:00"), RTrim, false},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, 64)
			for b.Loop() {
				buf = AppendKey(buf[:0], x.v, x.c, x.desc)
			}
			sink = len(buf)
		})
	}
}

func BenchmarkCompare(b *testing.B) {
	for _, x := range []struct {
		name string
		a, b Value
		c    Collation
	}{
		{"int", IntValue(1), IntValue(2), Binary},
		{"int-real", IntValue(1), RealValue(1.5), Binary},
		{"text", TextValue("2024-05-17 10:00:00"), TextValue("2024-05-17 10:00:01"), Binary},
		{"text-nocase", TextValue("2024-05-17 10:00:00"), TextValue("2024-05-17 10:00:01"), NoCase},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n += Compare(x.a, x.b, x.c)
			}
			sink = n
		})
	}
}

func BenchmarkApply(b *testing.B) {
	for _, x := range []struct {
		name string
		a    Affinity
		v    Value
	}{
		{"int-to-INTEGER", AffInteger, IntValue(5)},
		{"text-to-TEXT", AffText, TextValue("abc")},
		{"real-to-REAL", AffReal, RealValue(1.5)},
		{"text-to-INTEGER", AffInteger, TextValue("123456")},
		{"word-to-NUMERIC", AffNumeric, TextValue("Harbour Lights")},
		{"text-to-REAL", AffReal, TextValue("49.47")},
		{"real-to-TEXT", AffText, RealValue(49.47)},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n += int(x.a.Apply(x.v).Kind())
			}
			sink = n
		})
	}
}

var sink int

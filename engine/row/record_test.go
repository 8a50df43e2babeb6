package row

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func record(vs ...Value) Record { return Record(AppendRecord(nil, vs)) }

func checkRecord(t *testing.T, vs []Value) {
	t.Helper()
	dst := []byte("before")
	full := AppendRecord(dst, vs)
	if string(full[:6]) != "before" {
		t.Fatal("AppendRecord changed what it appends to")
	}
	rec := Record(full[6:])
	if err := rec.Validate(); err != nil {
		t.Fatalf("%d columns: %v", len(vs), err)
	}
	if n, err := rec.Columns(); err != nil || n != len(vs) {
		t.Fatalf("%d columns, %v; want %d", n, err, len(vs))
	}
	var d Decoder
	d.Reset(rec)
	for i := len(vs) - 1; i >= 0; i -= 3 {
		if !identical(d.Column(i), vs[i]) {
			t.Fatalf("decoder, column %d: %s, want %s", i, show(d.Column(i)), show(vs[i]))
		}
	}
	for i, v := range vs {
		// Record.Column starts at the first column each time.
		if i < 300 || i > len(vs)-3 {
			if have := rec.Column(i); !identical(have, v) {
				t.Fatalf("column %d: %s, want %s", i, show(have), show(v))
			}
		}
		if have := d.Column(i); !identical(have, v) {
			t.Fatalf("decoder, column %d: %s, want %s", i, show(have), show(v))
		}
	}
	for _, i := range []int{len(vs), len(vs) + 1, len(vs) + 200, math.MaxInt32} {
		if !rec.Column(i).IsNull() || !d.Column(i).IsNull() {
			t.Fatalf("column %d of %d is not NULL", i, len(vs))
		}
	}
}

func TestRecordOfHardValues(t *testing.T) {
	all := hardValues()
	checkRecord(t, nil)
	for _, v := range all {
		checkRecord(t, []Value{v})
	}
	checkRecord(t, all)
}

// The header's length counts itself, so its own varint grows at odd places.
func TestRecordHeaderLengths(t *testing.T) {
	for _, n := range []int{1, 2, 125, 126, 127, 128, 129, 2000, 16380, 16381, 16382, 16383, 16384} {
		vs := make([]Value, n)
		vs[n-1] = IntValue(7)
		checkRecord(t, vs)
	}
	for _, n := range []int{0, 1, 56, 57, 58, 59, 1000, 8185, 8186, 8187, 1 << 20, 1<<20 + 1} {
		checkRecord(t, []Value{TextValue(strings.Repeat("x", n)), BlobValue(strings.Repeat("y", n)), IntValue(1)})
	}
}

func TestRecordRandom(t *testing.T) {
	r := newRand(t)
	var d Decoder
	for range 20_000 {
		vs := make([]Value, r.IntN(20))
		for i := range vs {
			vs[i] = randomValue(r)
		}
		rec := record(vs...)
		if err := rec.Validate(); err != nil {
			t.Fatal(err)
		}
		d.Reset(rec)
		for range 2 * len(vs) {
			if i := r.IntN(len(vs) + 1); i < len(vs) {
				if have := d.Column(i); !identical(have, vs[i]) {
					t.Fatalf("column %d: %s, want %s", i, show(have), show(vs[i]))
				}
			} else if !d.Column(i).IsNull() {
				t.Fatal("a column behind the last is not NULL")
			}
		}
	}
}

// Records are SQLite's, to the byte: they are found in a database file of it.
func TestRecordBytesAgainstSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec(t, db, "PRAGMA page_size = 65536")
	exec(t, db, "CREATE TABLE a (a, b, c)")
	exec(t, db, "BEGIN")
	r := newRand(t)
	var recs []Record
	add := func(vs ...Value) {
		exec(t, db, "INSERT INTO a VALUES (?, ?, ?)", toArg(vs[0]), toArg(vs[1]), toArg(vs[2]))
		recs = append(recs, record(vs...))
	}
	for _, i := range hardInts {
		add(IntValue(i), Value{}, IntValue(-i))
	}
	for range 500 {
		add(randomValue(r), randomValue(r), randomValue(r))
	}
	exec(t, db, "COMMIT")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		if !bytes.Contains(file, []byte(rec)) {
			t.Errorf("%x is not in the file", rec)
		}
	}
}

// The bytes are on disk, so they may not change.
func TestRecordBytes(t *testing.T) {
	for _, x := range []struct {
		want string
		vs   []Value
	}{
		{"01", nil},
		{"070008090107" + "17" + "7f" + "3ff8000000000000" + "68656c6c6f", []Value{{}, IntValue(0), IntValue(1), IntValue(127), RealValue(1.5), TextValue("hello")}},
		{"060203040506" + "0080" + "008000" + "00800000" + "000080000000" + "0000800000000000", []Value{IntValue(128), IntValue(1 << 15), IntValue(1 << 23), IntValue(1 << 31), IntValue(1 << 47)}},
		{"030110" + "ff" + "0001", []Value{IntValue(-1), BlobValue("\x00\x01")}},
	} {
		if have := hex.EncodeToString([]byte(record(x.vs...))); have != x.want {
			t.Errorf("%v: %s, want %s", x.vs, have, x.want)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	for name, b := range map[string]string{
		"empty":                  "",
		"header of nothing":      "\x00",
		"header too long":        "\x03\x00",
		"header varint cut":      "\x80",
		"long form of header":    "\x80\x02",
		"serial type cut":        "\x02\x80",
		"serial type 10":         "\x02\x0a",
		"serial type 11":         "\x02\x0b",
		"long form of serial":    "\x03\x80\x01\x05",
		"body missing":           "\x02\x01",
		"body short":             "\x02\x06\x00\x00",
		"text short":             "\x02\x13ab",
		"trailing byte":          "\x02\x00\x00",
		"0 with a body":          "\x02\x01\x00",
		"1 with a body":          "\x02\x01\x01",
		"small in two bytes":     "\x02\x02\x00\x05",
		"negative in two bytes":  "\x02\x02\xff\xff",
		"32 bits in six bytes":   "\x02\x05\x00\x00\x7f\xff\xff\xff",
		"NaN":                    "\x02\x07\x7f\xf8\x00\x00\x00\x00\x00\x01",
		"length beyond any body": "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"header beyond any":      "\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		if err := Record(b).Validate(); !errors.Is(err, ErrRecord) {
			t.Errorf("%s: %v", name, err)
		}
		checkProver(t, Record(b))
	}
}

// checkProver holds a Prover against the functions that it does the work of.
func checkProver(t *testing.T, rec Record) {
	t.Helper()
	ids := []uint32{1, 2, 3, 500, 5, 6, 7}
	for alias := -1; alias < 2; alias++ {
		for _, ids := range [][]uint32{ids, ids[:2], nil} {
			p := NewProver(7, ids, alias)
			for range 2 { // with a buffer and without
				some := Sum{math.MaxUint64, 5}
				sum := some
				columns, err := p.Prove(-42, []byte(rec), &sum)
				if n, err2 := p.Prove(-42, []byte(rec), nil); n != columns || fmt.Sprint(err) != fmt.Sprint(err2) {
					t.Fatalf("%x: %d columns, %v, without a sum %d, %v", rec, columns, err, n, err2)
				}
				if want := rec.Validate(); want != nil {
					if err == nil || err.Error() != want.Error() || sum != some {
						t.Fatalf("%x: %v, want %v", rec, err, want)
					}
					continue
				}
				n, _ := rec.Columns()
				if want := RowSum(7, -42, ids, rec, alias, nil); err != nil || sum != some.Add(want) || columns != n {
					t.Fatalf("%x: %d columns of sum %x, %v, want %d of %x", rec, columns, sum, err, n, want)
				}
			}
		}
	}
}

// A Prover finds in one pass what Validate and RowSum find, right and wrong.
func TestProver(t *testing.T) {
	r := newRand(t)
	for range 5000 {
		vs := make([]Value, r.IntN(9))
		for i := range vs {
			if vs[i] = randomValue(r); r.IntN(8) == 0 {
				vs[i] = TextValue(strings.Repeat("x", r.IntN(300)))
			}
		}
		rec := AppendRecord(nil, vs)
		checkProver(t, Record(rec))
		rec[r.IntN(len(rec))] ^= 1 << r.IntN(8)
		checkProver(t, Record(rec))
		checkProver(t, Record(rec[:r.IntN(len(rec)+1)]))
	}
	for _, v := range hardValues() {
		checkProver(t, record(v, v))
	}
	checkProver(t, record(hardValues()...))
	checkProver(t, record(make([]Value, 200)...))
	checkProver(t, record(TextValue(strings.Repeat("x", 10_000))))
}

// Whatever Validate accepts is exactly what AppendRecord writes.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(record(hardValues()[:40]...)))
	f.Add([]byte(record()))
	f.Add([]byte("\x02\x02\x00\x05"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rec := Record(b)
		n, err := rec.Columns()
		checkProver(t, rec)
		if rec.Validate() != nil {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		vs := make([]Value, n)
		var d Decoder
		d.Reset(rec)
		for i := n - 1; i >= 0; i-- {
			vs[i] = rec.Column(i)
			if !identical(vs[i], d.Column(i)) {
				t.Fatalf("column %d: %s and %s", i, show(vs[i]), show(d.Column(i)))
			}
		}
		if record(vs...) != rec {
			t.Fatalf("%x becomes %x", rec, record(vs...))
		}
		RowSum(1, 1, make([]uint32, n), rec, -1, nil)
	})
}

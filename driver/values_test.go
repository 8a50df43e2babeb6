package driver

import (
	"bytes"
	"database/sql"
	sqldriver "database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

type (
	myString string
	myBytes  []byte
	myUint   uint64
	celsius  float32
)

// uuid is as the libraries' own: bytes that are stored as their text.
type uuid [16]byte

func (u uuid) Value() (sqldriver.Value, error) { return fmt.Sprintf("%x-%x", u[:4], u[4:]), nil }

type valuer struct{ v any }

func (v valuer) Value() (sqldriver.Value, error) {
	if err, ok := v.v.(error); ok {
		return nil, err
	}
	return v.v, nil
}

func testClock(t *testing.T, format, zone string) clock {
	t.Helper()
	c, err := newClock(format, zone)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCheckNamedValue(t *testing.T) {
	c := testClock(t, "rfc3339", "UTC")
	seven := 7
	pointer := &seven
	at := time.Date(2024, 2, 29, 23, 59, 59, 120, time.FixedZone("x", 3600))
	id := uuid{0x12, 0x3e, 15: 0xff}
	for _, tc := range []struct{ in, want any }{
		{nil, nil},
		{true, int64(1)},
		{false, int64(0)},
		{7, int64(7)},
		{int8(-8), int64(-8)},
		{int16(-16), int64(-16)},
		{int32(-32), int64(-32)},
		{int64(math.MinInt64), int64(math.MinInt64)},
		{uint(7), int64(7)},
		{uint8(255), int64(255)},
		{uint16(65535), int64(65535)},
		{uint32(math.MaxUint32), int64(math.MaxUint32)},
		{uint64(math.MaxInt64), int64(math.MaxInt64)},
		{float32(1.5), 1.5},
		{2.5, 2.5},
		{celsius(0.5), 0.5},
		{"", ""},
		{"a\x00b", "a\x00b"},
		{myString("s"), "s"},
		{[]byte("x"), []byte("x")},
		{[]byte{}, []byte{}},
		{[]byte(nil), nil},
		{myBytes("x"), []byte("x")},
		{myBytes(nil), nil},
		{sql.RawBytes("x"), []byte("x")},
		{&seven, int64(7)},
		{&pointer, int64(7)},
		{(*int)(nil), nil},
		{(*string)(nil), nil},
		{time.Minute, int64(time.Minute)},
		{at, "2024-02-29T22:59:59.000000120Z"},
		{&at, "2024-02-29T22:59:59.000000120Z"},
		{(*time.Time)(nil), nil},
		{sql.NullTime{Time: at, Valid: true}, "2024-02-29T22:59:59.000000120Z"},
		{sql.NullTime{}, nil},
		{sql.NullString{String: "s", Valid: true}, "s"},
		{sql.Null[uint32]{V: 9, Valid: true}, int64(9)},
		{json.RawMessage(`{"a":1}`), `{"a":1}`},
		{json.RawMessage(nil), nil},
		{json.Number("12"), "12"},
		{id, "123e0000-0000000000000000000000ff"},
		{&id, "123e0000-0000000000000000000000ff"},
		{(*uuid)(nil), nil},
		{valuer{nil}, nil},
		{valuer{valuer{true}}, int64(1)},
		{(*valuer)(nil), nil},
		{big.NewInt(12), "12"},
		{netip.MustParseAddr("::1"), "::1"},
	} {
		nv := sqldriver.NamedValue{Ordinal: 1, Value: tc.in}
		if err := c.checkNamedValue(&nv); err != nil {
			t.Errorf("%T(%v): %v", tc.in, tc.in, err)
		} else if !reflect.DeepEqual(nv.Value, tc.want) {
			t.Errorf("%T(%v) is %T(%v), want %T(%v)", tc.in, tc.in, nv.Value, nv.Value, tc.want, tc.want)
		}
	}
}

func TestCheckNamedValueRefuses(t *testing.T) {
	c := testClock(t, "unix_nano", "UTC")
	cause := errors.New("no value")
	for _, tc := range []struct {
		name  string
		in    any
		words []string
	}{
		{"", uint64(math.MaxInt64) + 1, []string{"?3", "9223372036854775808", "9223372036854775807"}},
		{"total", myUint(math.MaxUint64), []string{":total", "18446744073709551615"}},
		{"who", struct{ A int }{1}, []string{":who", "struct"}},
		{"", make(chan int), []string{"?3", "chan int"}},
		{"", []int{1}, []string{"?3", "[]int"}},
		{"when", time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC), []string{":when", "3000", "2262"}},
		{"v", valuer{cause}, []string{":v", "no value"}},
		{"v", valuer{uint64(math.MaxUint64)}, []string{":v", "18446744073709551615"}},
	} {
		nv := sqldriver.NamedValue{Ordinal: 3, Name: tc.name, Value: tc.in}
		err := c.checkNamedValue(&nv)
		if !errors.Is(err, ErrMismatch) {
			t.Errorf("%T: %v is not ErrMismatch", tc.in, err)
			continue
		}
		for _, w := range tc.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%T: %q does not name %q", tc.in, err, w)
			}
		}
	}
	nv := sqldriver.NamedValue{Ordinal: 1, Value: valuer{cause}}
	if err := c.checkNamedValue(&nv); !errors.Is(err, cause) {
		t.Errorf("the Valuer's own error is lost: %v", err)
	}
}

// An argument that is bytes already is not copied: SQLite is given a copy when
// it is bound.
func TestCheckNamedValueKeepsBytes(t *testing.T) {
	c := testClock(t, "rfc3339", "UTC")
	in := bytes.Repeat([]byte{1}, 100)
	nv := sqldriver.NamedValue{Ordinal: 1, Value: in}
	if err := c.checkNamedValue(&nv); err != nil || &nv.Value.([]byte)[0] != &in[0] {
		t.Errorf("the slice was copied, %v", err)
	}
}

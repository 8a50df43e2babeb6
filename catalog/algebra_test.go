package catalog

import (
	"bytes"
	"encoding/hex"
	"testing"
)

func TestAddSums(t *testing.T) {
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, v := range []struct{ a, b, sum string }{
		{"00000000000000000000000000000000", "00000000000000000000000000000000", "00000000000000000000000000000000"},
		{"01000000000000000000000000000000", "02000000000000000000000000000000", "03000000000000000000000000000000"},
		{"ff000000000000000000000000000000", "01000000000000000000000000000000", "00010000000000000000000000000000"},
		// the carry from the low half into the high one
		{"ffffffffffffffff0000000000000000", "01000000000000000000000000000000", "00000000000000000100000000000000"},
		// around
		{"ffffffffffffffffffffffffffffffff", "01000000000000000000000000000000", "00000000000000000000000000000000"},
		{"00000000000000000000000000000080", "00000000000000000000000000000080", "00000000000000000000000000000000"},
		{"0123456789abcdeffedcba9876543210", "efcdab8967452301102132435465769b", "f0f0f0f0f0f0f0f00efeecdbcab9a8ab"},
	} {
		for _, pair := range [][2]string{{v.a, v.b}, {v.b, v.a}} {
			a, b := unhex(pair[0]), unhex(pair[1])
			got, err := addSums(a, b)
			if err != nil || !bytes.Equal(got, unhex(v.sum)) {
				t.Errorf("%s + %s = %x, %v; want %s", pair[0], pair[1], got, err, v.sum)
			}
			if hex.EncodeToString(a) != pair[0] || hex.EncodeToString(b) != pair[1] {
				t.Error("an operand changed")
			}
		}
	}
	for _, bad := range [][]byte{nil, make([]byte, 15), make([]byte, 17)} {
		_, err := addSums(bad, emptySum)
		wantCode(t, wrap("add", err), CodeEncoding)
		_, err = addSums(emptySum, bad)
		wantCode(t, wrap("add", err), CodeEncoding)
	}
}

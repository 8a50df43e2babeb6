package row

import (
	"math"
	"strings"
)

// Kind is the storage class of a value. The order of the constants is the
// order of SQLite's comparison across classes (integers and reals compare
// with each other by number).
type Kind uint8

// The five storage classes.
const (
	Null Kind = iota
	Int
	Real
	Text
	Blob
)

// Value is one SQLite value. The zero Value is NULL.
// Text and blob bytes are a string, so that a Value may borrow from a record
// without a copy; whoever keeps one longer than the memory it borrows from
// must call Clone.
type Value struct {
	kind Kind
	n    uint64 // the integer, or the bits of the real
	s    string // bytes of a text or blob
}

// IntValue returns an INTEGER.
func IntValue(i int64) Value { return Value{kind: Int, n: uint64(i)} }

// RealValue returns a REAL; a NaN is NULL, as in SQLite.
func RealValue(f float64) Value {
	if f != f {
		return Value{}
	}
	return Value{kind: Real, n: math.Float64bits(f)}
}

// TextValue returns a TEXT of the bytes of s (NULs included).
func TextValue(s string) Value { return Value{kind: Text, s: s} }

// BlobValue returns a BLOB of the bytes of s.
func BlobValue(s string) Value { return Value{kind: Blob, s: s} }

// Kind returns the storage class.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is NULL.
func (v Value) IsNull() bool { return v.kind == Null }

// Int returns the integer of an INTEGER.
func (v Value) Int() int64 { return int64(v.n) }

// Real returns the number of a REAL.
func (v Value) Real() float64 { return math.Float64frombits(v.n) }

// Bytes returns the bytes of a TEXT or BLOB, which the caller must not keep
// longer than what they are borrowed from.
func (v Value) Bytes() string { return v.s }

// Clone returns v with bytes of its own.
func (v Value) Clone() Value {
	v.s = strings.Clone(v.s)
	return v
}

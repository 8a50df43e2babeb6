package vtab

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// Mem is SQLite's own representation of a value: a sqlite3_value, and a column of
// a result row.
const (
	memKind = lib.MEM_Null | lib.MEM_Str | lib.MEM_Int | lib.MEM_Real | lib.MEM_Blob | lib.MEM_IntReal
	memMark = lib.MEM_Null | lib.MEM_Zero // a value without a result: "no change"

	memSize = unsafe.Sizeof(lib.TMem{})
)

// valueAt reads a sqlite3_value. Texts and blobs are borrowed: they change with
// the next use of the value on the C side. The plain cases are read straight
// from SQLite's structure, which saves three calls a value; everything else
// (UTF-16, zeroblob, several representations at once) goes through the API.
func valueAt(tls *libc.TLS, p uintptr) row.Value {
	m := (*lib.TMem)(unsafe.Pointer(p))
	switch m.Fflags & (memKind | lib.MEM_Zero) {
	case lib.MEM_Null:
		return row.Value{}
	case lib.MEM_Int:
		return row.IntValue(*(*int64)(unsafe.Pointer(&m.Fu)))
	case lib.MEM_Real:
		return row.RealValue(*(*float64)(unsafe.Pointer(&m.Fu)))
	case lib.MEM_Str:
		if m.Fenc == lib.SQLITE_UTF8 {
			return row.TextValue(borrow(m.Fz, int(m.Fn)))
		}
	case lib.MEM_Blob:
		return row.BlobValue(borrow(m.Fz, int(m.Fn)))
	}
	return valueByAPI(tls, p)
}

func valueByAPI(tls *libc.TLS, p uintptr) row.Value {
	switch lib.Xsqlite3_value_type(tls, p) {
	case lib.SQLITE_INTEGER:
		return row.IntValue(int64(lib.Xsqlite3_value_int64(tls, p)))
	case lib.SQLITE_FLOAT:
		return row.RealValue(lib.Xsqlite3_value_double(tls, p))
	case lib.SQLITE_TEXT:
		z := lib.Xsqlite3_value_text(tls, p) // before the length: it may convert
		return row.TextValue(borrow(z, int(lib.Xsqlite3_value_bytes(tls, p))))
	case lib.SQLITE_BLOB:
		z := lib.Xsqlite3_value_blob(tls, p)
		return row.BlobValue(borrow(z, int(lib.Xsqlite3_value_bytes(tls, p))))
	}
	return row.Value{}
}

// setResult hands v to the C side as the result of a column or function.
func (c *Conn) setResult(tls *libc.TLS, ctx uintptr, v row.Value) {
	switch v.Kind() {
	case row.Int:
		if m := resultAt(ctx); m.Fflags&(lib.MEM_Dyn|lib.MEM_Agg) == 0 {
			*(*int64)(unsafe.Pointer(&m.Fu)), m.Fflags = v.Int(), lib.MEM_Int
			return
		}
		lib.Xsqlite3_result_int64(tls, ctx, lib.Ti64(v.Int()))
	case row.Real:
		if m := resultAt(ctx); m.Fflags&(lib.MEM_Dyn|lib.MEM_Agg) == 0 && v.Real() == v.Real() { // NaN is NULL
			*(*float64)(unsafe.Pointer(&m.Fu)), m.Fflags = v.Real(), lib.MEM_Real
			return
		}
		lib.Xsqlite3_result_double(tls, ctx, v.Real())
	case row.Text:
		if s := v.Bytes(); !fillResult(ctx, s, lib.MEM_Str|lib.MEM_Term) {
			p, del := c.lend(s)
			lib.Xsqlite3_result_text64(tls, ctx, p, lib.Tsqlite3_uint64(len(s)), del, lib.SQLITE_UTF8)
		}
	case row.Blob:
		if s := v.Bytes(); !fillResult(ctx, s, lib.MEM_Blob) {
			p, del := c.lend(s)
			lib.Xsqlite3_result_blob64(tls, ctx, p, lib.Tsqlite3_uint64(len(s)), del)
		}
	default:
		lib.Xsqlite3_result_null(tls, ctx)
	}
}

// resultAt returns the register that takes a result.
func resultAt(ctx uintptr) *lib.TMem {
	return (*lib.TMem)(unsafe.Pointer((*lib.Tsqlite3_context)(unsafe.Pointer(ctx)).FpOut))
}

// fillResult copies a text or blob into the memory the result's register has
// from an earlier row: what sqlite3_result_text does with SQLITE_TRANSIENT in
// the end. It reports false when there is too little of it, or anything else
// is unusual.
func fillResult(ctx uintptr, s string, flags uint16) bool {
	cx := (*lib.Tsqlite3_context)(unsafe.Pointer(ctx))
	m := resultAt(ctx)
	if len(s) >= int(m.FszMalloc) || m.Fflags&(lib.MEM_Dyn|lib.MEM_Agg) != 0 || cx.Fenc != lib.SQLITE_UTF8 || len(s) > maxLent {
		return false
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(m.FzMalloc)), len(s)+1)
	copy(b, s)
	b[len(s)] = 0
	m.Fz, m.Fn, m.Fflags, m.Fenc = m.FzMalloc, int32(len(s)), flags, lib.SQLITE_UTF8
	return true
}

// maxLent is the size of the memory a connection keeps for lend.
const maxLent = 4096

// lend copies s to the C side for a call that takes text or a blob, and returns
// the destructor to pass along. What SQLite is given must not be Go memory: the
// checks of pointers that the race detector turns on forbid it in the
// transpiled code, and bytes on a stack could move.
func (c *Conn) lend(s string) (p, destructor uintptr) {
	if len(s) <= maxLent { // SQLite copies it; the copy's memory is used again
		copy(unsafe.Slice((*byte)(unsafe.Pointer(c.lent)), maxLent), s)
		return c.lent, transient
	}
	p = lib.Xsqlite3_malloc64(c.tls, lib.Tsqlite3_uint64(len(s)))
	if p == 0 {
		panic(errOutOfMemory)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(p)), len(s)), s)
	return p, freeFunc
}

const transient = ^uintptr(0) // SQLITE_TRANSIENT

var freeFunc = funcPointer(lib.Xsqlite3_free)

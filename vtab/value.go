package vtab

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// Bits of Mem.flags, SQLite's own representation of a value. They are the same
// for sqlite3_value and for a column of a result row.
const (
	memNull    = 0x0001
	memStr     = 0x0002
	memInt     = 0x0004
	memReal    = 0x0008
	memBlob    = 0x0010
	memIntReal = 0x0020
	memZero    = 0x0400
	memKind    = memNull | memStr | memInt | memReal | memBlob | memIntReal

	memSize = unsafe.Sizeof(lib.TMem{})
)

// valueAt reads a sqlite3_value. Texts and blobs are borrowed: they change with
// the next use of the value on the C side. The plain cases are read straight
// from SQLite's structure, which saves three calls a value; everything else
// (UTF-16, zeroblob, several representations at once) goes through the API.
func valueAt(tls *libc.TLS, p uintptr) row.Value {
	m := (*lib.TMem)(unsafe.Pointer(p))
	switch m.Fflags & (memKind | memZero) {
	case memNull:
		return row.Value{}
	case memInt:
		return row.IntValue(*(*int64)(unsafe.Pointer(&m.Fu)))
	case memReal:
		return row.RealValue(*(*float64)(unsafe.Pointer(&m.Fu)))
	case memStr:
		if m.Fenc == lib.SQLITE_UTF8 {
			return row.TextValue(borrow(m.Fz, int(m.Fn)))
		}
	case memBlob:
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

// emptyBytes stands for the address of a text or blob of length 0, which must
// not be a null pointer (that would be NULL).
var emptyBytes = [1]byte{}

func bytesPointer(s string) uintptr {
	if len(s) == 0 {
		return uintptr(unsafe.Pointer(&emptyBytes))
	}
	return uintptr(unsafe.Pointer(unsafe.StringData(s)))
}

// setResult hands v to the C side as the result of a column or function.
// SQLite copies texts and blobs before this returns: it may keep a result
// longer than the row it came from lives.
// The bytes of v must not be on a goroutine's stack, which can move; records
// and what is reachable from a Conn are not.
func setResult(tls *libc.TLS, ctx uintptr, v row.Value) {
	switch v.Kind() {
	case row.Int:
		lib.Xsqlite3_result_int64(tls, ctx, lib.Ti64(v.Int()))
	case row.Real:
		lib.Xsqlite3_result_double(tls, ctx, v.Real())
	case row.Text:
		s := v.Bytes()
		lib.Xsqlite3_result_text64(tls, ctx, bytesPointer(s), lib.Tsqlite3_uint64(len(s)), lib.SQLITE_TRANSIENT, lib.SQLITE_UTF8)
	case row.Blob:
		s := v.Bytes()
		lib.Xsqlite3_result_blob64(tls, ctx, bytesPointer(s), lib.Tsqlite3_uint64(len(s)), lib.SQLITE_TRANSIENT)
	default:
		lib.Xsqlite3_result_null(tls, ctx)
	}
}

package vtab

import (
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"
)

// funcPointer returns what the transpiled C takes for the address of a
// function. f must be a package-level function: the pointer to a closure's
// environment would be invisible to the collector.
func funcPointer[T any](f T) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// cString copies s, NUL-terminated, into memory of the C side; release it
// with freeC.
func cString(tls *libc.TLS, s string) uintptr {
	p := libc.Xmalloc(tls, types.Size_t(len(s)+1))
	if p == 0 {
		panic(errOutOfMemory)
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(p)), len(s)+1)
	copy(b, s)
	b[len(s)] = 0
	return p
}

func freeC(tls *libc.TLS, p uintptr) { libc.Xfree(tls, p) }

// goString copies a NUL-terminated string of the C side; 0 gives "".
func goString(p uintptr) string {
	if p == 0 {
		return ""
	}
	return libc.GoString(p)
}

// borrow views n bytes of the C side as a string without a copy.
func borrow(p uintptr, n int) string {
	if p == 0 || n <= 0 {
		return ""
	}
	return unsafe.String((*byte)(unsafe.Pointer(p)), n)
}

// sqliteString copies s into memory that SQLite frees itself (sqlite3_malloc),
// as it demands for the texts of virtual tables' errors. It is 0 when there is
// no memory.
func sqliteString(tls *libc.TLS, s string) uintptr {
	p := lib.Xsqlite3_malloc64(tls, lib.Tsqlite3_uint64(len(s)+1))
	if p == 0 {
		return 0
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(p)), len(s)+1)
	copy(b, s)
	b[len(s)] = 0
	return p
}

// pointers views a C array of n pointers.
func pointers(p uintptr, n int32) []uintptr {
	if n <= 0 {
		return nil
	}
	return unsafe.Slice((*uintptr)(unsafe.Pointer(p)), n)
}

// storePointer writes v where the C side asked for a result pointer.
func storePointer(at, v uintptr) { *(*uintptr)(unsafe.Pointer(at)) = v }

func loadPointer(at uintptr) uintptr { return *(*uintptr)(unsafe.Pointer(at)) }

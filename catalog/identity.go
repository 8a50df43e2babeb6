package catalog

import (
	"crypto/rand"
	"fmt"
)

// MaxID is the largest identity and the largest counter: 2^62-1.
const MaxID = 1<<62 - 1

// ObjectPath is the path of an object below the store directory: a pure
// function of id and kind, so that the catalog can name no other file.
func ObjectPath(id int64, kind string) string {
	h := fmt.Sprintf("%016x", uint64(id))
	return "objects/" + h[14:16] + "/" + h[12:14] + "/" + h + "." + kind
}

// ObjectPath is the function of the same name.
func (c *Catalog) ObjectPath(id int64, kind string) string { return ObjectPath(id, kind) }

// Kinds of objects.
const (
	KindKV    = "kv"    // log generations and base fragments
	KindIndex = "index" // index segments
)

// Counter converts an unsigned counter of the engine; it refuses what the
// catalog cannot hold instead of wrapping around.
func Counter(name string, v uint64) (int64, error) {
	if v > MaxID {
		return 0, refuse(CodeRange, name, "%d is above 2^62-1", v)
	}
	return int64(v), nil
}

// checkID refuses what no allocator hands out.
func checkID(name string, v int64) error {
	if v < 1 || v > MaxID {
		return refuse(CodeRange, "", "%s %d is outside 1..2^62-1", name, v)
	}
	return nil
}

// checkCounter refuses what a counter column cannot hold.
func checkCounter(name string, v int64) error {
	if v < 0 || v > MaxID {
		return refuse(CodeRange, "", "%s %d is outside 0..2^62-1", name, v)
	}
	return nil
}

// randomID makes a catalog identity or an attempt id.
func randomID() (id [16]byte) {
	// crypto/rand does not fail: it ends the process rather than return weak bytes.
	rand.Read(id[:])
	return id
}

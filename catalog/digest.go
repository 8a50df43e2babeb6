package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// SQLite pages carry no checksum, so the rows that recovery depends on do. The
// digest of a row is SHA-256 over a name of its kind, the catalog's identity
// and every column, each length-prefixed; NULL has a length of its own.
type digester struct{ h hash.Hash }

func newDigest(kind string, identity [16]byte) digester {
	d := digester{h: sha256.New()}
	d.bytes([]byte("tidemark/" + kind + "/1"))
	d.bytes(identity[:])
	return d
}

func (d digester) bytes(b []byte) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(b)))
	d.h.Write(n[:])
	d.h.Write(b)
}

func (d digester) text(s string) { d.bytes([]byte(s)) }

func (d digester) int(v int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(v))
	d.bytes(b[:])
}

// null stands for a missing value; no value has this length.
func (d digester) null() {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], ^uint64(0))
	d.h.Write(n[:])
}

func (d digester) optional(v *int64) {
	if v == nil {
		d.null()
		return
	}
	d.int(*v)
}

func (d digester) sum() (out [32]byte) {
	d.h.Sum(out[:0])
	return out
}

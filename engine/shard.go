package engine

import (
	"encoding/binary"

	"github.com/tidemarkdb/tidemark/engine/wal"
	"github.com/zeebo/xxh3"
)

// MaxShards is the largest number of shards a store can have.
const MaxShards = 64

// shard is one of the logs of a store: a sequence of generations. How many
// there are is fixed when the store is made.
//
// A row belongs to the shard that shardOf names, a schema change to the first
// one. A transaction writes its frames to the logs of all shards it touches,
// and to each of them a commit of the same LSN that names all of them. LSNs
// are dense over all shards together; in one shard they ascend.
type shard struct {
	id      uint64 // in the catalog and in commits
	ordinal int    // position in Store.shards
	epoch   uint64 // of this process

	// The write end, guarded by the write lock.
	gen     *generation // the active one
	builder wal.Builder // keeps its memory from one transaction to the next
	touched bool        // by the transaction that is being prepared
	commit  wal.Commit  // its commit in this shard

	// Guarded by Store.mu.
	ready  []*generation // made, not yet in use, in order
	newest uint64        // number of the last generation there is
}

// shardOf returns the ordinal of the shard of a row in a store of n shards:
// xxh3-64 of table id and row id, each as 8 bytes, little endian, modulo n
// (for a power of two these are the low bits). It is on disk: it never
// changes.
func shardOf(table TableID, rowid int64, n int) int {
	if n == 1 {
		return 0
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(table))
	binary.LittleEndian.PutUint64(b[8:], uint64(rowid))
	return int(xxh3.Hash(b[:]) % uint64(n))
}

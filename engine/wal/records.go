package wal

import "github.com/tidemarkdb/tidemark/engine/row"

// Format is the newest format of a generation that this package reads and the
// one it writes.
const Format = 1

// Header is the first frame of a file.
//
//	u32 "TMKV"  u32 format  16 bytes store  u64 shard  u64 generation
//	u64 object  u64 writer epoch  8 bytes salt  u64 first LSN
type Header struct {
	Format      uint32
	StoreID     [16]byte
	ShardID     uint64
	Generation  uint64
	ObjectID    uint64
	WriterEpoch uint64
	Salt        Salt
	FirstLSN    uint64 // of the first commit that may lie in the file
}

// Schema is a change of the schema. Its body belongs to the engine.
//
//	u8 op  body
type Schema struct {
	Op   uint8
	Body string
}

// Put is a whole row, new or changed.
//
//	uvarint table  uvarint version  varint row id  record
type Put struct {
	Table   uint64
	Version uint64 // of the table's definition
	Rowid   int64
	Rec     row.Record
}

// Delta is some columns of a row whose other columns are at Prev.
//
//	uvarint table  uvarint version  varint row id  uvarint previous offset
//	uvarint count  uvarint ordinal each, rising  record of the values
type Delta struct {
	Table   uint64
	Version uint64
	Rowid   int64
	Prev    uint64 // offset of the row's previous record in this file
	Columns []DeltaColumn
}

// DeltaColumn is one changed column.
type DeltaColumn struct {
	Ordinal uint32
	Value   row.Value
}

// Tombstone is the end of a row.
//
//	uvarint table  uvarint version  varint row id
type Tombstone struct {
	Table   uint64
	Version uint64
	Rowid   int64
}

// Commit ends a transaction in this file.
//
//	u64 mark  u64 LSN  i64 wall clock  u64 synced LSN
//	uvarint records
//	uvarint count, then per participant: uvarint shard  u64 end
//	uvarint count, then per contribution: uvarint table  varint rows  u64 u64 sum
//	uvarint length  operation id  uvarint length  request
//
// The mark is salt xor offset of the frame (see FindCommits). Ends have a
// fixed width because they depend on the length of the frame itself.
type Commit struct {
	LSN           uint64
	WallNanos     int64
	SyncedLSN     uint64 // every commit up to it was synced when this one was written
	Records       uint64 // schema, put, delta and tombstone frames of the transaction in this file
	Participants  []Participant
	Contributions []Contribution
	OperationID   []byte // up to 64 bytes; nil for none
	Request       []byte // the operation's exact request
}

// Participant is a shard that holds a part of the transaction, and the offset
// behind the transaction's commit frame in that shard's file.
type Participant struct {
	Shard uint64
	End   uint64
}

// Contribution is what a transaction changes of a table's live rows.
type Contribution struct {
	Table uint64
	Rows  int64 // rows added less rows removed
	Sum   row.Sum
}

// CloseMark says that every commit up to LSN is synced. A clean close leaves
// it.
//
//	u64 mark (as in Commit)  u64 LSN  i64 wall clock
type CloseMark struct {
	LSN       uint64
	WallNanos int64
}

// Seal is the footer of a file that nothing is appended to any more.
//
//	u64 last LSN  32 bytes digest
//	uvarint count, then per table: uvarint table  uvarint records
//	uvarint count, then contributions as in Commit
type Seal struct {
	Records       []TableRecords
	LastLSN       uint64
	Contributions []Contribution
	Digest        [32]byte // SHA-256 of all bytes before the footer's frame
}

// TableRecords counts the put, delta and tombstone frames of a table.
type TableRecords struct {
	Table uint64
	Count uint64
}

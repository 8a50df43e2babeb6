package catalog

import "github.com/RoaringBitmap/roaring/v2/roaring64"

// IndexState is the bookkeeping of all indexes of a representation: which segments
// an index is made of, up to which generation each shard's log is compacted, and
// up to which of these an index has caught up. It is immutable; a publication that
// changes nothing of it goes on with the same one.
type IndexState struct {
	ID             int64
	ReaderFeatures int64
	WriterFeatures int64

	Segments  []Segment         // by index, then in the order of their publication
	Compacted []ShardGeneration // by shard; a shard without one has nothing compacted
	CaughtUp  []IndexPosition   // by index, then shard; a missing one is not caught up
}

// Segment is an index object of an index state.
type Segment struct {
	ObjectID int64
	Path     string // below the store directory, with forward slashes
	Attempt  [16]byte
	IndexRef
	Fragments *roaring64.Bitmap // that it stands for: those of its seal, or fewer
	Entries   int64             // in the file
	Extent    int64             // bytes
	ContentID [32]byte
	Digest    [32]byte // the footer's
}

// IndexRef names an index of a table. The primary index of a table has the table's
// id; ids of tables and indexes are of one allocator and never equal.
type IndexRef struct{ IndexID, TableID int64 }

// IndexPosition says that an index holds what generations of a shard had of its
// table up to one.
type IndexPosition struct{ IndexID, ShardID, Generation int64 }

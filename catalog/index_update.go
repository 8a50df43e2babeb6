package catalog

import "github.com/RoaringBitmap/roaring/v2/roaring64"

// IndexUpdate is what a publication changes of the indexes of a head: the same
// world, the same base, other segments. Positions follow from it (package
// catalog/catchup); with Retire, generations that nothing needs any more are left
// out of the new head.
type IndexUpdate struct {
	// ReadRepresentation is what the job read, 0 for the expected head. What the
	// segments prove is proven of that one. The job retains it meanwhile
	// ([Catalog.RetainForJob]); of one that is gone, nothing is proven.
	ReadRepresentation int64
	// Indexes are those that change; the others keep their segments.
	Indexes []IndexSegments
	// Relied is every index that queries may rely on now, primary ones included. The
	// others leave the state.
	Relied []IndexRef
	// Retire leaves out the generations that are compacted, that every index of Relied
	// has caught up with whose table has records in them, and that are not in Held.
	Retire bool
	// Held are objects that current roots still read rows from.
	Held []int64
}

// IndexSegments is the whole list of an index's segments, in order.
type IndexSegments struct {
	IndexRef
	Segments []SegmentRef
}

// SegmentRef is a segment and the fragments that it is to stand for: those of its
// seal, or fewer.
type SegmentRef struct {
	ObjectID  int64
	Fragments *roaring64.Bitmap
}

package catalog

import (
	"context"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// SegmentSeal describes an index segment whose file is complete, synced and named.
type SegmentSeal struct {
	ObjectID  int64
	ContentID [32]byte // SHA-256 over kind, policy, extent and all bytes up to extent
	Digest    [32]byte // the footer's
	Extent    int64    // bytes
	IndexRef
	Fragments *roaring64.Bitmap // ids of the fragments of the table that it covers
	Entries   int64
}

// ReserveSegment commits the identity of an index object that a running job will
// write, before its file exists. The job's owner roots it (purpose output) until the
// job ends, as with [Catalog.ReserveObject].
func (c *Catalog) ReserveSegment(ctx context.Context, jobID int64) (Reservation, error) {
	return c.reserveOutput(ctx, "reserve-segment", jobID, KindIndex)
}

// SealSegment records, in one transaction, that both barriers of the file completed
// (receipt), that the object is sealed, and what it covers. The caller has synced the
// file and its directory. Sealing again with the same values changes nothing; with
// others it is refused.
func (c *Catalog) SealSegment(ctx context.Context, s SegmentSeal) error {
	return refuse(CodeState, "seal-segment", "segments cannot be sealed yet")
}

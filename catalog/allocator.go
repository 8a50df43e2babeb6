package catalog

import (
	"context"
)

// idBlock is how many ids one catalog transaction reserves ahead. Ids left over
// at close are never handed out; there are 2^62 of them.
const idBlock = 1024

// allocation is the block of reserved ids not handed out yet: [next, end).
type allocation struct{ next, end int64 }

// take returns n consecutive ids when the block still has them.
func (a *allocation) take(n int64) (int64, bool) {
	if a.end-a.next < n {
		return 0, false
	}
	first := a.next
	a.next += n
	return first, true
}

// newIDs takes n consecutive ids inside a transaction; when the block is used
// up the same transaction reserves the next one. The working copy becomes the
// catalog's when the transaction commits, so nothing unreserved is ever used.
// A run of a block or more is reserved by itself and leaves the block alone.
func (w *writeTx) newIDs(ctx context.Context, n int64) (int64, error) {
	if n < 1 || n > MaxID-idBlock {
		return 0, refuse(CodeRange, "", "cannot reserve %d ids", n)
	}
	if first, ok := w.ids.take(n); ok {
		return first, nil
	}
	want := max(n, idBlock)
	var free bool
	if err := w.GetContext(ctx, &free, `SELECT next_id <= ? - ? FROM catalog_info`, int64(MaxID), want); err != nil {
		return 0, err
	}
	if !free {
		return 0, refuse(CodeRange, "", "the id space is used up")
	}
	var end int64
	if err := w.GetContext(ctx, &end, `UPDATE catalog_info SET next_id = next_id + ? RETURNING next_id`, want); err != nil {
		return 0, err
	}
	if n >= idBlock {
		return end - n, nil
	}
	w.ids = allocation{next: end - want, end: end}
	first, _ := w.ids.take(n)
	return first, nil
}

// newID takes one id.
func (w *writeTx) newID(ctx context.Context) (int64, error) { return w.newIDs(ctx, 1) }

// newIncarnation takes the next incarnation, a number that counts objects.
func (w *writeTx) newIncarnation(ctx context.Context) (int64, error) {
	var next int64
	err := w.GetContext(ctx, &next, `UPDATE catalog_info SET next_incarnation = next_incarnation + 1 RETURNING next_incarnation`)
	return next - 1, err
}

// ReserveIDs reserves n consecutive ids and returns the first. They are the
// caller's for ever, used or not. Most calls are served from the block that is
// reserved already and touch no file.
func (c *Catalog) ReserveIDs(ctx context.Context, n int64) (first int64, err error) {
	const op = "reserve-ids"
	unlock, err := c.lock(ctx, op)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if n >= 1 {
		if first, ok := c.ids.take(n); ok {
			return first, nil
		}
	}
	err = c.writeLocked(ctx, op, func(ctx context.Context, tx *writeTx) error {
		first, err = tx.newIDs(ctx, n)
		return err
	})
	if err != nil {
		return 0, err
	}
	return first, nil
}

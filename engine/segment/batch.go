package segment

import "errors"

// Batch is some entries of a secondary index that follow each other. What is cut from it
// is valid until the merge goes on.
type Batch struct {
	keys  []byte
	parts []secondaryPart
}

// batchEntries is how many entries of several segments a batch has at most.
const batchEntries = 512

// Len returns the number of entries.
func (b *Batch) Len() int { return len(b.parts) }

// Key returns the key of an entry.
func (b *Batch) Key(i int) []byte {
	x := &b.parts[i]
	return b.keys[x.from:x.end]
}

// Null returns the flag of an entry.
func (b *Batch) Null(i int) bool { return b.parts[i].null }

// NextBatch goes to the entries of a secondary index that follow those of the batch
// before, one at least; false at the end and after an error. It takes the place of Next.
// The entries of a single segment are those of a block as it is decoded.
func (m *Merge) NextBatch() bool {
	m.batch.parts, m.batch.keys = m.batch.parts[:0], m.batch.keys[:0]
	if m.kind == Primary && m.err == nil {
		m.err = errors.New("segment: batches of a primary index")
	}
	if len(m.heap) == 1 && !m.several && !m.begun && m.err == nil && m.rg == (Range{}) {
		return m.nextBlock(m.heap[0])
	}
	for len(m.batch.parts) < batchEntries && len(m.batch.keys) < BlockKeys && m.Next() {
		e, from := &m.heap[0].e, uint32(len(m.batch.keys))
		m.batch.keys = append(m.batch.keys, e.Key...)
		m.batch.parts = append(m.batch.parts, secondaryPart{from: from, end: uint32(len(m.batch.keys)), null: e.Null})
	}
	return len(m.batch.parts) > 0
}

// Batch returns the entries that NextBatch went to.
func (m *Merge) Batch() *Batch { return &m.batch }

// nextBlock is NextBatch for the live entries of a source that is alone: blocks are in
// order, and so is what is in them.
func (m *Merge) nextBlock(x *mergeSource) bool {
	for x.s.nextBlock() {
		k := &x.s.b
		if m.live != nil {
			fragments, live := x.r.header.Fragments, k.entries[:0]
			for _, e := range k.entries {
				if m.live(fragments[e.Fragment], e.Ordinal) {
					live = append(live, e)
				}
			}
			m.skipped += int64(len(k.entries) - len(live))
			k.entries = live
		}
		if len(k.entries) > 0 {
			m.batch = Batch{k.keys, k.entries}
			return true
		}
	}
	m.err = x.s.err
	return false
}

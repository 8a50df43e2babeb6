package tree

// RowLoader makes the tree of rows that come in the order of their ids, with leaves
// that are full. The zero RowLoader has none.
type RowLoader struct{ l *loader }

// Add appends a copy of a record. Its row must be behind all that were added.
func (b *RowLoader) Add(rowid int64, rec []byte) {
	if b.l == nil {
		b.l = newLoader(false)
	}
	addTo(b.l, rowHead(rowid), rec)
}

// Rows returns the tree; the loader is empty afterwards.
func (b *RowLoader) Rows() *Rows {
	l := b.l
	if b.l = nil; l == nil {
		return new(Rows)
	}
	return &Rows{l.finish()}
}

// KeyLoader makes the tree of an index of entries that come in their order, with
// leaves that are full. The zero KeyLoader has none.
type KeyLoader struct{ l *loader }

// Add appends a copy of an entry, which must be behind all that were added.
func (b *KeyLoader) Add(entry []byte) {
	if b.l == nil {
		b.l = newLoader(true)
	}
	addTo(b.l, keyHead(entry), entry)
}

// Keys returns the tree; the loader is empty afterwards.
func (b *KeyLoader) Keys() *Keys {
	l := b.l
	if b.l = nil; l == nil {
		return new(Keys)
	}
	return &Keys{l.finish()}
}

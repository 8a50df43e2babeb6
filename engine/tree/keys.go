package tree

// Keys are the entries of an index, ordered by their bytes. The zero Keys is
// empty.
type Keys struct{ t base }

// keyHead returns the first eight bytes of a key as a number that sorts alike.
func keyHead[K bytesLike](key K) uint64 {
	if len(key) >= 8 {
		return uint64(key[7]) | uint64(key[6])<<8 | uint64(key[5])<<16 | uint64(key[4])<<24 |
			uint64(key[3])<<32 | uint64(key[2])<<40 | uint64(key[1])<<48 | uint64(key[0])<<56
	}
	h := uint64(0)
	for i := range len(key) {
		h |= uint64(key[i]) << (56 - 8*i)
	}
	return h
}

// IsoCopy returns a copy in constant time. Nobody may write to k meanwhile.
func (k *Keys) IsoCopy() *Keys {
	c := &Keys{k.t.isoCopy()}
	c.t.keyed = true // k may be read meanwhile
	return c
}

// Len returns the number of entries.
func (k *Keys) Len() int { return k.t.len() }

// Has reports whether there is an entry.
func (k *Keys) Has(entry []byte) bool {
	_, ok := find(&k.t, keyHead(entry), entry)
	return ok
}

// Set adds a copy of an entry, unless it is there.
func (k *Keys) Set(entry []byte) {
	k.t.keyed = true
	if _, had := set(&k.t, keyHead(entry), entry); !had {
		k.t.weigh(cost(true, len(entry)))
	}
}

// SetString is Set.
func (k *Keys) SetString(entry string) {
	k.t.keyed = true
	if _, had := set(&k.t, keyHead(entry), entry); !had {
		k.t.weigh(cost(true, len(entry)))
	}
}

// Delete removes an entry and reports whether it was there.
func (k *Keys) Delete(entry []byte) bool {
	_, had := remove(&k.t, keyHead(entry), entry)
	if had {
		k.t.weigh(-cost(true, len(entry)))
	}
	return had
}

// GetAt returns entry i of all, in order.
func (k *Keys) GetAt(i int) (string, bool) {
	if i < 0 || i >= k.Len() {
		return "", false
	}
	l, at := k.t.at(i)
	return l.entry(at), true
}

// KeyIter walks over entries in order.
type KeyIter struct{ it iter }

// Iter returns an iterator before the first entry and behind the last.
func (k *Keys) Iter() KeyIter { return KeyIter{iter{t: &k.t}} }

// SeekGE goes to the first entry that is not before key.
func (i *KeyIter) SeekGE(key string) bool { return seek(&i.it, keyHead(key), key) }

// Last goes to the last entry.
func (i *KeyIter) Last() bool { return i.it.end(true) }

// Next goes to the next entry, from the start to the first.
func (i *KeyIter) Next() bool { return i.it.next() }

// Prev goes to the entry before, from the start to the last.
func (i *KeyIter) Prev() bool { return i.it.prev() }

// Key returns the entry.
func (i *KeyIter) Key() string { return i.it.leaf.bytesAt(i.it.at) }

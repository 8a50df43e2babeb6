package engine

import (
	"bytes"
	"slices"
)

// A replay that follows a log makes a state after every few commits. What a table costs
// then must not depend on its size: rows are changed in the tree, a copy on write of the
// one that the last state has, and so are the indexes, from the rows as they were and as
// they are. The rest of the rows was proven with the last state.

// move notes that a row is not what it was in the last state, or in the segments that
// its indexes are made from. What is noted is as long as twice the rows it is of, or
// short.
func (t *replayTable) move(rowid int64) {
	if !t.rows.direct && !t.tracks {
		return
	}
	if t.moved = append(t.moved, rowid); t.tracks && len(t.moved) >= t.thin {
		slices.Sort(t.moved)
		t.moved = slices.Compact(t.moved)
		t.thin = max(1<<12, 2*len(t.moved))
	}
}

// uniqueEntry is one of a unique index that no other row may have.
type uniqueEntry struct {
	index int
	key   string
	rowid int64
}

// follow completes a table from the one of the last state: its indexes, and for a keys
// table the proof of its sum.
func (r *replay) follow(t *replayTable, n *Table) error {
	old := t.base
	slices.Sort(t.moved)
	keys := keyMaker{def: t.def}
	sum, live := old.sum, old.live
	for i := range n.indexes {
		n.indexes[i] = old.indexes[i].IsoCopy()
	}
	var before, after []byte
	var unique []uniqueEntry
	for _, rowid := range slices.Compact(t.moved) {
		was, had, err := old.Get(rowid)
		if err != nil {
			return err
		}
		is, has, err := n.Get(rowid)
		if err != nil {
			return err
		}
		if had {
			sum = sum.Sub(r.sumOf(t, rowid, was))
			live -= liveSize(t.def, rowid, was)
		}
		if has {
			sum = sum.Add(r.sumOf(t, rowid, is))
			live += liveSize(t.def, rowid, is)
		}
		for i, ix := range t.def.Indexes {
			null := true
			before, after = before[:0], after[:0]
			if had {
				before, _ = keys.append(before, ix, was, rowid)
			}
			if has {
				after, null = keys.append(after, ix, is, rowid)
			}
			if bytes.Equal(before, after) {
				continue
			}
			if len(before) > 0 {
				n.indexes[i].Delete(before)
			}
			if len(after) > 0 {
				n.indexes[i].Set(after)
			}
			if ix.Unique && !null {
				key, _ := splitEntry(string(after))
				unique = append(unique, uniqueEntry{i, key, rowid})
			}
		}
	}
	for _, u := range unique {
		it := n.indexes[u.index].Iter()
		if other, found := rival(&it, u.key, u.rowid, true); found {
			return r.twins(n, t.def.Indexes[u.index], [2]int64{max(u.rowid, other), min(u.rowid, other)})
		}
	}
	if !t.keys {
		return nil
	}
	if n.live = live; sum != t.sum {
		return damaged(0, "the commits claim sum %x for the %d rows of table %q, which add up to %x", t.sum, t.count, t.def.Name, sum)
	}
	return nil
}

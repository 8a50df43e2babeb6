package engine

import "github.com/tidemarkdb/tidemark/engine/wal"

// addSealed makes a sealed file known whose handle is closed, and notes its slot.
func (o *objects) addSealed(g *generation) {
	if o.look(g) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.place(g, &object{path: g.path, check: wal.NewChecker(g.salt)})
}

// place gives an object a slot: one that was let go of, or a new one. No locator
// names a slot that was let go of. The caller holds mu.
func (o *objects) place(g *generation, ob *object) {
	old := *o.list.Load()
	var list []*object
	if n := len(o.free); n > 0 {
		g.slot = o.free[n-1]
		o.free = o.free[:n-1]
		list = append(list, old...)
		list[g.slot] = ob
	} else {
		g.slot = uint32(len(old))
		list = append(old[:len(old):len(old)], ob)
	}
	o.list.Store(&list)
	o.byID[g.object] = g.slot
}

// drop lets go of a file that no locator names any more. It waits for whoever
// reads it all the same.
func (o *objects) drop(id uint64) error {
	o.mu.Lock()
	slot, known := o.byID[id]
	if !known {
		o.mu.Unlock()
		return nil
	}
	old := *o.list.Load()
	ob := old[slot]
	list := append([]*object(nil), old...)
	list[slot] = nil
	o.list.Store(&list)
	delete(o.byID, id)
	o.free = append(o.free, slot)
	o.mu.Unlock()
	return o.release(ob.reader.Swap(nil), nil)
}

package vfs

// This file says what a sync of a simulated file makes durable.
//
// Bytes. A successful sync makes durable every byte written since the last
// one. A failed sync makes nothing durable for certain, and it is the last
// chance those bytes had: the kernel marks pages clean when their write fails,
// so a later sync succeeds without writing them. They stay losable ("doomed")
// until the program writes them again and syncs.
//
// Sizes. Truncate and Preallocate change metadata. Sync makes the size
// durable. SyncData writes metadata only where written bytes could not be read
// back without it: the durable file becomes long enough for what was written.
// A preallocated tail, or a cut, stays losable until Sync, and as one piece,
// since the file system commits it as one.

func (n *node) write(op *Op) {
	n.pend = append(n.pend, filePiece{seq: op.N, kind: OpWrite, name: op.Name, off: op.Off, data: op.Data})
	n.cur.writeAt(op.Data, op.Off)
	n.dirty = n.dirty.add(op.Off, op.Off+int64(len(op.Data)))
	n.doomed = n.doomed.sub(op.Off, op.Off+int64(len(op.Data)))
}

func (n *node) resize(op *Op) {
	n.pend = append(n.pend, filePiece{seq: op.N, kind: op.Kind, name: op.Name, size: op.Size})
	if op.Size < n.cur.size {
		n.shrunk = n.shrunk || op.Size < n.dur.size
		n.dirty = n.dirty.sub(op.Size, n.cur.size)
		n.doomed = n.doomed.sub(op.Size, n.cur.size)
	}
	n.cur.resize(op.Size)
}

func (n *node) failSync() {
	n.doomed = n.doomed.union(n.dirty)
	n.dirty = nil
}

// synced is the content a full sync leaves: the current one, except that
// doomed bytes keep what was durable before.
func (n *node) synced() blob {
	b := n.cur.clone()
	for _, x := range n.doomed {
		b.copyFrom(&n.dur, x.lo, x.hi)
	}
	return b
}

func (n *node) sync() {
	if len(n.pend) == 0 {
		return
	}
	n.dur = n.synced()
	n.dirty, n.shrunk = nil, false
	n.pend = n.doomedPieces(nil)
}

func (n *node) syncData() {
	if len(n.pend) == 0 {
		return
	}
	if !n.shrunk && n.cur.size == max(n.dur.size, n.dirty.end()) {
		// No size is left over, so a data sync does all a full sync does.
		n.sync()
		return
	}
	for _, x := range n.dirty {
		n.dur.copyFrom(&n.cur, x.lo, x.hi)
	}
	n.dirty = nil
	meta := n.synced()
	last := n.pend[len(n.pend)-1]
	n.pend = n.doomedPieces([]filePiece{{seq: last.seq, kind: OpTruncate, name: last.name, size: meta.size, meta: &meta}})
}

// doomedPieces appends one piece for each doomed range to pend. They take the
// place in time of the newest piece they replace (a doomed range comes from
// one), so that they are applied behind a piece of the size.
func (n *node) doomedPieces(pend []filePiece) []filePiece {
	for _, x := range n.doomed {
		last := n.pend[len(n.pend)-1]
		data := make([]byte, x.hi-x.lo)
		n.cur.readAt(data, x.lo)
		pend = append(pend, filePiece{seq: last.seq, kind: OpWrite, name: last.name, off: x.lo, data: data})
	}
	return pend
}

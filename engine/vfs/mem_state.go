package vfs

import (
	"maps"
	"math"
	"path"
	"slices"
	"strings"
)

// A node is one simulated file or directory. It holds two versions of its
// content: the current one, which programs see, and the durable one, which a
// crash certainly leaves. What lies between them is a list of pieces, each of
// which a crash may keep or lose.
type node struct {
	id  uint64
	dir bool

	// Files.
	cur, dur blob
	pend     []filePiece // changes since the last successful sync, in order
	dirty    spans       // bytes of cur written since the last sync, successful or not
	doomed   spans       // bytes of cur that a failed sync covered and nobody wrote again
	shrunk   bool        // durable bytes were cut off since the last successful full sync

	// Directories. Pieces of entries are in state.pend, since a rename is one
	// piece of two directories.
	ents, dents map[string]*node // current, durable

	locked bool // by a Lock; a crash does not keep it
}

// filePiece is a change of one file that may be lost on its own. Pieces are
// immutable and shared by all clones of a state.
type filePiece struct {
	seq  int // number of the operation
	kind Kind
	name string
	off  int64  // OpWrite
	data []byte // OpWrite
	size int64  // OpTruncate, OpPreallocate: the new size
	// meta, if not nil, is the file as a full sync would have made it: the
	// piece that remains when a data sync did not have to write the size.
	meta *blob
}

// dirPiece is a change of directory entries that may be lost on its own.
type dirPiece struct {
	seq  int
	kind Kind // OpCreate, OpMkdir, OpLink: add; OpRename: move; OpRemove: drop
	text string
	// dir's entry name begins to stand for node (or stops to, for OpRemove).
	dir  *node
	name string
	node *node
	// OpRename: the entry that goes away; nil when that was overtaken.
	from       *node
	fromName   string
	fromSynced bool // its directory was synced since
}

// state is the whole simulated file system at one moment. Whoever holds it
// serializes all access: Mem by its mutex.
type state struct {
	root *node
	next uint64 // last node id given
	pend []dirPiece
}

func newState() *state {
	return &state{root: newDir(0)}
}

func newDir(id uint64) *node {
	return &node{id: id, dir: true, ents: map[string]*node{}, dents: map[string]*node{}}
}

// lookup returns nil when there is no such entry.
func (s *state) lookup(name string) *node {
	n := s.root
	if name == "." {
		return n
	}
	for elem := range strings.SplitSeq(name, "/") {
		if n = n.ents[elem]; n == nil {
			return nil
		}
	}
	return n
}

func (s *state) parent(name string) (*node, string) {
	return s.lookup(path.Dir(name)), path.Base(name)
}

// apply performs op, which has been checked to succeed. n is the file of a
// file operation. Replaying the same operations on an equal state gives an
// equal state: ids are taken from the journal.
func (s *state) apply(op *Op, n *node) {
	switch op.Kind {
	case OpCreate, OpMkdir:
		child := &node{id: op.node}
		if op.Kind == OpMkdir {
			child = newDir(op.node)
		}
		s.next = max(s.next, op.node)
		s.enter(op, op.Name, child)
	case OpLink:
		s.enter(op, op.To, s.lookup(op.Name))
	case OpRename:
		from, fromName := s.parent(op.Name)
		moved := from.ents[fromName]
		delete(from.ents, fromName)
		s.enter(op, op.To, moved)
		p := &s.pend[len(s.pend)-1]
		p.from, p.fromName = from, fromName
	case OpRemove:
		dir, base := s.parent(op.Name)
		s.pend = append(s.pend, dirPiece{seq: op.N, kind: op.Kind, text: op.String(), dir: dir, name: base, node: dir.ents[base]})
		delete(dir.ents, base)
	case OpSyncDir:
		s.syncDir(s.lookup(op.Name))
	case OpWrite:
		n.write(op)
	case OpTruncate, OpPreallocate:
		n.resize(op)
	case OpSyncData, OpSync:
		switch {
		case op.Failed:
			n.failSync()
		case op.Kind == OpSync:
			n.sync()
		default:
			n.syncData()
		}
	}
}

func (s *state) enter(op *Op, name string, child *node) {
	dir, base := s.parent(name)
	dir.ents[base] = child
	s.pend = append(s.pend, dirPiece{seq: op.N, kind: op.Kind, text: op.String(), dir: dir, name: base, node: child})
}

// syncDir makes the entries of d durable. A rename that moved an entry into d
// becomes durable there, and its removal from another directory stays a piece
// of that directory: until that one is synced too a crash may leave both
// names. A rename out of d that is pending in its target stays whole, so no
// crash leaves neither name; it is remembered that d was synced.
func (s *state) syncDir(d *node) {
	var keep []dirPiece
	for _, p := range s.pend {
		if p.dir != d {
			if p.from == d {
				p.fromSynced = true
			}
			keep = append(keep, p)
			continue
		}
		if p.kind == OpRemove {
			if d.dents[p.name] == p.node {
				delete(d.dents, p.name)
			}
			continue
		}
		d.dents[p.name] = p.node
		// The name was given anew after an unfinished rename away from it:
		// that rename no longer takes it.
		for i := range keep {
			if keep[i].from == d && keep[i].fromName == p.name {
				keep[i].from = nil
			}
		}
		switch {
		case p.from == d || p.fromSynced:
			if p.from != nil && p.from.dents[p.fromName] == p.node {
				delete(p.from.dents, p.fromName)
			}
		case p.from != nil:
			keep = append(keep, dirPiece{seq: p.seq, kind: OpRemove, text: p.text + " (old name)", dir: p.from, name: p.fromName, node: p.node})
		}
	}
	s.pend = keep
}

// clone copies the state, sharing all bytes, and returns the copies of the
// nodes by id. Nodes that no directory, current or durable or pending, can
// reach are left out: no operation by name and no crash can show them again.
func (s *state) clone() (*state, map[uint64]*node) {
	ids := map[uint64]*node{}
	var copyNode func(n *node) *node
	copyEnts := func(ents map[string]*node) map[string]*node {
		out := maps.Clone(ents)
		for name, n := range out {
			out[name] = copyNode(n)
		}
		return out
	}
	copyNode = func(n *node) *node {
		if n == nil {
			return nil
		}
		if c := ids[n.id]; c != nil {
			return c
		}
		c := &node{id: n.id, dir: n.dir}
		ids[n.id] = c
		if n.dir {
			c.ents, c.dents = copyEnts(n.ents), copyEnts(n.dents)
			return c
		}
		c.cur, c.dur = n.cur.clone(), n.dur.clone()
		c.pend = slices.Clip(n.pend)
		c.dirty, c.doomed, c.shrunk = n.dirty, n.doomed, n.shrunk
		return c
	}
	c := &state{next: s.next, root: copyNode(s.root), pend: slices.Clone(s.pend)}
	for i := range c.pend {
		p := &c.pend[i]
		p.dir, p.node, p.from = copyNode(p.dir), copyNode(p.node), copyNode(p.from)
	}
	return c, ids
}

// maxSize bounds simulated files so that offsets never overflow.
const maxSize = math.MaxInt64 / 4

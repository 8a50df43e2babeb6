package vfs

import (
	"io/fs"
	"path"
	"slices"
	"sync"
	"syscall"
)

// Mem is a file system in memory that knows what a crash could leave of it.
//
// Every mutating operation (MutatingOps) that succeeds is numbered, from 1,
// and kept in a journal, so the state after any of them can be rebuilt (At)
// and crashed (CrashImages). A Mem is safe for concurrent use.
type Mem struct {
	mu   sync.RWMutex
	st   *state
	log  journal
	hook func(Op)
	open map[any]string // files, mappings and locks that are not closed
}

var _ FS = (*Mem)(nil)

// NewMem returns an empty file system, whose root exists.
func NewMem() *Mem { return memOf(newState()) }

func memOf(s *state) *Mem {
	return &Mem{st: s, log: journal{limit: defaultJournalLimit}, open: map[any]string{}}
}

// do performs a checked operation. The caller holds m.mu.
func (m *Mem) do(op Op, n *node) {
	m.log.prepare(m.st)
	op.N = m.log.last + 1
	if n != nil {
		op.node = n.id
	}
	m.st.apply(&op, n)
	m.log.append(op)
	if m.hook != nil {
		m.hook(op)
	}
}

// entry checks that name can be made: its directory is there, and itself is
// not.
func (m *Mem) entry(op, name string) error {
	dir, base := m.st.parent(name)
	switch {
	case dir == nil:
		return pathError(op, name, fs.ErrNotExist)
	case !dir.dir:
		return pathError(op, name, errNotDir)
	case dir.ents[base] != nil:
		return pathError(op, name, fs.ErrExist)
	}
	return nil
}

func (m *Mem) find(op, name string) (*node, error) {
	n := m.st.lookup(name)
	if n == nil {
		return nil, pathError(op, name, fs.ErrNotExist)
	}
	return n, nil
}

func (m *Mem) findFile(op, name string) (*node, error) {
	n, err := m.find(op, name)
	if err == nil && n.dir {
		err = pathError(op, name, errNotFile)
	}
	return n, err
}

func (m *Mem) handle(n *node, name string, readOnly bool) *memFile {
	f := &memFile{m: m, n: n, name: name, readOnly: readOnly}
	m.open[f] = name
	return f
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	if err := checkEntry("create", name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.entry("create", name); err != nil {
		return nil, err
	}
	return m.handle(m.create(name), name, false), nil
}

func (m *Mem) create(name string) *node {
	m.do(Op{Kind: OpCreate, Name: name, node: m.st.next + 1}, nil)
	return m.st.lookup(name)
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) { return m.openFile(name, false) }

// OpenRead implements FS.
func (m *Mem) OpenRead(name string) (File, error) { return m.openFile(name, true) }

func (m *Mem) openFile(name string, readOnly bool) (File, error) {
	if err := checkEntry("open", name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findFile("open", name)
	if err != nil {
		return nil, err
	}
	return m.handle(n, name, readOnly), nil
}

// Rename implements FS. As on a disk it replaces a file at the new name, and
// does nothing when both names stand for one file.
func (m *Mem) Rename(from, to string) error {
	if err := checkEntry("rename", from); err != nil {
		return err
	}
	if err := checkEntry("rename", to); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("rename", from)
	if err != nil {
		return err
	}
	old := m.st.lookup(to)
	if old == nil {
		if err := m.entry("rename", to); err != nil {
			return err
		}
	} else {
		switch {
		case old == n:
			return nil
		case old.dir && !n.dir:
			return pathError("rename", to, fs.ErrExist)
		case n.dir && !old.dir:
			return pathError("rename", to, errNotDir)
		case len(old.ents) > 0:
			return pathError("rename", to, syscall.ENOTEMPTY)
		}
	}
	if n.dir {
		for dir := path.Dir(to); dir != "."; dir = path.Dir(dir) {
			if dir == from {
				return pathError("rename", to, fs.ErrInvalid)
			}
		}
	}
	m.do(Op{Kind: OpRename, Name: from, To: to}, nil)
	return nil
}

// Link implements FS.
func (m *Mem) Link(from, to string) error {
	if err := checkEntry("link", from); err != nil {
		return err
	}
	if err := checkEntry("link", to); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.findFile("link", from); err != nil {
		return err
	}
	if err := m.entry("link", to); err != nil {
		return err
	}
	m.do(Op{Kind: OpLink, Name: from, To: to}, nil)
	return nil
}

// Remove implements FS. Open files stay usable.
func (m *Mem) Remove(name string) error {
	if err := checkEntry("remove", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("remove", name)
	if err != nil {
		return err
	}
	if len(n.ents) > 0 {
		return pathError("remove", name, syscall.ENOTEMPTY)
	}
	m.do(Op{Kind: OpRemove, Name: name}, nil)
	return nil
}

// List implements FS.
func (m *Mem) List(dir string) ([]string, error) {
	if err := checkName("list", dir); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.findDir("list", dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(n.ents))
	for name := range n.ents {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func (m *Mem) findDir(op, name string) (*node, error) {
	n, err := m.find(op, name)
	if err == nil && !n.dir {
		err = pathError(op, name, errNotDir)
	}
	return n, err
}

// Mkdir implements FS.
func (m *Mem) Mkdir(name string) error {
	if err := checkName("mkdir", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.st.lookup(name); n != nil && n.dir {
		return nil
	}
	if err := m.entry("mkdir", name); err != nil {
		return err
	}
	m.do(Op{Kind: OpMkdir, Name: name, node: m.st.next + 1}, nil)
	return nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (Info, error) {
	if err := checkName("stat", name); err != nil {
		return Info{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.find("stat", name)
	if err != nil {
		return Info{}, err
	}
	return Info{Name: path.Base(name), Size: n.cur.size, Dir: n.dir}, nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(name string) error {
	if err := checkName("syncdir", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.findDir("syncdir", name); err != nil {
		return err
	}
	m.do(Op{Kind: OpSyncDir, Name: name}, nil)
	return nil
}

// OpenFiles returns the names, sorted, of files, mappings and locks that were
// not closed: what a program leaked.
func (m *Mem) OpenFiles() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	names := make([]string, 0, len(m.open))
	for _, name := range m.open {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

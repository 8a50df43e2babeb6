package vfs

import (
	"bytes"
	"io"
	"io/fs"
)

// memFile is one open file of a Mem.
type memFile struct {
	m        *Mem
	n        *node
	name     string
	readOnly bool
	closed   bool // guarded by m.mu
}

var (
	_ File   = (*memFile)(nil)
	_ Mapped = (*memMapped)(nil)
	_ Lock   = (*memLock)(nil)
)

// usable checks the handle and the arguments. The caller holds m.mu.
func (f *memFile) usable(op string, change bool, nums ...int64) error {
	switch {
	case f.closed:
		return pathError(op, f.name, fs.ErrClosed)
	case change && f.readOnly:
		return pathError(op, f.name, errReadOnly)
	}
	for _, x := range nums {
		if x < 0 || x > maxSize {
			return pathError(op, f.name, errNegative)
		}
	}
	return nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.m.mu.RLock()
	defer f.m.mu.RUnlock()
	if err := f.usable("read", false, off); err != nil {
		return 0, err
	}
	n := f.n.cur.readAt(p, off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("write", true, off); err != nil {
		return 0, err
	}
	if len(p) > 0 {
		f.m.do(Op{Kind: OpWrite, Name: f.name, Off: off, Size: int64(len(p)), Data: bytes.Clone(p)}, f.n)
	}
	return len(p), nil
}

func (f *memFile) Size() (int64, error) {
	f.m.mu.RLock()
	defer f.m.mu.RUnlock()
	if err := f.usable("size", false); err != nil {
		return 0, err
	}
	return f.n.cur.size, nil
}

func (f *memFile) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("truncate", true, size); err != nil {
		return err
	}
	if size != f.n.cur.size {
		f.m.do(Op{Kind: OpTruncate, Name: f.name, Size: size}, f.n)
	}
	return nil
}

func (f *memFile) Preallocate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("preallocate", true, size); err != nil {
		return err
	}
	if size > f.n.cur.size {
		f.m.do(Op{Kind: OpPreallocate, Name: f.name, Size: size}, f.n)
	}
	return nil
}

func (f *memFile) SyncData() error { return f.sync(OpSyncData, false) }
func (f *memFile) Sync() error     { return f.sync(OpSync, false) }

// failSync is what a sync that fails does to the file; Fault calls it.
func (f *memFile) failSync(kind Kind) error { return f.sync(kind, true) }

func (f *memFile) sync(kind Kind, failed bool) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("sync", false); err != nil {
		return err
	}
	f.m.do(Op{Kind: kind, Name: f.name, Failed: failed}, f.n)
	return nil
}

func (f *memFile) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("close", false); err != nil {
		return err
	}
	f.closed = true
	delete(f.m.open, f)
	return nil
}

func (f *memFile) AdviseRandom() {}

// WriteBack does nothing: what a crash leaves of bytes that were not synced is any part
// of them, with or without it.
func (f *memFile) WriteBack(off, n int64) {}

func (f *memFile) Map() (Mapped, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("map", false); err != nil {
		return nil, err
	}
	v := &memMapped{m: f.m, n: f.n, name: f.name, len: f.n.cur.size}
	f.m.open[v] = f.name + " (mapped)"
	return v, nil
}

// memMapped shows the live file, as a shared mapping does: later writes are
// seen, and a later cut makes reads behind it fail.
type memMapped struct {
	m      *Mem
	n      *node
	name   string
	len    int64
	closed bool
}

func (v *memMapped) Len() int { return int(v.len) }

func (v *memMapped) ReadAt(p []byte, off int64) (int, error) {
	v.m.mu.RLock()
	defer v.m.mu.RUnlock()
	switch {
	case v.closed:
		return 0, pathError("read", v.name, fs.ErrClosed)
	case off < 0:
		return 0, pathError("read", v.name, errNegative)
	}
	want := p[:max(0, min(int64(len(p)), v.len-off))]
	if v.n.cur.readAt(want, off) < len(want) {
		return 0, pathError("read", v.name, ErrPageFault)
	}
	if len(want) < len(p) {
		return len(want), io.EOF
	}
	return len(want), nil
}

func (v *memMapped) Close() error {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	if v.closed {
		return pathError("close", v.name, fs.ErrClosed)
	}
	v.closed = true
	delete(v.m.open, v)
	return nil
}

// memLock is a held lock of a Mem.
type memLock struct {
	m      *Mem
	n      *node
	name   string
	closed bool
}

// Lock implements FS.
func (m *Mem) Lock(name string) (Lock, error) {
	if err := checkEntry("lock", name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.st.lookup(name)
	switch {
	case n == nil:
		if err := m.entry("lock", name); err != nil {
			return nil, err
		}
		n = m.create(name)
	case n.dir:
		return nil, pathError("lock", name, errNotFile)
	case n.locked:
		return nil, pathError("lock", name, ErrLocked)
	}
	n.locked = true
	l := &memLock{m: m, n: n, name: name}
	m.open[l] = name + " (locked)"
	return l, nil
}

// PeekLock implements FS.
func (m *Mem) PeekLock(name string) (contents []byte, held bool, err error) {
	if err := checkEntry("peeklock", name); err != nil {
		return nil, false, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.findFile("peeklock", name)
	if err != nil {
		return nil, false, err
	}
	return n.cur.bytes(), n.locked, nil
}

func (l *memLock) Write(contents []byte) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.closed {
		return pathError("write", l.name, fs.ErrClosed)
	}
	if len(contents) > 0 {
		l.m.do(Op{Kind: OpWrite, Name: l.name, Size: int64(len(contents)), Data: bytes.Clone(contents)}, l.n)
	}
	if size := int64(len(contents)); size != l.n.cur.size {
		l.m.do(Op{Kind: OpTruncate, Name: l.name, Size: size}, l.n)
	}
	return nil
}

func (l *memLock) Read() ([]byte, error) {
	l.m.mu.RLock()
	defer l.m.mu.RUnlock()
	if l.closed {
		return nil, pathError("read", l.name, fs.ErrClosed)
	}
	return l.n.cur.bytes(), nil
}

func (l *memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.closed {
		return pathError("unlock", l.name, fs.ErrClosed)
	}
	l.closed = true
	l.n.locked = false
	delete(l.m.open, l)
	return nil
}

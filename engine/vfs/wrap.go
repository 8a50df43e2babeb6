package vfs

// An interceptor decides about each operation that goes through a wrapper.
type interceptor interface {
	// around performs op by calling do, or fails it without. It may lower
	// op.limit of a write before the call.
	around(op *Op, do func() error) error
}

// wrapFS passes every operation on the file system, its files, mappings and
// locks through an interceptor. Fault and Trace are made of it.
type wrapFS struct {
	inner FS
	ic    interceptor
}

// syncFailer is a file that must know of a sync that failed above it.
type syncFailer interface{ failSync(kind Kind) error }

func (w *wrapFS) name(kind Kind, name string, do func() error) error {
	return w.ic.around(&Op{Kind: kind, Name: name}, do)
}

func (w *wrapFS) file(kind Kind, name string, open func(string) (File, error)) (File, error) {
	var f File
	err := w.name(kind, name, func() (err error) {
		f, err = open(name)
		return err
	})
	if err != nil {
		if f != nil { // done, and reported as failed
			f.Close()
		}
		return nil, err
	}
	return &wrapFile{w: w, f: f, name: name}, nil
}

func (w *wrapFS) Create(name string) (File, error) { return w.file(OpCreate, name, w.inner.Create) }

func (w *wrapFS) Open(name string) (File, error) { return w.file(OpOpen, name, w.inner.Open) }

func (w *wrapFS) OpenRead(name string) (File, error) {
	return w.file(OpOpenRead, name, w.inner.OpenRead)
}

func (w *wrapFS) Rename(from, to string) error {
	return w.ic.around(&Op{Kind: OpRename, Name: from, To: to}, func() error { return w.inner.Rename(from, to) })
}

func (w *wrapFS) Link(from, to string) error {
	return w.ic.around(&Op{Kind: OpLink, Name: from, To: to}, func() error { return w.inner.Link(from, to) })
}

func (w *wrapFS) Remove(name string) error {
	return w.name(OpRemove, name, func() error { return w.inner.Remove(name) })
}

func (w *wrapFS) List(dir string) (names []string, err error) {
	err = w.name(OpList, dir, func() (err error) {
		names, err = w.inner.List(dir)
		return err
	})
	return names, err
}

func (w *wrapFS) Mkdir(name string) error {
	return w.name(OpMkdir, name, func() error { return w.inner.Mkdir(name) })
}

func (w *wrapFS) Stat(name string) (info Info, err error) {
	err = w.name(OpStat, name, func() (err error) {
		info, err = w.inner.Stat(name)
		return err
	})
	return info, err
}

func (w *wrapFS) SyncDir(name string) error {
	return w.name(OpSyncDir, name, func() error { return w.inner.SyncDir(name) })
}

func (w *wrapFS) Lock(name string) (Lock, error) {
	var l Lock
	err := w.name(OpLock, name, func() (err error) {
		l, err = w.inner.Lock(name)
		return err
	})
	if err != nil {
		if l != nil {
			l.Close()
		}
		return nil, err
	}
	return &wrapLock{w: w, l: l, name: name}, nil
}

func (w *wrapFS) PeekLock(name string) (contents []byte, held bool, err error) {
	err = w.name(OpPeekLock, name, func() (err error) {
		contents, held, err = w.inner.PeekLock(name)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return contents, held, nil
}

type wrapFile struct {
	w    *wrapFS
	f    File
	name string
}

func (f *wrapFile) do(op Op, do func() error) error {
	op.Name, op.file = f.name, f.f
	return f.w.ic.around(&op, do)
}

func (f *wrapFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.do(Op{Kind: OpRead, Off: off, Size: int64(len(p))}, func() (err error) {
		n, err = f.f.ReadAt(p, off)
		return err
	})
	return n, err
}

func (f *wrapFile) WriteAt(p []byte, off int64) (n int, err error) {
	op := Op{Kind: OpWrite, Name: f.name, Off: off, Size: int64(len(p)), Data: p, limit: int64(len(p)), file: f.f}
	err = f.w.ic.around(&op, func() (err error) {
		n, err = f.f.WriteAt(p[:op.limit], off)
		return err
	})
	return n, err
}

func (f *wrapFile) Size() (size int64, err error) {
	err = f.do(Op{Kind: OpSize}, func() (err error) {
		size, err = f.f.Size()
		return err
	})
	return size, err
}

func (f *wrapFile) Truncate(size int64) error {
	return f.do(Op{Kind: OpTruncate, Size: size}, func() error { return f.f.Truncate(size) })
}

func (f *wrapFile) Preallocate(size int64) error {
	return f.do(Op{Kind: OpPreallocate, Size: size}, func() error { return f.f.Preallocate(size) })
}

func (f *wrapFile) SyncData() error { return f.do(Op{Kind: OpSyncData}, f.f.SyncData) }
func (f *wrapFile) Sync() error     { return f.do(Op{Kind: OpSync}, f.f.Sync) }
func (f *wrapFile) Close() error    { return f.do(Op{Kind: OpClose}, f.f.Close) }

// AdviseRandom is no operation: it changes nothing that could be lost or seen.
func (f *wrapFile) AdviseRandom() { f.f.AdviseRandom() }

// WriteBack is no operation either: any system may do it at any time, unasked.
func (f *wrapFile) WriteBack(off, n int64) { f.f.WriteBack(off, n) }

func (f *wrapFile) failSync(kind Kind) error {
	if s, ok := f.f.(syncFailer); ok {
		return s.failSync(kind)
	}
	return nil
}

func (f *wrapFile) Map() (Mapped, error) {
	var m Mapped
	err := f.do(Op{Kind: OpMap}, func() (err error) {
		m, err = f.f.Map()
		return err
	})
	if err != nil {
		if m != nil {
			m.Close()
		}
		return nil, err
	}
	return &wrapMapped{w: f.w, m: m, name: f.name}, nil
}

type wrapMapped struct {
	w    *wrapFS
	m    Mapped
	name string
}

func (m *wrapMapped) Len() int { return m.m.Len() }

func (m *wrapMapped) ReadAt(p []byte, off int64) (n int, err error) {
	err = m.w.ic.around(&Op{Kind: OpMapRead, Name: m.name, Off: off, Size: int64(len(p))}, func() (err error) {
		n, err = m.m.ReadAt(p, off)
		return err
	})
	return n, err
}

func (m *wrapMapped) Close() error { return m.w.name(OpUnmap, m.name, m.m.Close) }

type wrapLock struct {
	w    *wrapFS
	l    Lock
	name string
}

func (l *wrapLock) Write(contents []byte) error {
	op := Op{Kind: OpLockWrite, Name: l.name, Size: int64(len(contents)), Data: contents}
	return l.w.ic.around(&op, func() error { return l.l.Write(contents) })
}

func (l *wrapLock) Read() (contents []byte, err error) {
	err = l.w.name(OpLockRead, l.name, func() (err error) {
		contents, err = l.l.Read()
		return err
	})
	return contents, err
}

func (l *wrapLock) Close() error { return l.w.name(OpUnlock, l.name, l.l.Close) }

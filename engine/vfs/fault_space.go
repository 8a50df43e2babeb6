package vfs

import (
	"errors"
	"math"
	"sync"
)

// space is a Fault's limit on how much its files may grow. It counts file
// sizes, holes included, and not what directories and lock files take.
type space struct {
	mu   sync.Mutex // held across limited operations, so that sizes stay as measured
	free int64
	// links counts the names of files that were linked; others have one.
	links map[string]*int
}

const unlimited = math.MaxInt64

// errQuota marks the failure inside of the package; callers see ENOSPC.
var errQuota = errors.New("no space by quota")

// SetSpace lets files grow by so many bytes from now on; what would need more
// fails with syscall.ENOSPC. A write is cut to what fits, as on a disk. Cutting
// a file, and removing its last name, gives back its bytes. A negative number
// removes the limit.
func (f *Fault) SetSpace(bytes int64) {
	f.space.mu.Lock()
	defer f.space.mu.Unlock()
	if bytes < 0 {
		bytes = unlimited
	}
	f.space.free = bytes
}

// Space returns how many bytes are left.
func (f *Fault) Space() int64 {
	f.space.mu.Lock()
	defer f.space.mu.Unlock()
	return f.space.free
}

// around performs an operation within the limit and accounts for it.
func (s *space) around(op *Op, fs FS, do func() error) error {
	const names = OpLink | OpRename | OpRemove
	if op.Kind&(names|OpWrite|OpTruncate|OpPreallocate) == 0 {
		return do()
	}
	s.mu.Lock()
	if s.free == unlimited && op.Kind&names == 0 {
		s.mu.Unlock() // the usual case; writes may run side by side
		return do()
	}
	defer s.mu.Unlock()
	if op.Kind&names != 0 {
		return s.rename(op, fs, do)
	}
	before, err := op.file.Size()
	if err != nil {
		return do() // a closed file: let it say so
	}
	need := op.Size
	if op.Kind == OpWrite {
		need = op.Off + op.limit
	}
	over := need - before - s.free
	if over > 0 {
		if op.Kind != OpWrite || over >= op.limit {
			return errQuota
		}
		op.limit -= over
	}
	err = do()
	if after, serr := op.file.Size(); serr == nil {
		s.free -= after - before
	}
	if err == nil && over > 0 {
		err = errQuota
	}
	return err
}

// rename keeps the link counts and gives back what no name reaches any more.
func (s *space) rename(op *Op, fs FS, do func() error) error {
	lost := op.Name
	if op.Kind != OpRemove {
		lost = op.To
	}
	info, serr := fs.Stat(lost)
	if err := do(); err != nil {
		return err
	}
	if s.links == nil {
		s.links = map[string]*int{}
	}
	if op.Kind == OpLink {
		n := s.links[op.Name]
		if n == nil {
			n = new(int)
			*n = 1
			s.links[op.Name] = n
		}
		*n++
		s.links[op.To] = n
		return nil
	}
	if op.Kind == OpRename && (op.Name == op.To || s.links[op.To] != nil && s.links[op.To] == s.links[op.Name]) {
		return nil // one file under both names: nothing happened
	}
	gone := serr == nil && !info.Dir
	if n := s.links[lost]; n != nil {
		*n--
		gone = gone && *n == 0
		delete(s.links, lost)
	}
	if op.Kind == OpRename {
		if n := s.links[op.Name]; n != nil {
			s.links[op.To] = n
			delete(s.links, op.Name)
		}
	}
	if gone && s.free != unlimited {
		s.free += info.Size
	}
	return nil
}

package vfs

import (
	"errors"
	"sync"
	"syscall"
)

// Fault is a file system that fails on demand. Every operation on it, its
// files, mappings and locks is numbered, from 1, whether it fails or not.
//
// For each operation, in this order: the hook is asked, then the rules in the
// order they were added, then the space; the first failure counts.
type Fault struct {
	wrapFS

	mu       sync.Mutex
	ops      int
	counts   map[Kind]int
	injected int
	rules    []*rule
	hook     func(Op) error

	space space
}

// Rule says which operations fail, and how.
type Rule struct {
	// Kinds are the kinds of operation it is about; all if zero.
	Kinds Kind
	// Match, if not nil, narrows it further. It is called with the Fault
	// locked and must not use it.
	Match func(Op) bool
	// N is the operation to fail, counting from 1 the matching ones since the
	// rule was added; zero means every one.
	N int
	// Sticky fails also all matching operations after the N-th.
	Sticky bool
	// Err is the error, syscall.EIO if nil. It is wrapped in a *fs.PathError.
	Err error
	// Short is how many bytes of a failing write reach the file first.
	Short int
	// After performs the operation and then reports the failure: the case in
	// which the caller cannot know the outcome. Closing operations (OpClose,
	// OpUnmap, OpUnlock) are always performed. A sync is never: one that
	// reports a failure has to be taken as one.
	After bool
}

type rule struct {
	Rule
	seen int
}

var _ FS = (*Fault)(nil)

// NewFault wraps a file system. Without rules it fails nothing.
func NewFault(inner FS, rules ...Rule) *Fault {
	f := &Fault{counts: map[Kind]int{}}
	f.wrapFS = wrapFS{inner: inner, ic: f}
	f.space.free = unlimited
	for _, r := range rules {
		f.Fail(r)
	}
	return f
}

// Fail adds a rule.
func (f *Fault) Fail(r Rule) {
	if r.Kinds == 0 {
		r.Kinds = AllOps
	}
	if r.Err == nil {
		r.Err = syscall.EIO
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, &rule{Rule: r})
}

// Clear removes all rules, the hook and the limit on space. What failed syncs
// did to the files of a Mem remains.
func (f *Fault) Clear() {
	f.mu.Lock()
	f.rules, f.hook = nil, nil
	f.mu.Unlock()
	f.SetSpace(-1)
}

// SetHook sets a function that is asked before each operation and fails it by
// returning an error. It may block or sleep, and is called from several
// goroutines at once when the file system is used so.
func (f *Fault) SetHook(hook func(Op) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// Ops returns how many operations there were.
func (f *Fault) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

// Count returns how many operations of the given kinds there were.
func (f *Fault) Count(kinds Kind) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for k, c := range f.counts {
		if k&kinds != 0 {
			n += c
		}
	}
	return n
}

// Injected returns how many operations failed by the hook, a rule or for lack
// of space: a loop over N ends when a run injects nothing.
func (f *Fault) Injected() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.injected
}

func (f *Fault) around(op *Op, do func() error) error {
	hook, r := f.next(op)
	if hook != nil {
		if err := hook(*op); err != nil {
			return f.fail(op, Rule{Err: err}, do)
		}
	}
	if r != nil {
		return f.fail(op, *r, do)
	}
	err := f.space.around(op, f.inner, do)
	if errors.Is(err, errQuota) {
		f.count()
		err = pathError(op.Kind.String(), op.Name, syscall.ENOSPC)
	}
	return err
}

// next numbers the operation and finds the rule that fails it.
func (f *Fault) next(op *Op) (func(Op) error, *Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops++
	f.counts[op.Kind]++
	op.N = f.ops
	var hit *Rule
	for _, r := range f.rules {
		if op.Kind&r.Kinds == 0 || r.Match != nil && !r.Match(*op) {
			continue
		}
		r.seen++
		if hit == nil && (r.N == 0 || r.seen == r.N || r.Sticky && r.seen > r.N) {
			hit = &r.Rule
		}
	}
	return f.hook, hit
}

func (f *Fault) count() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.injected++
}

func (f *Fault) fail(op *Op, r Rule, do func() error) error {
	f.count()
	err := pathError(op.Kind.String(), op.Name, r.Err)
	also := func(other error) {
		if other != nil {
			err = errors.Join(err, other)
		}
	}
	switch {
	case op.Kind&(OpSyncData|OpSync) != 0:
		if s, ok := op.file.(syncFailer); ok {
			also(s.failSync(op.Kind))
		}
	case op.Kind == OpSyncDir:
	case r.After, op.Kind&(OpClose|OpUnmap|OpUnlock) != 0:
		also(f.space.around(op, f.inner, do))
	case op.Kind == OpWrite && r.Short > 0:
		op.limit = min(op.limit, int64(r.Short))
		also(f.space.around(op, f.inner, do))
	}
	return err
}

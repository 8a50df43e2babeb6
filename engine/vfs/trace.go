package vfs

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync"
	"syscall"
)

// Trace is a file system that records a line for each operation, made for
// golden files: a line holds no number, time, data or path outside of the
// store, and the same error reads the same on every system.
//
//	write objects/2b/1a/0000000000001a2b.kv off=64 len=128
//	open LOCK = not found
//
// A line is written when its operation ends.
type Trace struct {
	wrapFS

	mu    sync.Mutex
	kinds Kind
	lines []string
}

var _ FS = (*Trace)(nil)

// NewTrace wraps a file system. Only the given kinds are recorded; all when
// there is none.
func NewTrace(inner FS, kinds ...Kind) *Trace {
	t := &Trace{}
	for _, k := range kinds {
		t.kinds |= k
	}
	if t.kinds == 0 {
		t.kinds = AllOps
	}
	t.wrapFS = wrapFS{inner: inner, ic: t}
	return t
}

func (t *Trace) around(op *Op, do func() error) error {
	err := do()
	if op.Kind&t.kinds != 0 {
		line := op.String()
		if err != nil {
			line += " = " + errorText(err)
		}
		t.mu.Lock()
		t.lines = append(t.lines, line)
		t.mu.Unlock()
	}
	return err
}

// Lines returns a copy of the lines so far.
func (t *Trace) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...)
}

// Take returns the lines so far and forgets them.
func (t *Trace) Take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.lines
	t.lines = nil
	return lines
}

// String is all lines, each ended by a newline.
func (t *Trace) String() string {
	lines := t.Lines()
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

func errorText(err error) string {
	for _, e := range []struct {
		is   error
		text string
	}{
		{io.EOF, "end of file"},
		{ErrLocked, "locked"},
		{ErrPageFault, "page fault"},
		{fs.ErrNotExist, "not found"},
		{syscall.ENOTEMPTY, "not empty"},
		{fs.ErrExist, "exists"},
		{fs.ErrClosed, "closed"},
		{fs.ErrInvalid, "invalid"},
		{syscall.ENOSPC, "no space"},
		{syscall.EIO, "input/output error"},
	} {
		if errors.Is(err, e.is) {
			return e.text
		}
	}
	// The innermost text: outer ones name paths of this machine.
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

package engine

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// way is how sealed files are read.
//
// A mapping is the quickest as long as its pages are in memory: a row costs no
// call of the system. Where they are not, it is the dearest: a page that is taken
// back must first be taken out of the address space, for which all processors
// that run the process are interrupted, and who waits for a page keeps his
// processor waiting. Reads through a handle always cost a call, and leave pages
// behind that nobody has mapped.
type way uint32

const (
	byMapping way = iota
	byHandle
)

const (
	// sampleEvery is how many reads one that is timed stands for. It is prime and
	// larger than a chain of records, so that no pattern of reads keeps step with it.
	sampleEvery = 23
	// sampleWindow is how many samples are judged together.
	sampleWindow = 64
	// Of a window as many slow ones leave the mapping, and no more go back to it.
	// In between, the way stays as it is.
	slowToLeave, slowToReturn = sampleWindow / 8, sampleWindow / 32
	// slowRead and slowByte are what a read that takes longer waited for a disk.
	slowRead, slowByte = 30 * time.Microsecond, time.Nanosecond
)

// pace chooses the way by what reads cost: it times some of them.
type pace struct {
	now    func() time.Time
	reads  atomic.Uint64
	state  atomic.Uint32 // the way
	mu     sync.Mutex
	window timings // guarded by mu
}

func (p *pace) way() way { return way(p.state.Load()) }

// readAt reads through r, and times it when it is its turn.
func (p *pace) readAt(r *objectReader, b []byte, off int64) (int, error) {
	if r.own == nil || p.reads.Add(1)%sampleEvery != 0 {
		return r.ReadAt(b, off)
	}
	start := p.now()
	n, err := r.ReadAt(b, off)
	if took := p.now().Sub(start); err == nil || errors.Is(err, io.EOF) {
		p.note(r.way, took > slowRead+time.Duration(n)*slowByte)
	}
	return n, err
}

// note adds a sample. One of a read that began before the way changed counts for
// nothing.
func (p *pace) note(w way, slow bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w == p.way() {
		p.state.Store(uint32(p.window.add(w, slow)))
	}
}

// timings are the samples of a window.
type timings struct{ seen, slow int }

// add adds a sample of a way and returns the way to go on.
func (t *timings) add(w way, slow bool) way {
	t.seen++
	if slow {
		t.slow++
	}
	switch {
	case w == byMapping && t.slow >= slowToLeave:
		w = byHandle
	case t.seen < sampleWindow:
		return w
	case w == byHandle && t.slow <= slowToReturn:
		w = byMapping
	}
	*t = timings{}
	return w
}

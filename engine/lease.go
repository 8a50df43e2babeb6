package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A lease stands for the files that locators may name. Every state of a keys table
// has one, and all states between two compactions have the same: when a compaction
// has put other locators into all tables, their next states get the next lease, and
// once no state with an earlier one can be reached any more, nobody reads the files
// that were replaced.
//
// Snapshots need no release, so it is the garbage collector that finds out when a
// lease has ended. Until then a replaced file stays.
type lease struct {
	n uint64
	_ *lease // a pointer keeps it out of blocks that are shared with others
}

// leases are those that were given out.
type leases struct {
	current atomic.Pointer[lease]
	book    *leaseBook
}

// leaseBook says which leases have not ended. It refers to none: what the collector
// is to call must not keep what it waits for.
type leaseBook struct {
	mu   sync.Mutex
	last uint64
	live map[uint64]bool
}

func (l *leases) init() {
	l.book = &leaseBook{live: map[uint64]bool{}}
	l.next()
}

// Load returns the present lease.
func (l *leases) Load() *lease { return l.current.Load() }

// next ends the giving out of the present lease and returns its number and the next
// one.
func (l *leases) next() (before uint64, now *lease) {
	b := l.book
	b.mu.Lock()
	defer b.mu.Unlock()
	before = b.last
	b.last++
	b.live[b.last] = true
	now = &lease{n: b.last}
	runtime.AddCleanup(now, b.end, now.n)
	l.current.Store(now)
	return before, now
}

// end notes that no state has a lease any more. It is called by the collector, and
// wakes nobody: who waits for it looks now and then.
func (b *leaseBook) end(n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.live, n)
}

// over reports whether all leases up to n have ended.
func (l *leases) over(n uint64) bool {
	b := l.book
	b.mu.Lock()
	defer b.mu.Unlock()
	for k := range b.live {
		if k <= n {
			return false
		}
	}
	return true
}

package vfs

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
)

// CrashOptions chooses among the images of one crash. The zero value is usable.
type CrashOptions struct {
	// Boundaries returns offsets in the file at which the last write may be
	// cut with interest (frame bounds): it is cut there and one byte to each
	// side, beside the multiples of 512.
	Boundaries func(write Op) []int64
	// Block is the unit in which a write is lost piece by piece; 4096 if zero.
	Block int64
	// Mixtures is the number of random images; 8 if zero, none if negative.
	Mixtures int
	// Seed makes mixtures and samples; equal seeds give equal images.
	Seed uint64
	// Max bounds the single losses, and the cuts, to so many each by taking a
	// random sample; 512 if zero.
	Max int
}

func (o CrashOptions) withDefaults() CrashOptions {
	if o.Block <= 0 {
		o.Block = pageSize
	}
	if o.Mixtures == 0 {
		o.Mixtures = 8
	}
	if o.Max <= 0 {
		o.Max = 512
	}
	return o
}

// sectorSize is what a device writes wholly or not at all.
const sectorSize = 512

// CrashImages yields what a crash right after operation n (0: before the
// first) may leave, each as a new Mem in which everything is durable and
// nothing is open or locked:
//
//   - "synced", the only image when nothing is unsynced; otherwise
//   - "lost": nothing unsynced survives; "kept": all of it does;
//   - "sizes": files have their new sizes and names but none of the new bytes;
//   - "without …": all but one operation, or all but one block of a write;
//   - "cut …": all, but operation n, a write, only up to some byte;
//   - "mixture …": each piece kept, lost or, for a write, torn at sectors, by chance.
//
// The name says what the image is and is the same in every run. Nothing is
// yielded when n is not in FirstOp()…Ops().
func (m *Mem) CrashImages(n int, o CrashOptions) iter.Seq2[string, *Mem] {
	o = o.withDefaults()
	return func(yield func(string, *Mem) bool) {
		s := m.stateAt(n)
		if s == nil {
			return
		}
		c := crash{s: s, us: s.units(o.Block), o: o, yield: yield, seen: map[string]bool{}}
		c.rng = rand.New(rand.NewPCG(o.Seed, uint64(n)))
		c.run(m.opAt(n))
	}
}

func (m *Mem) opAt(n int) Op {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.log.op(n)
}

// crash is one enumeration of images.
type crash struct {
	s     *state
	us    []unit
	o     CrashOptions
	rng   *rand.Rand
	yield func(string, *Mem) bool
	seen  map[string]bool // choices yielded
}

// emit yields the image of a choice once, and tells whether to go on.
func (c *crash) emit(keep choice, format string, args ...any) bool {
	if !c.first('=', keep) {
		return true
	}
	return c.yield(fmt.Sprintf(format, args...), memOf(c.s.image(c.us, keep)))
}

// first tells whether the choice is new for this way of building an image.
func (c *crash) first(how byte, keep choice) bool {
	key := []byte{how}
	for _, ranges := range keep {
		key = binary.AppendUvarint(key, uint64(len(ranges)))
		for _, x := range ranges {
			key = binary.AppendVarint(binary.AppendVarint(key, x.lo), x.hi)
		}
	}
	if c.seen[string(key)] {
		return false
	}
	c.seen[string(key)] = true
	return true
}

func (c *crash) all() choice {
	keep := make(choice, len(c.us))
	for i := range c.us {
		keep[i] = c.us[i].whole()
	}
	return keep
}

func (c *crash) run(last Op) {
	if len(c.us) == 0 {
		c.emit(nil, "synced")
		return
	}
	_ = c.emit(make(choice, len(c.us)), "lost") &&
		c.emit(c.all(), "kept") &&
		c.sizes() && c.losses() && c.cuts(last) && c.mixtures()
}

// sizes models a file system that commits its metadata before the data. The
// blocks of a write that made the file longer become zeros.
func (c *crash) sizes() bool {
	keep := c.all()
	data := false
	for i := range c.us {
		if c.us[i].isWrite() {
			keep[i], data = nil, true
		}
	}
	if !data {
		return true
	}
	img := c.s.image(c.us, keep)
	sizes := map[uint64]int64{}
	for _, n := range c.s.files() {
		if len(n.pend) > 0 {
			sizes[n.id] = n.cur.size
		}
	}
	changed := false
	for _, n := range img.files() {
		if size, ok := sizes[n.id]; ok && size > n.cur.size {
			n.cur.resize(size)
			n.dur.resize(size)
			changed = true
		}
	}
	if !changed {
		return c.emit(keep, "sizes")
	}
	return c.yield("sizes", memOf(img))
}

// losses drops one operation, and then one block, at a time.
func (c *crash) losses() bool {
	type group struct{ from, to int }
	var groups []group
	for i := range c.us {
		if n := len(groups); n > 0 && sameOp(&c.us[i], &c.us[groups[n-1].from]) {
			groups[n-1].to = i + 1
		} else {
			groups = append(groups, group{i, i + 1})
		}
	}
	lose := func(g group, name string) bool {
		keep := c.all()
		clear(keep[g.from:g.to])
		return c.emit(keep, "without op %d: %s", c.us[g.from].seq, name)
	}
	for _, i := range c.sample(len(groups)) {
		g := groups[i]
		u := c.us[g.from]
		u.hi = c.us[g.to-1].hi
		if !lose(g, u.String()) {
			return false
		}
	}
	for _, i := range c.sample(len(c.us)) {
		if !lose(group{i, i + 1}, c.us[i].String()) {
			return false
		}
	}
	return true
}

func sameOp(a, b *unit) bool {
	return a.seq == b.seq && a.dir == nil && b.dir == nil && a.piece == b.piece
}

// sample returns the indexes below n, or Max of them, in order.
func (c *crash) sample(n int) []int {
	var out []int
	left := min(n, c.o.Max)
	for i := 0; i < n && left > 0; i++ {
		if c.rng.IntN(n-i) < left {
			out = append(out, i)
			left--
		}
	}
	return out
}

// cuts tears the last operation, if it is a write that is not durable.
func (c *crash) cuts(last Op) bool {
	if last.Kind != OpWrite {
		return true
	}
	lo, hi := last.Off, last.Off+last.Size
	var at []int64
	for x := (lo/sectorSize + 1) * sectorSize; x < hi; x += sectorSize {
		at = append(at, x)
	}
	if c.o.Boundaries != nil {
		for _, b := range c.o.Boundaries(last) {
			for x := b - 1; x <= b+1; x++ {
				if x > lo && x < hi {
					at = append(at, x)
				}
			}
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	for _, i := range c.sample(len(at)) {
		keep, cut := c.all(), at[i]
		torn := false
		for k := range c.us {
			if u := &c.us[k]; u.isWrite() && u.seq == last.N {
				keep[k] = spans{{u.lo, u.hi}}.sub(cut, u.hi)
				torn = true
			}
		}
		if torn && !c.emit(keep, "cut op %d: %s at %d", last.N, last, cut) {
			return false
		}
	}
	return true
}

// mixtures keeps each unit with a probability that is itself drawn per image,
// so that images with little kept and with little lost both occur.
func (c *crash) mixtures() bool {
	for i := range max(0, c.o.Mixtures) {
		p := []float64{0.1, 0.5, 0.9}[c.rng.IntN(3)]
		keep := make(choice, len(c.us))
		for k := range c.us {
			u := &c.us[k]
			switch {
			case c.rng.Float64() < p:
				keep[k] = u.whole()
			case u.isWrite() && c.rng.IntN(4) == 0:
				keep[k] = c.tear(u)
			}
		}
		if !c.emit(keep, "mixture %d seed %d", i, c.o.Seed) {
			return false
		}
	}
	return true
}

// tear keeps each sector of a write by chance.
func (c *crash) tear(u *unit) spans {
	var keep spans
	for lo := u.lo; lo < u.hi; {
		hi := min(u.hi, (lo/sectorSize+1)*sectorSize)
		if c.rng.IntN(2) == 0 {
			keep = keep.add(lo, hi)
		}
		lo = hi
	}
	return keep
}

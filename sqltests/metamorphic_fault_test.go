package sqltests

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/tidemarkdb/tidemark/driver"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A metaFailure is a fault of the file system that a list arms. Its text is
//
//	KIND N [sticky] [after] [crash]
//
// The N-th operation of the kind fails from then on, counted over all files of
// the store; "space" counts units of 512 bytes that are left instead. With
// "sticky" all later ones fail, too, until somebody notices; with "after" the
// operation is done and reported as failed. A store that is poisoned by it is
// closed and opened again, or with "crash" opened as a crash leaves it.
type metaFailure struct {
	kind                 string
	n                    int
	sticky, after, crash bool
}

const metaSpace = "space"

var metaFailures = map[string]vfs.Rule{
	"write":    {Kinds: vfs.OpWrite},
	"torn":     {Kinds: vfs.OpWrite, Short: 64},
	"full":     {Kinds: vfs.OpPreallocate | vfs.OpCreate | vfs.OpMkdir, Err: syscall.ENOSPC},
	"sync":     {Kinds: vfs.OpSyncData | vfs.OpSync},
	"syncdir":  {Kinds: vfs.OpSyncDir},
	"name":     {Kinds: vfs.OpCreate | vfs.OpMkdir | vfs.OpRename | vfs.OpRemove},
	"size":     {Kinds: vfs.OpTruncate | vfs.OpPreallocate},
	"read":     {Kinds: vfs.OpRead | vfs.OpMap | vfs.OpMapRead | vfs.OpOpen | vfs.OpOpenRead | vfs.OpSize | vfs.OpStat | vfs.OpList},
	"any":      {Kinds: vfs.AllOps},
	"mutating": {Kinds: vfs.MutatingOps},
}

var metaFailureKinds = func() []string {
	list := []string{metaSpace}
	for k := range metaFailures {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}()

func parseMetaFailure(text string) (f metaFailure, err error) {
	words := strings.Fields(text)
	if len(words) < 2 || !slices.Contains(metaFailureKinds, words[0]) {
		return f, fmt.Errorf("%q is no fault: the kinds are %v, then a number", text, metaFailureKinds)
	}
	f.kind = words[0]
	if f.n, err = strconv.Atoi(words[1]); err != nil {
		return f, err
	}
	for _, w := range words[2:] {
		switch w {
		case "sticky":
			f.sticky = true
		case "after":
			f.after = true
		case "crash":
			f.crash = true
		default:
			return f, fmt.Errorf("%q has an unknown word %s", text, w)
		}
	}
	return f, nil
}

// plainer lists the texts of weaker faults.
func (f metaFailure) plainer() (out []string) {
	try := func(weaker metaFailure) {
		if weaker != f {
			out = append(out, weaker.String())
		}
	}
	g := f
	g.sticky = false
	try(g)
	g = f
	g.after = false
	try(g)
	g = f
	g.crash = false
	try(g)
	for _, n := range []int{1, f.n / 2, f.n - 1} {
		if n >= 1 && n < f.n {
			g = f
			g.n = n
			try(g)
		}
	}
	return out
}

func (f metaFailure) String() string {
	s := f.kind + " " + strconv.Itoa(f.n)
	if f.sticky {
		s += " sticky"
	}
	if f.after {
		s += " after"
	}
	if f.crash {
		s += " crash"
	}
	return s
}

// fault adds a fault that the next operations may meet.
func (g *metaGen) fault() {
	f := metaFailure{kind: g.one(metaFailureKinds...), n: g.between(1, 3), sticky: g.in(3), after: g.in(4), crash: g.in(2)}
	switch f.kind {
	case "any", "mutating", "read":
		f.n = g.between(1, 30)
	case "full": // comes back until there is room
		f.n, f.sticky = 1, !g.in(4)
	case metaSpace:
		f.n = g.between(0, 4)
	}
	g.add(metaOp{verb: metaFault, text: f.String()})
}

// arm makes the faults of the disk those of the text.
func (d *metaDisk) arm(text string) error {
	f, err := parseMetaFailure(text)
	if err != nil {
		return err
	}
	d.fault.Clear()
	d.crash = f.crash
	if f.kind == metaSpace {
		d.fault.SetSpace(int64(f.n) << 9)
		return nil
	}
	r := metaFailures[f.kind]
	r.N, r.Sticky, r.After = f.n, f.sticky, f.after
	d.fault.Fail(r)
	return nil
}

// hit reports whether a fault happened since the store was opened.
func (d *metaDisk) hit() bool { return d.fault.Injected() > d.before }

// byFault reports whether an error tells of a fault that happened.
func (d *metaDisk) byFault(err error) bool { return d.hit() && ofDisk(err) }

func ofDisk(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, driver.ErrPoisoned)
}

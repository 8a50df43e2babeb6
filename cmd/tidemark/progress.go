package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// How often progress is shown: a bar is redrawn often enough to look alive, a
// line goes to a log where each one stays.
const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 5 * time.Second
)

// progress shows how far long work has got: a bar on a terminal, a plain line
// every few seconds elsewhere. Work that ends sooner leaves no line.
type progress struct {
	w        io.Writer
	what     string // the work: "check"
	unit     string // of what is counted: "bytes"
	terminal bool
	width    func() int
	now      func() time.Time
	shown    time.Time // when something was shown last, or the start
	drawn    bool      // a bar is on the screen
}

func newProgress(w io.Writer, what, unit string) *progress {
	return &progress{
		w: w, what: what, unit: unit, terminal: isTerminal(w),
		width: func() int { return terminalWidth(w) }, now: time.Now, shown: time.Now(),
	}
}

// update is called with what is done and what there is to do; a total of 0 is
// not known.
func (p *progress) update(done, total int64) {
	every := lineEvery
	if p.terminal {
		every = barEvery
	}
	now := p.now()
	if now.Sub(p.shown) < every {
		return
	}
	p.shown = now
	if !p.terminal {
		fmt.Fprintf(p.w, "%s: %s\n", p.what, p.count(done, total))
		return
	}
	p.drawn = true
	fmt.Fprint(p.w, "\r"+p.bar(done, total)+"\x1b[K")
}

// count says in words how far the work is.
func (p *progress) count(done, total int64) string {
	if total <= 0 {
		return fmt.Sprintf("%d %s", done, p.unit)
	}
	return fmt.Sprintf("%d of %d %s (%d%%)", done, total, p.unit, percent(done, total))
}

// bar is a line that fits the terminal. Where there is no room for a bar, or no
// total, it is the count alone.
func (p *progress) bar(done, total int64) string {
	text := p.what + " " + p.count(done, total)
	room := p.width() - 1
	if len(text) > room {
		text = text[:max(room, 0)]
	}
	size := min(room-len(text)-3, 40)
	if total <= 0 || size < 5 {
		return text
	}
	full := int(int64(size) * percent(done, total) / 100)
	return p.what + " [" + strings.Repeat("#", full) + strings.Repeat(".", size-full) + "] " + p.count(done, total)
}

// percent is the share that is done, never more than all.
func percent(done, total int64) int64 {
	return int64(100 * min(float64(done)/float64(total), 1))
}

// clear takes the bar away, so that a line can be written.
func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// clock is a time that moves only when it is told to.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func testProgress(width int) (*progress, *bytes.Buffer, *clock) {
	var b bytes.Buffer
	c := &clock{time.Unix(1000, 0)}
	p := newProgress(&b, "import", "rows")
	p.now, p.shown, p.width = c.now, c.t, func() int { return width }
	return p, &b, c
}

// Elsewhere than on a terminal there is a line every few seconds.
func TestProgressLines(t *testing.T) {
	p, b, c := testProgress(80)
	for done := range int64(12) {
		p.update(done, 11)
		c.t = c.t.Add(time.Second)
	}
	p.update(3000, 0)
	p.clear()
	if want := "import: 5 of 11 rows (45%)\nimport: 10 of 11 rows (90%)\n"; b.String() != want {
		t.Errorf("lines %q, want %q", b.String(), want)
	}
	c.t = c.t.Add(lineEvery)
	p.update(3000, 0)
	if !strings.HasSuffix(b.String(), "\nimport: 3000 rows\n") {
		t.Errorf("without a total: %q", b.String())
	}
}

// A bar is never wider than the terminal, is redrawn only so often, and is
// taken away in the end.
func TestProgressBar(t *testing.T) {
	for _, width := range []int{0, 1, 10, 30, 40, 60, 80, 200} {
		p, b, c := testProgress(width)
		p.terminal = true
		p.update(1, 2)
		if b.Len() != 0 {
			t.Fatalf("width %d: a bar at once: %q", width, b.String())
		}
		c.t = c.t.Add(barEvery)
		p.update(1, 2)
		p.update(2, 2)
		drawn := b.String()
		line := strings.TrimSuffix(strings.TrimPrefix(drawn, "\r"), "\x1b[K")
		if strings.Count(drawn, "\r") != 1 || len(line) >= max(width, 1) {
			t.Errorf("width %d: %q", width, drawn)
		}
		if width == 80 && line != "import [####################....................] 1 of 2 rows (50%)" {
			t.Errorf("bar %q", line)
		}
		p.clear()
		p.clear()
		if got := strings.TrimPrefix(b.String(), drawn); got != "\r\x1b[K" {
			t.Errorf("width %d: cleared with %q", width, got)
		}
	}
}

package engine

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// TestPaceWindows feeds samples, a letter each: f is a fast one, s a slow one.
func TestPaceWindows(t *testing.T) {
	f := func(n int) string { return strings.Repeat("f", n) }
	s := func(n int) string { return strings.Repeat("s", n) }
	for _, tc := range []struct {
		name    string
		from    way
		samples string
		want    way
		seen    int // samples of the window that is not full yet
	}{
		{"nothing", byMapping, "", byMapping, 0},
		{"all from memory", byMapping, f(5 * sampleWindow), byMapping, 0},
		{"a few from the disk", byMapping, strings.Repeat(s(slowToLeave-1)+f(sampleWindow-slowToLeave+1), 4), byMapping, 0},
		{"few enough in each window", byMapping, f(sampleWindow-slowToLeave+1) + s(2*slowToLeave-2), byMapping, slowToLeave - 1},
		{"enough to leave", byMapping, f(10) + s(slowToLeave), byHandle, 0},
		{"enough in the last place", byMapping, f(sampleWindow-slowToLeave) + s(slowToLeave), byHandle, 0},
		{"the window begins anew", byMapping, s(slowToLeave) + f(sampleWindow-1), byHandle, sampleWindow - 1},
		{"and back", byMapping, s(slowToLeave) + f(sampleWindow), byMapping, 0},
		{"few enough to return", byHandle, s(slowToReturn) + f(sampleWindow-slowToReturn), byMapping, 0},
		{"too many to return", byHandle, s(slowToReturn+1) + f(sampleWindow-slowToReturn-1), byHandle, 0},
		{"all from the disk", byHandle, s(5 * sampleWindow), byHandle, 0},
		{"a share between", byHandle, strings.Repeat(s(slowToReturn+1)+f(sampleWindow-slowToReturn-1), 4), byHandle, 0},
		{"the same share between", byMapping, strings.Repeat(s(slowToReturn+1)+f(sampleWindow-slowToReturn-1), 4), byMapping, 0},
	} {
		var got timings
		w := tc.from
		for _, c := range tc.samples {
			w = got.add(w, c == 's')
		}
		if w != tc.want || got.seen != tc.seen {
			t.Errorf("%s: way %d with %d samples; want %d with %d", tc.name, w, got.seen, tc.want, tc.seen)
		}
	}
}

// readerFunc is a ReadAt.
type readerFunc func(b []byte, off int64) (int, error)

func (f readerFunc) ReadAt(b []byte, off int64) (int, error) { return f(b, off) }
func (f readerFunc) Close() error                            { return nil }

// TestPaceSamples: which reads are timed, and what counts as slow.
func TestPaceSamples(t *testing.T) {
	var clock time.Time
	asked := 0
	p := pace{now: func() time.Time { asked++; return clock }}
	read := func(r *objectReader, times int, took time.Duration, n int, err error) {
		t.Helper()
		r.ReaderAt = readerFunc(func(b []byte, off int64) (int, error) {
			clock = clock.Add(took)
			return n, err
		})
		for range times {
			if m, e := p.readAt(r, make([]byte, n), 0); m != n || !errors.Is(e, err) {
				t.Fatalf("%d, %v; want %d, %v", m, e, n, err)
			}
		}
	}
	sealed, active := &objectReader{own: readerFunc(nil)}, &objectReader{}
	for _, tc := range []struct {
		r    *objectReader
		took time.Duration
		n    int
		err  error
		want timings
	}{
		{sealed, slowRead, 0, nil, timings{3, 0}},
		{sealed, slowRead + 1, 0, nil, timings{3, 3}},
		{sealed, slowRead + 100, 100, io.EOF, timings{3, 0}},
		{sealed, slowRead + 101, 100, io.EOF, timings{3, 3}},
		{sealed, time.Second, 0, errors.New("failed"), timings{}}, // it says nothing about the next
		{active, time.Second, 0, nil, timings{}},
		{&objectReader{own: readerFunc(nil), way: byHandle}, time.Second, 0, nil, timings{}}, // of another way
	} {
		name := fmt.Sprintf("%v for %d bytes, %v, way %d", tc.took, tc.n, tc.err, tc.r.way)
		p.window, asked = timings{}, 0
		read(tc.r, 3*sampleEvery, tc.took, tc.n, tc.err)
		if p.window != tc.want {
			t.Errorf("%s: %+v, want %+v", name, p.window, tc.want)
		}
		if timed := asked == 6; timed != (tc.r.own != nil) {
			t.Errorf("%s: the clock was asked %d times", name, asked)
		}
	}
	// A read that is not timed and one that is make no garbage.
	sealed.ReaderAt = readerFunc(func(b []byte, off int64) (int, error) { return len(b), nil })
	b := make([]byte, 8)
	if n := testing.AllocsPerRun(10*sampleEvery, func() { _, _ = p.readAt(sealed, b, 0) }); n != 0 {
		t.Errorf("%v allocations a read", n)
	}
}

package vfs

import (
	"errors"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func testLock(t *testing.T, f FS) {
	l, err := f.Lock("LOCK")
	ok(t, err)
	wantList(t, f, ".", "LOCK")
	_, err = f.Lock("LOCK")
	wantErr(t, err, ErrLocked)
	for _, text := range []string{"pid 12345", "pid 1", "", "a longer text than before"} {
		ok(t, l.Write([]byte(text)))
		got, err := l.Read()
		ok(t, err)
		if string(got) != text {
			t.Fatalf("lock holds %q, want %q", got, text)
		}
		wantContent(t, f, "LOCK", text) // without the lock, too
	}
	peek := func(text string, held bool) {
		t.Helper()
		got, is, err := f.PeekLock("LOCK")
		ok(t, err)
		if string(got) != text || is != held {
			t.Fatalf("a look at the lock: %q, held %v; want %q, %v", got, is, text, held)
		}
	}
	peek("a longer text than before", true)
	long := strings.Repeat("lsn 12345678901234567890\n", 8000) // as many timelines as nobody has
	ok(t, l.Write([]byte(long)))
	peek(long, true)
	ok(t, l.Write([]byte("a longer text than before")))
	_, _, err = f.PeekLock("never")
	wantErr(t, err, fs.ErrNotExist)
	other, err := f.Lock("OTHER")
	ok(t, err)
	ok(t, other.Close())
	ok(t, l.Close())
	wantErr(t, l.Close(), fs.ErrClosed)
	wantErr(t, l.Write(nil), fs.ErrClosed)
	_, err = l.Read()
	wantErr(t, err, fs.ErrClosed)
	// The file stays, with its contents, and can be locked again.
	peek("a longer text than before", false)
	l, err = f.Lock("LOCK")
	ok(t, err)
	got, err := l.Read()
	ok(t, err)
	if string(got) != "a longer text than before" {
		t.Fatalf("a lock file lost its contents: %q", got)
	}
	ok(t, l.Close())
	_, err = f.Lock("none/LOCK")
	wantErr(t, err, fs.ErrNotExist)
	ok(t, f.Mkdir("d"))
	if _, err = f.Lock("d"); err == nil {
		t.Fatal("locked a directory")
	}
	// Who looks is in nobody's way.
	looking, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looking)
		for {
			select {
			case <-stop:
				return
			default:
				if _, _, err := f.PeekLock("LOCK"); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	for range 200 {
		l, err := f.Lock("LOCK")
		ok(t, err)
		ok(t, l.Close())
	}
	close(stop)
	<-looking
	// Many at once: one at a time gets it.
	var wg sync.WaitGroup
	var mu sync.Mutex
	holders, got1 := 0, 0
	for range 8 {
		wg.Go(func() {
			for range 50 {
				l, err := f.Lock("LOCK")
				if errors.Is(err, ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if holders++; holders != 1 {
					t.Errorf("%d holders", holders)
				}
				got1++
				mu.Unlock()
				mu.Lock()
				holders--
				mu.Unlock()
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got1 == 0 {
		t.Error("nobody got the lock")
	}
}

func testMap(t *testing.T, f FS) {
	text := strings.Repeat("0123456789", 1000)
	file := create(t, f, "a", text)
	m, err := file.Map()
	ok(t, err)
	if m.Len() != len(text) {
		t.Fatalf("mapped %d bytes of %d", m.Len(), len(text))
	}
	read := func(off int64, n int) (string, error) {
		p := make([]byte, n)
		n, err := m.ReadAt(p, off)
		return string(p[:n]), err
	}
	for _, c := range []struct {
		off  int64
		n    int
		want string
		err  error
	}{
		{0, len(text), text, nil},
		{4090, 20, text[4090:4110], nil},
		{9_995, 10, "56789", io.EOF},
		{10_000, 1, "", io.EOF},
		{20_000, 1, "", io.EOF},
	} {
		if got, err := read(c.off, c.n); got != c.want || err != c.err {
			t.Errorf("map read %d at %d: %q, %v; want %q, %v", c.n, c.off, short(got), err, short(c.want), c.err)
		}
	}
	if _, err := read(-1, 1); err == nil {
		t.Error("map read at a negative offset")
	}
	// The mapping is of the file, not of a copy, and outlives handle and name.
	write(t, file, "NEW", 5)
	if got, err := read(4, 5); got != "4NEW8" || err != nil {
		t.Errorf("a write is not seen: %q, %v", got, err)
	}
	if runtime.GOOS != "windows" {
		ok(t, f.Rename("a", "b"))
		again, err := file.Map() // of a file that was renamed
		ok(t, err)
		ok(t, again.Close())
		ok(t, f.Remove("b"))
		// A cut under a mapping is an error and not a crash.
		ok(t, file.Truncate(4096))
		if got, err := read(0, 4096); err != nil || len(got) != 4096 {
			t.Errorf("what is left reads %d bytes, %v", len(got), err)
		}
		_, err = read(8192, 10)
		wantErr(t, err, ErrPageFault)
	}
	ok(t, file.Close())
	if got, err := read(0, 3); got != "012" || err != nil {
		t.Errorf("after the file was closed: %q, %v", got, err)
	}
	ok(t, m.Close())
	_, err = read(0, 1)
	wantErr(t, err, fs.ErrClosed)
	wantErr(t, m.Close(), fs.ErrClosed)

	empty := create(t, f, "empty", "")
	defer empty.Close()
	m, err = empty.Map()
	ok(t, err)
	if m.Len() != 0 {
		t.Errorf("an empty file maps %d bytes", m.Len())
	}
	if _, err := read(0, 1); err != io.EOF {
		t.Errorf("read of an empty mapping: %v", err)
	}
	ok(t, m.Close())
}

package engine

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// trickleFS watches how far files are written, and handed on to their medium.
type trickleFS struct {
	vfs.FS
	mu    sync.Mutex
	files map[string]*trickleFile // by name
	wrong []string
}

type trickleFile struct {
	vfs.File
	fs             *trickleFS
	name           string
	size, sent     int64
	synced         int64 // size at the last sync
	pending, piece int64 // most that was handed on late, and most at once
}

func (f *trickleFS) Create(name string) (vfs.File, error) {
	file, err := f.FS.Create(name)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t := &trickleFile{File: file, fs: f, name: name}
	f.files[name] = t
	return t, nil
}

func (t *trickleFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := t.File.WriteAt(p, off)
	t.fs.mu.Lock()
	defer t.fs.mu.Unlock()
	t.size = max(t.size, off+int64(n))
	return n, err
}

func (t *trickleFile) WriteBack(off, n int64) {
	t.File.WriteBack(off, n)
	t.fs.mu.Lock()
	defer t.fs.mu.Unlock()
	if off != t.sent || n <= 0 || off+n > t.size {
		t.fs.wrong = append(t.fs.wrong, fmt.Sprintf("%s: %d bytes at %d, after %d of %d", t.name, n, off, t.sent, t.size))
	}
	t.sent = off + n
	t.piece = max(t.piece, n)
}

func (t *trickleFile) Sync() error {
	t.fs.mu.Lock()
	t.pending = max(t.pending, t.size-max(t.sent, t.synced))
	t.synced = t.size
	t.fs.mu.Unlock()
	return t.File.Sync()
}

// TestTrickle: no sync of a file of a compaction, of its segments or of a backup has
// much to write that was not on its way before, and what is on its way is handed on in
// small pieces, in order.
func TestTrickle(t *testing.T) {
	dir := t.TempDir()
	w := &trickleFS{FS: vfs.OS(dir), files: map[string]*trickleFile{}}
	s, err := Open(t.Context(), Options{Dir: dir, FS: w, Create: true, NoCompaction: true, Sync: SyncOff})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	update(t, s, createTable("t"))
	update(t, s, func(tx *Tx) error {
		for i := range int64(12_000) {
			if err := put("t", i, i, fmt.Sprintf("%06d%s", i, strings.Repeat("x", 120)))(tx); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, s.Compact(t.Context(), nil))
	to := filepath.Join(t.TempDir(), "backup")
	copied := &trickleFS{FS: vfs.OS(to), files: map[string]*trickleFile{}}
	s.opts.backupFS = func(string) (vfs.FS, vfs.FS) { return copied, vfs.OS(to) }
	_, err = s.RunJob(t.Context(), JobRequest{Kind: JobBackup, Target: to})
	must(t, err)
	w.check(t)
	copied.check(t)
}

func (w *trickleFS) check(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.wrong {
		t.Error(line)
	}
	seen := map[string]int{}
	for name, f := range w.files {
		if f.sent == 0 { // a log, which is synced as it grows, or a small one
			continue
		}
		seen[path.Ext(name)]++
		if f.pending >= 2*tricklePiece {
			t.Errorf("%s of %d bytes: %d of them are left to a sync", name, f.size, f.pending)
		}
		if f.piece > tricklePiece {
			t.Errorf("%s: %d bytes handed on at once", name, f.piece)
		}
	}
	if seen[".kv"] != 1 || seen[".index"] == 0 {
		t.Errorf("handed on: %v; want a base and a segment", seen)
	}
}

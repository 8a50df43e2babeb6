package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// testShards lets every test that does not say how many shards its store has
// run with another number of them.
var testShards = flag.Int("shards", 1, "number of shards of the stores in tests that do not set it")

// openStore opens a store for a test. At the end of the test the store is
// closed, opened once more, checked, closed again, and nothing of it may be
// left open: no file, no lock, no goroutine.
func openStore(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Create = true
	if o.Shards == 0 {
		o.Shards = *testShards
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := s.Close()
		if err != nil && !errors.Is(err, ErrPoisoned) {
			t.Errorf("close: %v", err)
		}
		o := o
		o.CatalogSeam = nil
		if f, ok := o.FS.(*vfs.Fault); ok {
			f.Clear()
		}
		again, err := Open(context.Background(), o)
		if err != nil {
			t.Errorf("reopen: %v", err)
			return
		}
		checkStore(t, again)
		if err := again.Close(); err != nil {
			t.Errorf("close after reopen: %v", err)
		}
		checkLeaks(t, o.FS)
	})
	return s
}

// overShards runs a test on stores of one and of several shards.
func overShards(t *testing.T, f func(t *testing.T, shards int)) {
	for _, shards := range []int{1, 3} {
		t.Run(fmt.Sprintf("shards %d", shards), func(t *testing.T) { f(t, shards) })
	}
}

// checkStore fails the test for everything that Check finds.
func checkStore(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Check(context.Background(), func(f Finding) { t.Errorf("check: %v", f) }, nil); err != nil {
		t.Errorf("check: %v", err)
	}
	for _, r := range []*root{s.durable.Load(), s.head.Load()} {
		sum := int64(0)
		for _, table := range r.tables {
			sum += table.ResidentBytes()
			if src := table.src; src != nil && (len(src.staged) > 0 || src.bytes != 0) {
				t.Errorf("table %q keeps %d rows of a transaction that ended", table.def.Name, len(src.staged))
			}
		}
		if r.memory != sum {
			t.Errorf("the state of commit %d is said to take %d bytes, its tables %d", r.lsn, r.memory, sum)
		}
	}
}

// checkLeaks looks for files and goroutines of closed stores.
func checkLeaks(t testing.TB, fs vfs.FS) {
	t.Helper()
	if m, ok := fs.(*vfs.Mem); ok {
		if open := m.OpenFiles(); len(open) > 0 {
			t.Errorf("still open: %v", open)
		}
	}
	if n := loopsRunning(); n > 0 {
		t.Errorf("%d goroutines of closed stores are still running", n)
	}
}

// eventually waits for a condition that other goroutines bring about.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for range 20000 {
		if cond() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

func loopsRunning() int {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	return strings.Count(string(buf), "engine.(*Store).syncLoop") + strings.Count(string(buf), "engine.(*Store).housekeep") + strings.Count(string(buf), "engine.(*Store).sealLoop") +
		strings.Count(string(buf), "engine.(*Store).compactLoop")
}

// update runs f in a transaction and returns its LSN without waiting for it.
func update(t testing.TB, s *Store, f func(tx *Tx) error) LSN {
	t.Helper()
	lsn, err := tryUpdate(s, f)
	if err != nil {
		t.Fatal(err)
	}
	return lsn
}

func tryUpdate(s *Store, f func(tx *Tx) error) (LSN, error) {
	tx, err := s.Begin(context.Background())
	if err != nil {
		return 0, err
	}
	if err := f(tx); err != nil {
		tx.Rollback()
		return 0, err
	}
	if err := tx.Prepare(); err != nil {
		tx.Rollback()
		return 0, err
	}
	return tx.Commit(), nil
}

// nudge lets the syncer take what gathered, as a waiter with a deadline does,
// unless a batch is under way. Otherwise whoever waits syncs.
func nudge(s *Store) {
	for {
		s.mu.Lock()
		taken := s.pipe.busy || !s.pipe.due(s.opts.Sync)
		s.pipe.work.Signal()
		s.mu.Unlock()
		if taken {
			return
		}
		runtime.Gosched()
	}
}

func wait(t testing.TB, s *Store, lsn LSN) {
	t.Helper()
	if err := s.WaitDurable(context.Background(), lsn); err != nil {
		t.Fatal(err)
	}
}

// createTable makes a table of two columns, with an index on the second.
func createTable(name string) func(tx *Tx) error { return createTableAs(name, ResidentAll) }

func createTableAs(name string, resident Resident) func(tx *Tx) error {
	return func(tx *Tx) error {
		def := testTable(name, 2)
		def.Resident = resident
		def.Indexes = []*IndexDef{testIndex(name+"_c1", false, 1)}
		return tx.Apply(CreateTable{Def: def})
	}
}

// put inserts or updates a row of a table by name.
func put(name string, rowid int64, vals ...any) func(tx *Tx) error {
	return func(tx *Tx) error {
		o := tx.Schema().Lookup(name)
		if o == nil {
			return fmt.Errorf("no table %s", name)
		}
		h := tx.Handle(o.Table.ID)
		err := h.Insert(rowid, testRecord(vals...))
		if errors.Is(err, ErrExists) {
			err = h.Update(rowid, testRecord(vals...))
		}
		return err
	}
}

func remove(name string, rowid int64) func(tx *Tx) error {
	return func(tx *Tx) error { return tx.Handle(tx.Schema().Lookup(name).Table.ID).Delete(rowid) }
}

// all runs several steps in one transaction.
func all(steps ...func(tx *Tx) error) func(tx *Tx) error {
	return func(tx *Tx) error {
		for _, f := range steps {
			if err := f(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// dump is the whole content of a snapshot as text.
func dump(s *Snapshot) string { return dumpOf(s.Schema(), s.Table) }

// lostRows is what a dump says of a keys table whose rows cannot be read: after
// Close, when a read fails, or when a failed sync took some.
const lostRows = " rows are lost\n"

// sameState reports whether two dumps are the same, but for rows that one of them
// could not read.
func sameState(a, b string) bool {
	if a == b {
		return true
	}
	left, right := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	rows := func(lines []string) []string {
		for len(lines) > 0 && strings.HasPrefix(lines[0], " ") && !strings.HasPrefix(lines[0], " index") {
			lines = lines[1:]
		}
		return lines
	}
	for len(left) > 0 && len(right) > 0 {
		switch {
		case left[0] == lostRows || right[0] == lostRows:
			left, right = rows(left), rows(right)
		case left[0] != right[0]:
			return false
		default:
			left, right = left[1:], right[1:]
		}
	}
	return len(left)+len(right) == 0
}

// dumpMemory is dump without the rows that are read from files, which end with
// the store.
func dumpMemory(s *Snapshot) string {
	return dumpOf(s.Schema(), func(id TableID) *Table {
		if t := s.Table(id); t.src == nil {
			return t
		}
		return newTable(s.Table(id).def, nil)
	})
}

// dumpTx is what dump will say of the state a transaction leaves.
func dumpTx(tx *Tx) string { return dumpOf(tx.Schema(), tx.View) }

func dumpOf(s *Schema, table func(TableID) *Table) string {
	var b strings.Builder
	var line []byte
	for _, o := range s.Objects() {
		fmt.Fprintf(&b, "%s %s %s\n", o.Kind, o.Name, o.SQL)
		if o.Kind != KindTable {
			continue
		}
		for _, ix := range o.Table.Indexes {
			fmt.Fprintf(&b, " index %s %v", ix.Name, ix.Columns)
			if ix.Where > 0 {
				fmt.Fprintf(&b, " of rows with column %d", ix.Where-1)
			}
			b.WriteByte('\n')
		}
		err := table(o.Table.ID).each(func(rowid int64, rec row.Record) {
			line = strconv.AppendInt(append(line[:0], ' '), rowid, 10)
			line = hex.AppendEncode(append(line, ' '), []byte(rec))
			b.Write(append(line, '\n'))
		})
		var damage *CorruptError
		switch {
		case errors.As(err, &damage):
			fmt.Fprintf(&b, " %v\n", err)
		case err != nil:
			b.WriteString(lostRows)
		}
	}
	return b.String()
}

// count returns the rows of a table by name, -1 when there is no such table.
func count(s *Snapshot, name string) int {
	if o := s.Schema().Lookup(name); o != nil {
		return s.Table(o.Table.ID).Len()
	}
	return -1
}

// text returns column 1 of a row.
func text(t testing.TB, s *Snapshot, name string, rowid int64) string {
	t.Helper()
	rec, found, err := s.Table(s.Schema().Lookup(name).Table.ID).Get(rowid)
	if err != nil || !found {
		t.Fatalf("row %d of %s: found %t, %v", rowid, name, found, err)
	}
	return rec.Column(1).Bytes()
}

// catalogs keeps a copy of catalog.db after every COMMIT, with the number of
// the file operation it came after. An image of the files is only paired with
// the catalog as it was when the files were so: see at.
type catalogs struct {
	t    testing.TB
	mem  *vfs.Mem
	dir  string // of the live catalog
	keep string // of the copies
	mu   sync.Mutex
	list []catalogCopy
}

type catalogCopy struct {
	op   int
	file string
}

func newCatalogs(t testing.TB, mem *vfs.Mem) *catalogs {
	return &catalogs{t: t, mem: mem, dir: tempDir(t), keep: tempDir(t)}
}

func (c *catalogs) seam() *catalog.Seam {
	return &catalog.Seam{Commit: func(name string, commit func() error) error {
		if err := commit(); err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		to := filepath.Join(c.keep, fmt.Sprintf("%04d-%s", len(c.list), name))
		if err := catalog.Copy(context.Background(), c.dir, to); err != nil {
			c.t.Errorf("copy of the catalog: %v", err)
			return nil
		}
		// Whatever depends on this commit comes after it returns.
		c.list = append(c.list, catalogCopy{c.mem.Ops(), to})
		return nil
	}}
}

// at returns the catalog that belongs to the files after operation n, "" when
// there was none.
func (c *catalogs) at(n int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	file := ""
	for _, k := range c.list {
		if k.op <= n {
			file = k.file
		}
	}
	return file
}

// restore makes a directory that holds a copy of a catalog, "" for none.
func restore(t testing.TB, file string) (dir string, remove func()) {
	dir, err := os.MkdirTemp(memoryDir(), "tidemark-image-")
	if err != nil {
		t.Fatal(err)
	}
	remove = func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}
	if file == "" {
		return dir, remove
	}
	if err := os.WriteFile(filepath.Join(dir, catalog.FileName), catalogBytes(t, file), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, remove
}

// contents identifies what is in a file system, names and bytes.
func contents(t testing.TB, m *vfs.Mem) uint64 {
	h := fnv.New64a()
	var walk func(dir string)
	walk = func(dir string) {
		names, err := m.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if n == lockName {
				continue
			}
			p := n
			if dir != "." {
				p = dir + "/" + n
			}
			fmt.Fprintf(h, "%s\x00", p)
			info, err := m.Stat(p)
			if err != nil {
				t.Fatal(err)
			}
			if info.Dir {
				walk(p)
				continue
			}
			fmt.Fprintf(h, "%d\x00", info.Size)
			h.Write(readFile(t, m, p))
		}
	}
	walk(".")
	return h.Sum64()
}

func readFile(t testing.TB, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.OpenRead(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); int64(n) != size {
		t.Fatal(err)
	}
	return b
}

// writeFile replaces a file by other bytes.
func writeFile(t testing.TB, fs vfs.FS, name string, data []byte) {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(int64(len(data))); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
}

// cloneMem copies what programs see of a file system.
func cloneMem(t testing.TB, m *vfs.Mem) *vfs.Mem {
	t.Helper()
	c := m.At(m.Ops())
	if c == nil {
		t.Fatal("no clone")
	}
	c.SetJournalLimit(0)
	return c
}

package engine

import (
	"fmt"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/tree"
)

// Entry is one row of a scan.
type Entry struct {
	Rowid int64
	Rec   row.Record
}

// Scanner reads rows of a Table block by block. It is used by one goroutine
// at a time. The zero Scanner is an empty scan; Rows and Index start another
// scan on the same Scanner and keep its memory.
type Scanner struct {
	table   *Table
	indexed bool
	desc    bool
	started bool
	done    bool
	failed  error // why there is no table

	rows   tree.RowIter
	of     *rowTree // that rows iterates
	lo, hi int64

	// Of a keys table: where the rows of the last block are, if they are not
	// loaded, and the piece of a file that was read last.
	places []rowPlace
	ahead  window
	after  rowPlace // the last one that Fetch read

	block   []Entry // being filled by an ascending scan of rows
	taken   int
	collect func(int64, row.Record) bool // s.take, made once

	// Rows of an index often follow each other in the table, too: rows then
	// stands at the last one.
	beside bool
	strays int // rows in a row that did not follow

	entries    tree.KeyIter
	ofIndex    *indexTree
	klo, khi   string
	indexTitle *IndexDef
}

// Rows starts a scan as Table.Scan does.
func (s *Scanner) Rows(t *Table, lo, hi int64, desc bool) {
	if t = s.use(t); t == nil {
		return
	}
	s.table, s.indexed, s.desc, s.started, s.done = t, false, desc, false, lo > hi
	s.lo, s.hi = lo, hi
	if desc && s.of != t.rows {
		s.of, s.rows = t.rows, t.rows.Iter()
	}
}

// Index starts a scan as Table.IndexScan does.
func (s *Scanner) Index(t *Table, ix int, lo, hi string, desc bool) {
	if t = s.use(t); t == nil {
		return
	}
	s.table, s.indexed, s.desc, s.started, s.done = t, true, desc, false, hi != "" && lo >= hi
	s.klo, s.khi = lo, hi
	s.indexTitle = t.def.Indexes[ix]
	s.beside, s.strays = false, 0
	if s.ofIndex != t.indexes[ix] {
		s.ofIndex, s.entries = t.indexes[ix], t.indexes[ix].Iter()
	}
}

// use returns the table with its rows, nil when they cannot be found: then every call
// that follows says why.
func (s *Scanner) use(t *Table) *Table {
	t, s.failed = t.whole()
	if s.failed != nil {
		s.table, s.done, s.places = nil, true, s.places[:0]
	}
	return t
}

// Next fills buf with the next rows and returns how many there were. Less
// than len(buf) is the end of the scan, and so is 0 in all later calls.
func (s *Scanner) Next(buf []Entry) (int, error) {
	n, err := s.NextIDs(buf)
	if err == nil {
		err = s.Load(buf[:n])
	}
	if err != nil {
		s.done = true
	}
	return n, err
}

// NextIDs is Next for who may do without the records: those of a table that
// keeps no rows in memory are empty until Load is called.
func (s *Scanner) NextIDs(buf []Entry) (n int, err error) {
	s.places = s.places[:0]
	switch {
	case s.failed != nil:
		return 0, s.failed
	case s.done || s.table == nil || len(buf) == 0:
		return 0, nil
	case s.indexed:
		return s.nextIndexed(buf, nil)
	case s.desc:
		n = s.nextDown(buf)
	default:
		n = s.nextUp(buf)
	}
	if s.table.src != nil {
		err = s.locate(buf[:n])
	}
	return n, err
}

// NextKeys is Next of a scan of an index that leaves the records unread: it
// fills keys, which is as long as buf, with the rows' keys and of buf only the
// row ids. A row is then had with Fetch.
func (s *Scanner) NextKeys(buf []Entry, keys []string) (int, error) {
	if s.done || s.table == nil || len(buf) == 0 || !s.indexed {
		return 0, s.failed
	}
	return s.nextIndexed(buf, keys)
}

// Skip goes on behind all entries whose key begins with prefix, which is that of
// entries the scan has given.
func (s *Scanner) Skip(prefix string) {
	if s.desc {
		s.khi = prefix
	} else {
		s.klo = prefix + row.KeyAfter
	}
	s.started = false
}

// maxStrays is how many rows may be somewhere else before Fetch gives up.
const maxStrays = 4

// Fetch reads the record of a row of the scan. Rows are asked for in their
// order: the next one is looked for where the last one was, until that proves to
// be of no use.
func (s *Scanner) Fetch(rowid int64) (row.Record, error) {
	if s.failed != nil {
		return "", s.failed
	}
	rec, err := s.find(rowid)
	if s.table.src == nil || err != nil {
		return rec, err
	}
	return s.fetch(rowid, rec)
}

// find returns what the tree has of a row.
func (s *Scanner) find(rowid int64) (row.Record, error) {
	if s.strays >= maxStrays {
		return s.get(rowid)
	}
	if s.beside {
		if s.desc {
			s.beside = s.rows.Prev()
		} else {
			s.beside = s.rows.Next()
		}
		if s.beside && s.rows.Key() == rowid {
			s.strays = 0
			return s.rows.Value(), nil
		}
	} else if s.of != s.table.rows {
		s.of, s.rows = s.table.rows, s.table.rows.Iter()
	}
	s.strays++
	if s.beside = s.rows.SeekGE(rowid) && s.rows.Key() == rowid; !s.beside {
		return s.get(rowid)
	}
	return s.rows.Value(), nil
}

func (s *Scanner) get(rowid int64) (row.Record, error) {
	rec, found := s.table.rows.Get(rowid)
	if !found {
		return "", fmt.Errorf("%w: %q has row %d", ErrBadIndex, s.indexTitle.Name, rowid)
	}
	return rec, nil
}

// nextUp walks the tree from s.lo on. Calling Ascend once a block is quicker
// than stepping an iterator once a row.
func (s *Scanner) nextUp(buf []Entry) int {
	if s.collect == nil {
		s.collect = s.take
	}
	s.block, s.taken, s.done = buf, 0, true
	s.table.rows.Ascend(s.lo, s.collect)
	s.block = nil
	return s.taken
}

// take puts a row into the block. The first one that finds it full is where
// the next block starts.
func (s *Scanner) take(rowid int64, rec row.Record) bool {
	if rowid > s.hi {
		return false
	}
	if s.taken == len(s.block) {
		s.lo, s.done = rowid, false
		return false
	}
	s.block[s.taken] = Entry{rowid, rec}
	s.taken++
	return true
}

func (s *Scanner) nextDown(buf []Entry) int {
	ok := true
	if !s.started {
		s.started = true
		if ok = s.rows.SeekGE(s.hi); !ok {
			ok = s.rows.Last()
		} else if s.rows.Key() > s.hi {
			ok = s.rows.Prev()
		}
	} else {
		ok = s.rows.Prev()
	}
	n := 0
	for ok {
		rowid := s.rows.Key()
		if rowid < s.lo {
			break
		}
		buf[n] = Entry{rowid, s.rows.Value()}
		if n++; n == len(buf) {
			return n
		}
		ok = s.rows.Prev()
	}
	s.done = true
	return n
}

func (s *Scanner) nextIndexed(buf []Entry, keys []string) (int, error) {
	ok := true
	if !s.started {
		s.started, ok = true, s.seekEntry()
	} else {
		ok = s.stepEntry()
	}
	n := 0
	for ok {
		key, rowid := splitEntry(s.entries.Key())
		if s.desc && key < s.klo || !s.desc && s.khi != "" && key >= s.khi {
			break
		}
		if keys != nil {
			keys[n], buf[n] = key, Entry{Rowid: rowid}
		} else {
			rec, err := s.Fetch(rowid)
			if err != nil {
				s.done = true
				return n, err
			}
			buf[n] = Entry{rowid, rec}
		}
		if n++; n == len(buf) {
			return n, nil
		}
		ok = s.stepEntry()
	}
	s.done = true
	return n, nil
}

func (s *Scanner) stepEntry() bool {
	if s.desc {
		return s.entries.Prev()
	}
	return s.entries.Next()
}

// seekEntry goes to the first entry of the scan. A bound is compared with keys
// while entries go on behind their key with the row id, so the two can
// disagree about entries whose key is a proper prefix of the bound: those
// stand behind it, though their key is below it. There is at most one such
// key, since no key is a prefix of another one, and the scan steps over it.
func (s *Scanner) seekEntry() bool {
	it := &s.entries
	if !s.desc {
		ok := it.SeekGE(s.klo)
		if ok {
			if key, _ := splitEntry(it.Key()); key < s.klo {
				ok = it.SeekGE(key + rowidAfter)
			}
		}
		return ok
	}
	if s.khi == "" {
		return it.Last()
	}
	ok := it.SeekGE(s.khi)
	if ok {
		if key, _ := splitEntry(it.Key()); key < s.khi {
			ok = it.SeekGE(key + rowidAfter)
		}
	}
	if !ok {
		return it.Last()
	}
	return it.Prev()
}

package vtab

import (
	"math"
	"slices"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// cursorFilter is xFilter: it pins what the cursor reads as of now, with the
// writes the statement around it has made so far.
func cursorFilter(tls *libc.TLS, cp uintptr, num int32, str uintptr, argc int32, argv uintptr) (rc int32) {
	q := cursorAt(cp)
	c := q.t.c
	fail := func(err error) {
		q.n, q.i, q.next = 0, 0, 0
		c.note(err)
		setMessage(tls, (*lib.Tsqlite3_vtab)(unsafe.Pointer((*cCursor)(unsafe.Pointer(cp)).base.FpVtab)), err.Error())
		rc = lib.SQLITE_ERROR
	}
	defer c.guard("filter", fail)
	if err := q.filter(tls, num, str, pointers(argv, argc)); err != nil {
		fail(err)
	}
	return rc
}

func (q *cursor) filter(tls *libc.TLS, num int32, str uintptr, args []uintptr) error {
	if err := q.t.refresh(); err != nil {
		return err
	}
	q.rewind()
	switch num & planKind {
	case planRowid:
		return q.filterRowid(valueAt(tls, args[0]))
	case planList:
		return q.filterList(tls, args[0], num&planDesc != 0)
	case planIndex:
		return q.filterIndex(tls, num, str, args)
	case planSource:
		return q.filterSource(valueAt(tls, args[0]))
	}
	return q.filterScan(tls, num, args)
}

// filterRowid reads one row. In a transaction it is read without a View, which
// would make the next write copy its path in the tree.
func (q *cursor) filterRowid(v row.Value) error {
	id, ok := exactRowid(v)
	if !ok {
		return nil
	}
	var rec row.Record
	var found bool
	var err error
	if q.t.c.tx != nil {
		rec, found, err = q.t.c.tx.Get(q.t.id, id)
	} else {
		view, verr := q.t.c.view(q.t.id)
		if verr != nil {
			return verr
		}
		rec, found, err = view.Get(id)
	}
	if found && err == nil {
		q.one(id, rec)
	}
	return err
}

// exactRowid returns the rowid that equals v, if one can: a text counts as the
// number it reads as, a fraction, a blob and NULL equal none.
func exactRowid(v row.Value) (int64, bool) {
	switch v = row.AffInteger.Apply(v); v.Kind() {
	case row.Int:
		return v.Int(), true
	case row.Real: // -2^63 is a rowid that Apply leaves a REAL
		if v.Real() == math.MinInt64 {
			return math.MinInt64, true
		}
	}
	return 0, false
}

func (q *cursor) filterList(tls *libc.TLS, list uintptr, desc bool) error {
	out := tls.Alloc(int(unsafe.Sizeof(list)))
	defer tls.Free(int(unsafe.Sizeof(list)))
	rc := lib.Xsqlite3_vtab_in_first(tls, list, out)
	for ; rc == lib.SQLITE_OK && loadPointer(out) != 0; rc = lib.Xsqlite3_vtab_in_next(tls, list, out) {
		if id, ok := exactRowid(valueAt(tls, loadPointer(out))); ok {
			q.list = append(q.list, id)
		}
	}
	if rc != lib.SQLITE_OK && rc != lib.SQLITE_DONE {
		return errorf(int(rc), "%s", goString(lib.Xsqlite3_errstr(tls, rc)))
	}
	slices.Sort(q.list)
	q.list = slices.Compact(q.list)
	if desc {
		slices.Reverse(q.list)
	}
	var err error
	if q.view, err = q.t.c.view(q.t.id); err != nil {
		return err
	}
	return q.start()
}

// filterScan reads the rows within bounds.
func (q *cursor) filterScan(tls *libc.TLS, num int32, args []uintptr) error {
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	some := true
	if num&planLower != 0 {
		lo, some = lowestRowid(valueAt(tls, args[0]), num&planLowerExcl != 0)
		args = args[1:]
	}
	if num&planUpper != 0 && some {
		hi, some = highestRowid(valueAt(tls, args[0]), num&planUpperExcl != 0)
	}
	if !some || lo > hi {
		return nil
	}
	view, err := q.t.c.view(q.t.id)
	if err != nil {
		return err
	}
	q.scan.Rows(view, lo, hi, num&planDesc != 0)
	return q.start()
}

// lowestRowid returns the least rowid that is >= v, or > v; false if none is.
// Every number is less than every text and blob, and nothing compares with
// NULL.
func lowestRowid(v row.Value, excl bool) (int64, bool) {
	switch v = row.AffInteger.ForCompare(v); v.Kind() {
	case row.Int:
		if excl {
			return v.Int() + 1, v.Int() < math.MaxInt64
		}
		return v.Int(), true
	case row.Real:
		f := math.Ceil(v.Real())
		switch {
		case f >= 1<<63:
			return 0, false
		case f < math.MinInt64:
			return math.MinInt64, true
		}
		if excl && f == v.Real() {
			return int64(f) + 1, true
		}
		return int64(f), true
	}
	return 0, false
}

// highestRowid returns the greatest rowid that is <= v, or < v.
func highestRowid(v row.Value, excl bool) (int64, bool) {
	switch v = row.AffInteger.ForCompare(v); v.Kind() {
	case row.Int:
		if excl {
			return v.Int() - 1, v.Int() > math.MinInt64
		}
		return v.Int(), true
	case row.Real:
		f := math.Floor(v.Real())
		switch {
		case f >= 1<<63:
			return math.MaxInt64, true
		case f < math.MinInt64:
			return 0, false
		}
		if excl && f == v.Real() {
			return int64(f) - 1, f > math.MinInt64
		}
		return int64(f), true
	case row.Text, row.Blob:
		return math.MaxInt64, true
	}
	return 0, false
}

// filterIndex reads the rows of a range of keys: those that begin with the
// values of the equalities and whose next column lies within the bounds.
func (q *cursor) filterIndex(tls *libc.TLS, num int32, str uintptr, args []uintptr) error {
	at := int(num>>planIndexAt) & planIndexMask
	terms := int(num>>planTerms) & planTermsMask
	defs := q.t.info.Def.Indexes
	if at >= len(defs) || terms > len(defs[at].Columns) || str == 0 ||
		goString(str+uintptr(len(args))+1) != defs[at].Name {
		return errorf(lib.SQLITE_SCHEMA, "table %s: its indexes have changed since the statement was prepared", q.t.info.Def.Name)
	}
	ix := defs[at]
	letters := borrow(str, len(args))
	c := q.t.c
	key := c.scratch.key[:0]
	for i := range terms {
		v, ok := convert(letters[i], valueAt(tls, args[i]))
		if !ok {
			return nil
		}
		ic := ix.Columns[i]
		key = row.AppendKey(key, v, ic.Collation, ic.Desc)
	}
	c.scratch.key = key
	lo, hi := string(key), ""
	if terms > 0 {
		hi = lo + row.KeyAfter
	}
	if num&(planLower|planUpper) != 0 {
		b := keyBounds{prefix: lo, coll: ix.Columns[terms].Collation, desc: ix.Columns[terms].Desc}
		rest := args[terms:]
		if num&planLower != 0 {
			v, ok := convert(letters[terms], valueAt(tls, rest[0]))
			if !ok {
				return nil
			}
			b.lower(v, num&planLowerExcl != 0)
			rest, terms = rest[1:], terms+1
		}
		if num&planUpper != 0 {
			v, ok := convert(letters[terms], valueAt(tls, rest[0]))
			if !ok {
				return nil
			}
			b.upper(v, num&planUpperExcl != 0)
		}
		lo, hi = b.keys()
	}
	if hi != "" && lo >= hi {
		return nil
	}
	view, err := c.view(q.t.id)
	if err != nil {
		return err
	}
	q.scan.Index(view, at, lo, hi, num&planDesc != 0)
	return q.start()
}

// convert makes of an argument what SQLite compares the column with; false if
// no row can match.
func convert(letter byte, v row.Value) (row.Value, bool) {
	switch letter {
	case 't':
		v = row.AffText.ForCompare(v)
	case 'n':
		v = row.AffNumeric.ForCompare(v)
	case 'T':
		return row.AffText.ForCompare(v), true
	case 'N':
		return row.AffNumeric.ForCompare(v), true
	case 'B':
		return v, true
	}
	return v, !v.IsNull()
}

// keyBounds computes the keys between which one key column lies within bounds,
// behind a prefix. NULL, which no bound lets in, is the lowest value.
type keyBounds struct {
	prefix string
	coll   row.Collation
	desc   bool
	lo, hi string // in the order of the values, before DESC swaps them
	loSet  bool
	hiSet  bool
}

func (b *keyBounds) key(v row.Value) string {
	return string(row.AppendKey([]byte(b.prefix), v, b.coll, b.desc))
}

// lower keeps keys of values >= v, or > v. In a DESC column those come before.
func (b *keyBounds) lower(v row.Value, excl bool) {
	b.lo, b.loSet = b.key(v), true
	if excl != b.desc {
		b.lo += row.KeyAfter
	}
}

func (b *keyBounds) upper(v row.Value, excl bool) {
	b.hi, b.hiSet = b.key(v), true
	if excl == b.desc {
		b.hi += row.KeyAfter
	}
}

func (b *keyBounds) keys() (lo, hi string) {
	if !b.loSet { // behind NULL
		b.lo = b.key(row.Value{})
		if !b.desc {
			b.lo += row.KeyAfter
		}
	}
	if b.desc {
		if !b.hiSet {
			return b.prefix, b.lo
		}
		return b.hi, b.lo
	}
	if !b.hiSet {
		b.hi = b.prefix + row.KeyAfter
	}
	return b.lo, b.hi
}

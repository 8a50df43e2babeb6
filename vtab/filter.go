package vtab

import (
	"math"
	"slices"
	"strconv"
	"strings"
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
	if num != planSource || q.t.info == nil { // else the statement around it has refreshed, and may have ended
		if err := q.t.refresh(); err != nil {
			return err
		}
	}
	q.rewind()
	if num < 0 {
		if err := q.openPast(valueAt(tls, args[0])); err != nil {
			return err
		}
		q.odd = true
		num, args = num&^planPast, args[1:]
	} else if q.past != nil {
		q.past = nil
	}
	switch num & planKind {
	case planRowid:
		return q.filterRowid(valueAt(tls, args[0]))
	case planList:
		return q.filterList(tls, args[0], num&planDesc != 0)
	case planSource:
		return q.filterSource(valueAt(tls, args[0]))
	}
	if num == planScan { // of the whole table: nothing to look up in idxStr
		return q.filterScan(num, nil)
	}
	if str == 0 {
		return errorf(lib.SQLITE_INTERNAL, "plan %d without its text", num)
	}
	if q.plan.str != str {
		q.plan.parse(str, len(args))
	}
	vals := q.vals[:0]
	for _, p := range args {
		vals = append(vals, valueAt(tls, p))
	}
	q.vals = vals
	if n := int(num>>planTests) & planTestsMask; n > 0 {
		if some, err := q.filterTests(num, vals, n); !some || err != nil {
			return err
		}
		if q.hashed {
			return q.start()
		}
	}
	if num&planKind == planHash && q.t.scanKey >= 0 {
		return q.filterWhole(num)
	}
	if num&planKind == planIndex {
		return q.filterIndex(num, vals)
	}
	return q.filterScan(num, vals)
}

// parsedPlan is what idxStr says. It is read once: a statement passes the same
// one, at the same address, each time.
type parsedPlan struct {
	str     uintptr
	letters string
	tests   []test
	index   uint64 // id
	columns int    // of the index that rows must differ in
}

func (pp *parsedPlan) parse(str uintptr, args int) {
	s := goString(str)
	pp.str, pp.letters, pp.tests, pp.index = str, s[:min(args, len(s))], pp.tests[:0], 0
	_, s, _ = strings.Cut(s, ":")
	tests, s, _ := strings.Cut(s, ":")
	id, _, _ := strings.Cut(s, ":")
	id, columns, _ := strings.Cut(id, "/")
	pp.tests = parseTests(pp.tests, tests)
	pp.index, _ = strconv.ParseUint(id, 10, 64)
	pp.columns, _ = strconv.Atoi(columns)
}

// filterTests takes the arguments of the tests, which are the last ones; false
// if no row passes.
func (q *cursor) filterTests(num int32, vals []row.Value, n int) (some bool, err error) {
	if n != len(q.plan.tests) || n > len(vals) || len(q.plan.letters) != len(vals) {
		return false, errorf(lib.SQLITE_INTERNAL, "plan %d has other arguments than its text", num)
	}
	q.tests = q.plan.tests
	from := len(vals) - n
	for i := range q.tests {
		v, ok := convert(q.plan.letters[from+i], vals[from+i])
		if !ok {
			return false, nil
		}
		q.tests[i].val = q.keep(v)
	}
	if num&planKind == planHash {
		q.hashed, err = q.hash()
	}
	return true, err
}

// keep copies a borrowed value for the time of a scan.
func (q *cursor) keep(v row.Value) row.Value {
	switch v.Kind() {
	case row.Text:
		return row.TextValue(strings.Clone(v.Bytes()))
	case row.Blob:
		return row.BlobValue(strings.Clone(v.Bytes()))
	}
	return v
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
	if q.t.c.tx != nil && q.past == nil {
		rec, found, err = q.t.c.tx.Get(q.t.id, id)
	} else {
		view, verr := q.state()
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
	if q.view, err = q.state(); err != nil {
		return err
	}
	return q.start()
}

// filterScan reads the rows within bounds.
func (q *cursor) filterScan(num int32, vals []row.Value) error {
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	some := true
	if num&planLower != 0 {
		lo, some = lowestRowid(vals[0], num&planLowerExcl != 0)
		vals = vals[1:]
	}
	if num&planUpper != 0 && some {
		hi, some = highestRowid(vals[0], num&planUpperExcl != 0)
	}
	if !some || lo > hi {
		return nil
	}
	view, err := q.state()
	if err != nil {
		return err
	}
	q.scan.Rows(view, lo, hi, num&planDesc != 0)
	return q.startFirst(num)
}

// filterWhole reads all rows of a table WITHOUT ROWID in the order of its key.
func (q *cursor) filterWhole(num int32) error {
	view, err := q.state()
	if err != nil {
		return err
	}
	at, err := q.ownOrder()
	if err != nil {
		return err
	}
	q.scan.Index(view, at, "", "", num&planDesc != 0)
	return q.start()
}

// filterIndex reads the rows of a range of keys: those that begin with the
// values of the equalities and whose next column lies within the bounds.
func (q *cursor) filterIndex(num int32, vals []row.Value) error {
	at := int(num>>planIndexAt) & planIndexMask
	terms := int(num>>planTerms) & planTermsMask
	defs := q.t.info.Def.Indexes
	if at >= len(defs) || terms > len(defs[at].Columns) || q.plan.index != defs[at].ID {
		return errorf(lib.SQLITE_SCHEMA, "table %s: its indexes have changed since the statement was prepared", q.t.info.Def.Name)
	}
	ix := defs[at]
	if q.position(at) < 0 {
		return q.filterUnindexed(num)
	}
	buf, lo, hi, some := keyRange(q.key[:0], ix, terms, num, q.plan.letters, vals)
	q.key = buf
	if !some {
		return nil
	}
	view, err := q.state()
	if err != nil {
		return err
	}
	// The scanner compares with the bounds as long as it runs, and q.key stays
	// as it is until the next xFilter.
	q.scan.Index(view, q.position(at), unsafe.String(unsafe.SliceData(lo), len(lo)), unsafe.String(unsafe.SliceData(hi), len(hi)), num&planDesc != 0)
	q.keyed = nil
	if num&planKeyed != 0 {
		q.keyed = ix
		if q.keys == nil {
			q.keys = make([]string, fullBlock)
		}
	}
	if q.differ = 0; num&planDistinct != 0 {
		q.differ = q.plan.columns
	}
	if err := q.startFirst(num); err != nil || q.n > 0 || num&planFirst == 0 {
		return err
	}
	return q.filterIndex(num&^planFirst, vals) // perhaps all are NULL
}

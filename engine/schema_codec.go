package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// The body of a schema record, layout 1:
//
//	u8 layout | uvarint schema version | fields of the change
//
// Which change it is stands in the record's op byte. Integers are uvarints in
// their shortest form, texts are length and bytes, booleans are bits of one
// flag byte whose other bits are zero. Decoding is strict: there is exactly
// one encoding of a change, and anything else is refused. What a definition
// must fulfil beyond its form is checked when the change is applied.
//
// Layout 2 has the same form. It is that of changes which programs that know
// nothing but layout 1 cannot make: ReplaceObject, a ReplaceTable with new columns,
// and a CreateObject of a trigger on a table, which they could not fire.
const (
	schemaLayout = 1
	alterLayout  = 2
)

// Op bytes of schema records. Numbers are never reused.
const (
	opCreateTable  = 1
	opDropTable    = 2
	opCreateIndex  = 3
	opDropIndex    = 4
	opCreateObject = 5
	opDropObject   = 6
	opReplaceTable = 7
	// 8 and 9 are those of a base, see base_schema.go.
	opReplaceObject = 10
)

// Flags of a table and of the smaller parts of it.
const (
	flagAutoIncrement = 1 << iota
	flagWithoutRowid
	flagStrict
	flagDurable
	flagLimited  // MaxRows and OnFull follow the residency
	flagPhysical // kind and missing value follow each column, see TableDef.physical
	tableFlags   = flagAutoIncrement | flagWithoutRowid | flagStrict | flagDurable | flagLimited | flagPhysical

	flagNotNull = 1
	flagUnique  = 1
	flagPartial = 2 // Where follows the columns; only in a table of flagPhysical
	flagDesc    = 1

	flagMissing = 0x80 // beside the kind of a column: the missing value follows
)

// encodeChange returns the op byte and body of a change whose ids are
// assigned.
func encodeChange(c Change, version uint64) (op uint8, body []byte, err error) {
	e := schemaEncoder{buf: []byte{layoutOf(c)}}
	e.uint(version)
	switch c := c.(type) {
	case CreateTable:
		op = opCreateTable
		e.table(c.Def)
	case DropTable:
		op = opDropTable
		e.uint(uint64(c.Table))
	case CreateIndex:
		op = opCreateIndex
		e.uint(uint64(c.Table))
		e.index(c.Index)
	case DropIndex:
		op = opDropIndex
		e.uint(uint64(c.Table))
		e.uint(c.Index)
	case CreateObject:
		op = opCreateObject
		e.object(&c.Object)
	case DropObject:
		op = opDropObject
		e.byte(uint8(c.Kind))
		e.text(c.Name)
	case ReplaceTable:
		op = opReplaceTable
		e.table(c.Def)
	case ReplaceObject:
		op = opReplaceObject
		e.text(c.Name)
		e.object(&c.Object)
	default:
		return 0, nil, fmt.Errorf("%w: %T has no encoding", ErrInvalidChange, c)
	}
	return op, e.buf, nil
}

// layoutOf is the layout of a change.
func layoutOf(c Change) uint8 {
	switch c := c.(type) {
	case ReplaceObject:
		return alterLayout
	case CreateObject:
		if c.onTable {
			return alterLayout
		}
	case ReplaceTable:
		if c.grows {
			return alterLayout
		}
	}
	return schemaLayout
}

// decodeChange is the inverse of encodeChange.
func decodeChange(op uint8, body []byte) (c Change, version uint64, err error) {
	d := schemaDecoder{buf: body}
	layout := d.byte()
	if layout != schemaLayout && layout != alterLayout && d.err == nil {
		return nil, 0, fmt.Errorf("%w: schema record of layout %d, known are %d and %d", ErrNewer, layout, schemaLayout, alterLayout)
	}
	version = d.uint()
	switch op {
	case opCreateTable:
		c = CreateTable{Def: d.table(version)}
	case opDropTable:
		c = DropTable{Table: TableID(d.uint())}
	case opCreateIndex:
		c = CreateIndex{Table: TableID(d.uint()), Index: d.index()}
	case opDropIndex:
		c = DropIndex{Table: TableID(d.uint()), Index: d.uint()}
	case opCreateObject:
		c = CreateObject{Object: d.plainObject(), onTable: layout == alterLayout}
	case opDropObject:
		c = DropObject{Kind: d.kind(), Name: d.text()}
	case opReplaceTable:
		c = ReplaceTable{Def: d.table(version), grows: layout == alterLayout}
	case opReplaceObject:
		r := ReplaceObject{Name: d.text(), Object: d.plainObject()}
		r.Kind = r.Object.Kind
		c = r
	default:
		d.fail("schema operation %d", op)
	}
	if d.err == nil && layoutOf(c) != layout {
		d.fail("schema operation %d of layout %d", op, layout)
	}
	if d.err == nil && len(d.buf) > 0 {
		d.fail("%d bytes behind a schema record", len(d.buf))
	}
	if d.err != nil {
		return nil, 0, d.err
	}
	return c, version, nil
}

// Origins in the order of their codes.
var indexOrigins = [...]string{"c", "u", "pk"}

func originCode(origin string) int {
	for i, o := range indexOrigins {
		if o == origin {
			return i
		}
	}
	return -1
}

type schemaEncoder struct{ buf []byte }

func (e *schemaEncoder) byte(b uint8)  { e.buf = append(e.buf, b) }
func (e *schemaEncoder) uint(n uint64) { e.buf = binary.AppendUvarint(e.buf, n) }
func (e *schemaEncoder) text(s string) {
	e.uint(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *schemaEncoder) flag(set bool, bit uint8) uint8 {
	if set {
		return bit
	}
	return 0
}

// object adds a view or trigger.
func (e *schemaEncoder) object(o *Object) {
	e.byte(uint8(o.Kind))
	e.text(o.Name)
	e.text(o.TblName)
	e.text(o.SQL)
}

func (e *schemaEncoder) table(d *TableDef) {
	e.uint(uint64(d.ID))
	e.text(d.Name)
	e.text(d.SQL)
	e.byte(e.flag(d.AutoIncrement, flagAutoIncrement) | e.flag(d.WithoutRowid, flagWithoutRowid) |
		e.flag(d.Strict, flagStrict) | e.flag(d.Durable, flagDurable) | e.flag(d.MaxRows > 0, flagLimited) |
		e.flag(d.physical(), flagPhysical))
	e.byte(uint8(d.Resident))
	if d.MaxRows > 0 {
		e.uint(uint64(d.MaxRows))
		e.byte(uint8(d.OnFull))
	}
	e.uint(uint64(d.RowidAlias + 1)) // 0 for none
	physical := d.physical()
	e.uint(uint64(len(d.Columns)))
	for i := range d.Columns {
		c := &d.Columns[i]
		e.uint(uint64(c.ID))
		e.text(c.Name)
		e.text(c.DeclType)
		e.byte(uint8(c.Affinity))
		e.byte(uint8(c.Collation))
		e.byte(e.flag(c.NotNull, flagNotNull))
		if physical {
			e.kind(c)
		}
	}
	e.uint(uint64(len(d.Indexes)))
	for _, ix := range d.Indexes {
		e.index(ix)
	}
}

// kind adds what flagPhysical says of a column: a byte, and the missing value as
// a record of one column.
func (e *schemaEncoder) kind(c *Column) {
	e.byte(uint8(c.Kind) | e.flag(!c.Missing.IsNull(), flagMissing))
	if !c.Missing.IsNull() {
		e.text(string(row.AppendRecord(nil, []row.Value{c.Missing})))
	}
}

func (e *schemaEncoder) index(ix *IndexDef) {
	e.uint(ix.ID)
	e.text(ix.Name)
	e.text(ix.SQL)
	e.byte(e.flag(ix.Unique, flagUnique) | e.flag(ix.Where != 0, flagPartial))
	e.byte(uint8(originCode(ix.Origin)))
	e.uint(uint64(len(ix.Columns)))
	for _, c := range ix.Columns {
		e.uint(uint64(c.Column))
		e.byte(e.flag(c.Desc, flagDesc))
		e.byte(uint8(c.Collation))
	}
	if ix.Where != 0 {
		e.uint(uint64(ix.Where))
	}
}

// schemaDecoder keeps its first error; after one it returns zero values, so
// that the calls above need no checks of their own.
type schemaDecoder struct {
	buf []byte
	err error
}

func (d *schemaDecoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
		d.buf = nil
	}
}

func (d *schemaDecoder) byte() uint8 {
	if len(d.buf) == 0 {
		d.fail("schema record ends early")
		return 0
	}
	b := d.buf[0]
	d.buf = d.buf[1:]
	return b
}

func (d *schemaDecoder) uint() uint64 {
	n, size := binary.Uvarint(d.buf)
	if size <= 0 || size > 1 && d.buf[size-1] == 0 {
		d.fail("bad number in a schema record")
		return 0
	}
	d.buf = d.buf[size:]
	return n
}

func (d *schemaDecoder) text() string {
	n := d.uint()
	if n > uint64(len(d.buf)) {
		d.fail("text of %d bytes in a schema record with %d left", n, len(d.buf))
		return ""
	}
	s := string(d.buf[:n])
	d.buf = d.buf[n:]
	return s
}

// tableFlags reads the flags of a table. One that is not known belongs to a
// later version, which put it there for a field behind.
func (d *schemaDecoder) tableFlags() uint8 {
	f := d.byte()
	if f&^tableFlags != 0 && d.err == nil {
		d.fail("%w: flags %#x of a table, known are %#x", ErrNewer, f, tableFlags)
		return 0
	}
	return f
}

func (d *schemaDecoder) flags(known uint8) uint8 {
	f := d.byte()
	if f&^known != 0 {
		d.fail("flags %#x in a schema record", f)
		return 0
	}
	return f
}

// count reads the length of a list whose elements take at least size bytes,
// so that a wrong length cannot ask for memory the record does not back.
func (d *schemaDecoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.buf)/size) {
		d.fail("list of %d in a schema record with %d bytes left", n, len(d.buf))
		return 0
	}
	return int(n)
}

// ordinal reads a small number.
func (d *schemaDecoder) ordinal() int {
	n := d.uint()
	if n > 1<<20 {
		d.fail("ordinal %d in a schema record", n)
		return 0
	}
	return int(n)
}

func (d *schemaDecoder) kind() ObjectKind {
	k := ObjectKind(d.byte())
	if k != KindView && k != KindTrigger {
		d.fail("object of kind %d in a schema record", k)
	}
	return k
}

func (d *schemaDecoder) plainObject() Object {
	return Object{Kind: d.kind(), Name: d.text(), TblName: d.text(), SQL: d.text()}
}

func (d *schemaDecoder) collation() row.Collation {
	c := row.Collation(d.byte())
	if c > row.RTrim {
		d.fail("collation %d in a schema record", c)
	}
	return c
}

func (d *schemaDecoder) table(version uint64) *TableDef {
	t := &TableDef{ID: TableID(d.uint()), Version: version, Name: d.text(), SQL: d.text()}
	f := d.tableFlags()
	t.AutoIncrement, t.WithoutRowid = f&flagAutoIncrement != 0, f&flagWithoutRowid != 0
	t.Strict, t.Durable = f&flagStrict != 0, f&flagDurable != 0
	t.Resident = Resident(d.byte())
	if t.Resident > ResidentKeys {
		d.fail("residency %d in a schema record", t.Resident)
	}
	if f&flagLimited != 0 {
		t.MaxRows, t.OnFull = int64(d.uint()), OnFull(d.byte())
		if t.MaxRows <= 0 || t.OnFull > OnFullDropOldest {
			d.fail("%d rows at most, %d beyond, in a schema record", t.MaxRows, t.OnFull)
		}
	}
	t.RowidAlias = d.ordinal() - 1
	t.Columns = make([]Column, d.count(6))
	for i := range t.Columns {
		c := &t.Columns[i]
		id := d.uint()
		if id > 1<<32-1 {
			d.fail("column id %d in a schema record", id)
		}
		c.ID, c.Name, c.DeclType = uint32(id), d.text(), d.text()
		c.Affinity = row.Affinity(d.byte())
		if d.err == nil && (c.Affinity < row.AffBlob || c.Affinity > row.AffReal) {
			d.fail("affinity %d in a schema record", c.Affinity)
		}
		c.Collation = d.collation()
		c.NotNull = d.flags(flagNotNull) != 0
		if f&flagPhysical != 0 {
			d.columnKind(c)
		}
	}
	if n := d.count(6); n > 0 {
		t.Indexes = make([]*IndexDef, n)
		for i := range t.Indexes {
			t.Indexes[i] = d.index()
		}
	}
	if d.err == nil && t.physical() != (f&flagPhysical != 0) {
		d.fail("flags %#x of a table in a schema record", f)
	}
	return t
}

// columnKind reads what schemaEncoder.kind writes.
func (d *schemaDecoder) columnKind(c *Column) {
	b := d.byte()
	if c.Kind = ColumnKind(b &^ flagMissing); c.Kind > ColumnDropped {
		d.fail("column of kind %d in a schema record", c.Kind)
	}
	if b&flagMissing == 0 {
		return
	}
	rec := row.Record(d.text())
	if d.err != nil {
		return
	}
	if n, err := rec.Columns(); err != nil || n != 1 || rec.Validate() != nil {
		d.fail("missing value of column %q in a schema record", c.Name)
		return
	}
	if c.Missing = rec.Column(0); c.Missing.IsNull() {
		d.fail("missing value of column %q in a schema record is NULL", c.Name)
	}
}

func (d *schemaDecoder) index() *IndexDef {
	ix := &IndexDef{ID: d.uint(), Name: d.text(), SQL: d.text()}
	f := d.flags(flagUnique | flagPartial)
	ix.Unique = f&flagUnique != 0
	origin := d.byte()
	if int(origin) >= len(indexOrigins) {
		d.fail("index origin %d in a schema record", origin)
		return ix
	}
	ix.Origin = indexOrigins[origin]
	ix.Columns = make([]IndexColumn, d.count(3))
	for i := range ix.Columns {
		ix.Columns[i] = IndexColumn{Column: d.ordinal(), Desc: d.flags(flagDesc) != 0, Collation: d.collation()}
	}
	if f&flagPartial != 0 {
		if ix.Where = d.ordinal(); ix.Where == 0 {
			d.fail("partial index %q of every row in a schema record", ix.Name)
		}
	}
	return ix
}

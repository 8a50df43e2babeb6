package engine

import (
	"fmt"
	"reflect"

	"github.com/tidemarkdb/tidemark/engine/wal"
)

// A base begins with the schema it is of, as schema frames of two kinds. Both
// have the form of a change's (schema_codec.go), with the schema's version in the
// place of the change's:
//
//	opBaseSchema: uvarint number of objects
//	opBaseObject: u8 kind, then of a table: uvarint version of its definition and
//	              the definition; else name, name of what it is on, SQL
//
// Objects follow in creation order. No log has such frames.
const (
	opBaseSchema = 8
	opBaseObject = 9
)

// baseSchemaFrames returns a schema as the frames that a base begins with.
func baseSchemaFrames(s *Schema) []wal.Schema {
	layout := uint8(schemaLayout)
	frame := func(op uint8, fill func(e *schemaEncoder)) wal.Schema {
		e := schemaEncoder{buf: []byte{layout}}
		e.uint(s.version)
		fill(&e)
		return wal.Schema{Op: op, Body: string(e.buf)}
	}
	frames := []wal.Schema{frame(opBaseSchema, func(e *schemaEncoder) { e.uint(uint64(len(s.objects))) })}
	for _, o := range s.objects {
		if layout = schemaLayout; s.onTable(o) {
			layout = alterLayout
		}
		frames = append(frames, frame(opBaseObject, func(e *schemaEncoder) {
			e.byte(uint8(o.Kind))
			if o.Kind == KindTable {
				e.uint(o.Table.Version)
				e.table(o.Table)
				return
			}
			e.text(o.Name)
			e.text(o.TblName)
			e.text(o.SQL)
		}))
	}
	return frames
}

// baseSchema puts a schema together from frames.
type baseSchema struct {
	version uint64
	left    uint64 // objects that are still to come
	begun   bool
	objects *Schema // so far
}

// done reports that the schema is whole.
func (b *baseSchema) done() bool { return b.begun && b.left == 0 }

// take adds a frame.
func (b *baseSchema) take(f wal.Schema) error {
	d := schemaDecoder{buf: []byte(f.Body)}
	layout := d.byte()
	if layout != schemaLayout && layout != alterLayout && d.err == nil {
		return fmt.Errorf("%w: schema record of layout %d, known are %d and %d", ErrNewer, layout, schemaLayout, alterLayout)
	}
	version := d.uint()
	switch {
	case f.Op == opBaseSchema && !b.begun:
		*b = baseSchema{version: version, left: d.uint(), begun: true, objects: newSchema(version, nil)}
	case f.Op == opBaseObject && b.begun && b.left > 0 && version == b.version:
		o := d.object()
		if d.err == nil && layout == alterLayout && o.Kind != KindTrigger {
			d.fail("%s %q of layout %d", o.Kind, o.Name, layout)
		}
		if d.err == nil {
			if err := b.add(o); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("schema operation %d of version %d, %d objects before the end of a base's schema", f.Op, version, b.left)
	}
	if d.err == nil && len(d.buf) > 0 {
		d.fail("%d bytes behind a schema record", len(d.buf))
	}
	return d.err
}

// object decodes an object of a base's schema.
func (d *schemaDecoder) object() *Object {
	if len(d.buf) == 0 || ObjectKind(d.buf[0]) != KindTable {
		o := d.plainObject()
		return &o
	}
	d.byte()
	return tableObject(d.table(d.uint()))
}

// add puts an object behind the others. It is as sound as one that a change makes,
// but a trigger may be on what is called otherwise by now.
func (b *baseSchema) add(o *Object) error {
	switch {
	case o.Kind == KindTable:
		if v := o.Table.Version; v > b.version {
			return fmt.Errorf("table %q by definition %d in schema version %d", o.Name, v, b.version)
		}
		next, err := CreateTable{Def: o.Table}.alter(b.objects, o.Table.Version)
		if err != nil {
			return err
		}
		b.objects = next
	case o.Name == "":
		return fmt.Errorf("%s without a name", o.Kind)
	case o.Kind == KindTrigger && b.objects.position(KindTrigger, o.Name) >= 0, o.Kind == KindView && b.objects.nameTaken(o.Name) != "":
		return fmt.Errorf("%s %q is there twice", o.Kind, o.Name)
	default:
		b.objects = b.objects.with(b.version, o)
	}
	b.left--
	return nil
}

// soundBase refuses a schema that would not be read back as it is: then the log
// stays, which was.
func soundBase(s *Schema) error {
	var b baseSchema
	for _, f := range baseSchemaFrames(s) {
		if err := b.take(f); err != nil {
			return fmt.Errorf("engine: the schema of a base: %w", err)
		}
	}
	if !b.done() || !reflect.DeepEqual(b.schema().objects, s.objects) {
		return fmt.Errorf("engine: schema %d would be read back as another", s.version)
	}
	return nil
}

// schema is the whole of it.
func (b *baseSchema) schema() *Schema { return newSchema(b.version, b.objects.objects) }

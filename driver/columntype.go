package driver

import (
	"database/sql"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// columnType describes a result column for sql.ColumnType. The zero value is a
// column that is no table's column: an expression, of which nothing is known.
type columnType struct {
	declared string // type as declared, "" for none
	known    bool   // it is a column of a table
	notNull  bool
}

// newColumnType describes the column of a table. def and ordinal may be nil and
// negative: then only the declared type is known (temp and attached tables).
func newColumnType(declared string, def *engine.TableDef, ordinal int) columnType {
	t := columnType{declared: declared}
	if def != nil && ordinal >= 0 && ordinal < len(def.Columns) {
		t.known = true
		t.notNull = def.Columns[ordinal].NotNull || ordinal == def.RowidAlias
	}
	return t
}

// baseType is the upper-case type name without its arguments: "VARCHAR" of
// "varchar(30)".
func baseType(declared string) string {
	base, _, _ := strings.Cut(declared, "(")
	return strings.ToUpper(strings.TrimSpace(base))
}

// databaseTypeName returns the declared type's upper-case base.
func (t columnType) databaseTypeName() string { return baseType(t.declared) }

// nullable reports whether the column may be NULL, and whether that is known.
func (t columnType) nullable() (nullable, ok bool) { return !t.notNull, t.known }

// arguments returns the numbers in the parentheses of the declared type.
func (t columnType) arguments() []int64 {
	_, rest, ok := strings.Cut(t.declared, "(")
	if !ok {
		return nil
	}
	inside, _, ok := strings.Cut(rest, ")")
	if !ok {
		return nil
	}
	var list []int64
	for part := range strings.SplitSeq(inside, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil {
			return nil
		}
		list = append(list, n)
	}
	return list
}

// length is the declared length of a text or blob column: that of VARCHAR(n),
// or "unlimited" where the type has none.
func (t columnType) length() (length int64, ok bool) {
	switch row.AffinityOf(t.declared) {
	case row.AffText:
	case row.AffBlob:
		if t.declared == "" {
			return 0, false
		}
	default:
		if base := t.databaseTypeName(); !strings.HasSuffix(base, "BINARY") {
			return 0, false
		}
	}
	if args := t.arguments(); len(args) == 1 {
		return args[0], true
	}
	return math.MaxInt64, true
}

// precisionScale are the arguments of DECIMAL(p,s) and NUMERIC(p[,s]).
func (t columnType) precisionScale() (precision, scale int64, ok bool) {
	switch t.databaseTypeName() {
	case "DECIMAL", "NUMERIC", "DEC", "NUMBER":
	default:
		return 0, 0, false
	}
	switch args := t.arguments(); len(args) {
	case 1:
		return args[0], 0, true
	case 2:
		return args[0], args[1], true
	}
	return 0, 0, false
}

// scanType is a type that a value of the column scans into: the plain Go type
// of a column that is never NULL, its sql.Null form otherwise, and any where a
// column takes values of several classes.
func (t columnType) scanType() reflect.Type {
	notNull := t.known && t.notNull
	pick := func(plain, null reflect.Type) reflect.Type {
		if notNull {
			return plain
		}
		return null
	}
	if t.declared == "" {
		return reflect.TypeFor[any]()
	}
	if isTimeType(t.declared) {
		return pick(reflect.TypeFor[time.Time](), reflect.TypeFor[sql.NullTime]())
	}
	switch base := t.databaseTypeName(); base {
	case "BOOLEAN", "BOOL":
		return pick(reflect.TypeFor[bool](), reflect.TypeFor[sql.NullBool]())
	}
	switch row.AffinityOf(t.declared) {
	case row.AffInteger:
		return pick(reflect.TypeFor[int64](), reflect.TypeFor[sql.NullInt64]())
	case row.AffReal:
		return pick(reflect.TypeFor[float64](), reflect.TypeFor[sql.NullFloat64]())
	case row.AffText:
		return pick(reflect.TypeFor[string](), reflect.TypeFor[sql.NullString]())
	case row.AffBlob:
		return reflect.TypeFor[[]byte]()
	}
	return reflect.TypeFor[any]()
}

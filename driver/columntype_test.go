package driver

import (
	"database/sql"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine"
)

func TestColumnType(t *testing.T) {
	const none = -1
	for _, tc := range []struct {
		declared           string
		name               string
		plain, null        reflect.Type
		length             int64
		precision, scale   int64
		hasPrecisionScales bool
	}{
		{"INTEGER", "INTEGER", reflect.TypeFor[int64](), reflect.TypeFor[sql.NullInt64](), none, 0, 0, false},
		{"unsigned big int", "UNSIGNED BIG INT", reflect.TypeFor[int64](), reflect.TypeFor[sql.NullInt64](), none, 0, 0, false},
		{"tinyint(1)", "TINYINT", reflect.TypeFor[int64](), reflect.TypeFor[sql.NullInt64](), none, 0, 0, false},
		{"text", "TEXT", reflect.TypeFor[string](), reflect.TypeFor[sql.NullString](), math.MaxInt64, 0, 0, false},
		{"VarChar(30)", "VARCHAR", reflect.TypeFor[string](), reflect.TypeFor[sql.NullString](), 30, 0, 0, false},
		{"NVARCHAR ( 160 )", "NVARCHAR", reflect.TypeFor[string](), reflect.TypeFor[sql.NullString](), 160, 0, 0, false},
		{"BLOB", "BLOB", reflect.TypeFor[[]byte](), reflect.TypeFor[[]byte](), math.MaxInt64, 0, 0, false},
		{"VARBINARY(16)", "VARBINARY", reflect.TypeFor[any](), reflect.TypeFor[any](), 16, 0, 0, false},
		{"REAL", "REAL", reflect.TypeFor[float64](), reflect.TypeFor[sql.NullFloat64](), none, 0, 0, false},
		{"double precision", "DOUBLE PRECISION", reflect.TypeFor[float64](), reflect.TypeFor[sql.NullFloat64](), none, 0, 0, false},
		{"NUMERIC(10,2)", "NUMERIC", reflect.TypeFor[any](), reflect.TypeFor[any](), none, 10, 2, true},
		{"decimal(5)", "DECIMAL", reflect.TypeFor[any](), reflect.TypeFor[any](), none, 5, 0, true},
		{"decimal", "DECIMAL", reflect.TypeFor[any](), reflect.TypeFor[any](), none, 0, 0, false},
		{"decimal(a,b)", "DECIMAL", reflect.TypeFor[any](), reflect.TypeFor[any](), none, 0, 0, false},
		{"BOOLEAN", "BOOLEAN", reflect.TypeFor[bool](), reflect.TypeFor[sql.NullBool](), none, 0, 0, false},
		{"datetime", "DATETIME", reflect.TypeFor[time.Time](), reflect.TypeFor[sql.NullTime](), none, 0, 0, false},
		{"Timestamp(6)", "TIMESTAMP", reflect.TypeFor[time.Time](), reflect.TypeFor[sql.NullTime](), none, 0, 0, false},
		{"", "", reflect.TypeFor[any](), reflect.TypeFor[any](), none, 0, 0, false},
	} {
		def := &engine.TableDef{RowidAlias: -1, Columns: []engine.Column{
			{Name: "n", DeclType: tc.declared}, {Name: "nn", DeclType: tc.declared, NotNull: true},
		}}
		null, plain := newColumnType(tc.declared, def, 0), newColumnType(tc.declared, def, 1)
		if got := null.databaseTypeName(); got != tc.name {
			t.Errorf("%q: name %q", tc.declared, got)
		}
		if got := null.scanType(); got != tc.null {
			t.Errorf("%q: scan type %s, want %s", tc.declared, got, tc.null)
		}
		if got := plain.scanType(); got != tc.plain {
			t.Errorf("%q NOT NULL: scan type %s, want %s", tc.declared, got, tc.plain)
		}
		if n, ok := null.length(); ok != (tc.length != none) || ok && n != tc.length {
			t.Errorf("%q: length %d, %t", tc.declared, n, ok)
		}
		if p, s, ok := null.precisionScale(); p != tc.precision || s != tc.scale || ok != tc.hasPrecisionScales {
			t.Errorf("%q: precision and scale %d, %d, %t", tc.declared, p, s, ok)
		}
		if n, ok := null.nullable(); !n || !ok {
			t.Errorf("%q: nullable %t, %t", tc.declared, n, ok)
		}
		if n, ok := plain.nullable(); n || !ok {
			t.Errorf("%q NOT NULL: nullable %t, %t", tc.declared, n, ok)
		}
	}
}

func TestColumnTypeOfKeyAndExpression(t *testing.T) {
	def := &engine.TableDef{RowidAlias: 0, Columns: []engine.Column{{Name: "id", DeclType: "INTEGER"}}}
	if n, ok := newColumnType("INTEGER", def, 0).nullable(); n || !ok {
		t.Errorf("INTEGER PRIMARY KEY: nullable %t, %t", n, ok)
	}
	expr := newColumnType("", nil, -1)
	if _, ok := expr.nullable(); ok || expr.scanType() == nil {
		t.Errorf("of an expression something is known: %v, %v", ok, expr.scanType())
	}
}

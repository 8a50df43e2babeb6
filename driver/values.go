package driver

import (
	sqldriver "database/sql/driver"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"time"
)

// checkNamedValue turns an argument into one of the types SQLite stores: nil,
// int64, float64, string or []byte. It is the body of the connection's
// driver.NamedValueChecker.
//
// What differs from database/sql's own conversion: a time.Time is stored as the
// configuration says, a bool as 0 or 1, JSON as text (SQLite's functions take a
// BLOB for its binary form), a type that only knows how to write itself as text
// (encoding.TextMarshaler) as that text, and an unsigned number that no INTEGER
// can hold is an error.
func (c *clock) checkNamedValue(nv *sqldriver.NamedValue) error {
	v, err := c.convert(nv.Value, 0)
	if err != nil {
		return newError("bind", ErrMismatch, "parameter %s: %w", parameterName(nv), err)
	}
	nv.Value = v
	return nil
}

// parameterName names a parameter as its statement does.
func parameterName(nv *sqldriver.NamedValue) string {
	if nv.Name != "" {
		return ":" + nv.Name
	}
	return fmt.Sprintf("?%d", nv.Ordinal)
}

// maxDepth bounds pointers to pointers and Valuers that return Valuers.
const maxDepth = 16

// convert does the work of checkNamedValue for one value.
func (c *clock) convert(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("type %T is nested too deep", v)
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case int64, float64, string:
		return v, nil
	case []byte:
		if v == nil {
			return nil, nil
		}
		return v, nil
	case bool:
		return boolInt(v), nil
	case int:
		return int64(v), nil
	case time.Time:
		return c.encodeTime(v)
	case sqldriver.Valuer:
		if isNilPointer(v) {
			return nil, nil // as database/sql does for a Valuer with value receivers
		}
		inner, err := v.Value()
		if err != nil {
			return nil, err
		}
		return c.convert(inner, depth+1)
	case json.RawMessage:
		if v == nil {
			return nil, nil
		}
		return string(v), nil
	}
	return c.convertKind(reflect.ValueOf(v), depth)
}

// convertKind goes by what a value is made of.
func (c *clock) convertKind(rv reflect.Value, depth int) (any, error) {
	switch rv.Kind() {
	case reflect.Pointer:
		if rv.IsNil() {
			return nil, nil
		}
		if m, ok := rv.Interface().(encoding.TextMarshaler); ok && !isTextMarshaler(rv.Elem()) {
			return marshalText(m)
		}
		return c.convert(rv.Elem().Interface(), depth+1)
	case reflect.Bool:
		return boolInt(rv.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return rv.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if u := rv.Uint(); u <= math.MaxInt64 {
			return int64(u), nil
		}
		return nil, fmt.Errorf("%d is greater than the largest INTEGER, %d: store it as text or as its bits in an int64", rv.Uint(), int64(math.MaxInt64))
	case reflect.Float32, reflect.Float64:
		return rv.Float(), nil
	case reflect.String:
		return rv.String(), nil
	}
	if m, ok := rv.Interface().(encoding.TextMarshaler); ok {
		return marshalText(m)
	}
	if rv.Kind() == reflect.Slice && rv.Type().Elem().Kind() == reflect.Uint8 {
		if rv.IsNil() {
			return nil, nil
		}
		return rv.Bytes(), nil
	}
	return nil, fmt.Errorf("type %s is not supported: pass a number, string, []byte, bool, time.Time or driver.Valuer", rv.Type())
}

// boolInt is SQLite's boolean.
func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// isTextMarshaler reports whether the value itself, not its address, is one.
func isTextMarshaler(rv reflect.Value) bool {
	_, ok := rv.Interface().(encoding.TextMarshaler)
	return ok
}

// marshalText stores a value as the text it writes.
func marshalText(m encoding.TextMarshaler) (any, error) {
	b, err := m.MarshalText()
	return string(b), err
}

// isNilPointer reports whether calling a method of v would dereference nil.
func isNilPointer(v any) bool {
	rv := reflect.ValueOf(v)
	return rv.Kind() == reflect.Pointer && rv.IsNil()
}

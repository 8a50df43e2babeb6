package engine

import "errors"

// Errors of schema changes and of handles and views. None of them has
// changed anything.
var (
	// ErrInvalidChange: no schema can hold what the change asks for.
	ErrInvalidChange = errors.New("engine: schema change is not possible")
	// ErrStaleHandle: a TxTable was kept across a change of the transaction's
	// schema.
	ErrStaleHandle = errors.New("engine: table handle is older than the schema")
	// ErrBadIndex: an index names a row that is not there. It is found while
	// scanning and means that the engine itself is at fault.
	ErrBadIndex = errors.New("engine: index disagrees with the rows")
)

// newUniqueError names the columns of the index, or the index if it has
// expressions.
func newUniqueError(def *TableDef, ix *IndexDef) *UniqueError {
	e := &UniqueError{Table: def.Name, Index: ix.Name}
	for _, c := range ix.Columns {
		if def.Columns[c.Column].Kind == ColumnComputed {
			e.Columns = nil
			return e
		}
		e.Columns = append(e.Columns, def.Columns[c.Column].Name)
	}
	return e
}

package driver

import (
	"errors"

	"github.com/tidemarkdb/tidemark/engine"
)

// Refusals of storage options. Each is found with errors.Is under an *Error that
// names the table, where there is one, and whose Hint names every way forward.
// Nothing was made or changed.
var (
	// ErrTableOption says that the options of a table are not legal.
	ErrTableOption = errors.New("table option")
	// ErrVolatileParent says that a durable table would refer to a volatile one.
	ErrVolatileParent = errors.New("a durable table refers to a volatile one")
	// ErrTableDiffers says that a table exists with other options than the
	// statement gives it.
	ErrTableDiffers = errors.New("the table has other options")
	// ErrNoDataPath says that a table needs the log, and that the store has no
	// directory for one.
	ErrNoDataPath = errors.New("no data path")
	// ErrEphemeral says that ephemeral was given a value other than 1, or a path
	// beside it.
	ErrEphemeral = errors.New("ephemeral")
)

// kindOf makes an error a refusal of a kind; its message stays.
func kindOf(kind error, e *Error) *Error {
	e.Err = &kindError{kind, e.Err}
	return e
}

// kindError adds a kind to an error.
type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.err, e.kind} }

// home is where a store keeps its tables, for those that refuse one.
type home struct {
	memory    bool // no directory
	ephemeral bool // which durable tables accept
}

// accept refuses a table that needs a log the store does not have. What only the
// log can hold comes first: ephemeral=1 does not help there.
func (h home) accept(def *engine.TableDef) error {
	if !h.memory {
		return nil
	}
	if def.Resident == engine.ResidentKeys {
		e := newError("", ErrGeneric, "table %s is resident=keys: its rows live only in the log, and the store has no data path", def.Name)
		e.Table = def.Name
		e.Hint = "open the store with a data path, a directory, or write resident=all"
		return kindOf(ErrNoDataPath, e)
	}
	if def.Durable && !h.ephemeral {
		e := newError("", ErrGeneric, "table %s is durable, and the store has no data path", def.Name)
		e.Table = def.Name
		e.Hint = "open the store with a data path, a directory; or with ephemeral=1, to lose durable tables with the program; or write CREATE VIRTUAL TABLE " +
			def.Name + " USING tidemark(…, durable=false)"
		return kindOf(ErrNoDataPath, e)
	}
	return nil
}

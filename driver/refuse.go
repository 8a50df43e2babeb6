package driver

import (
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
)

// refuseDML refuses by name what SQLite cannot do on virtual tables and this
// version does not do in its place. On a table that does not exist SQLite's own
// message is the better one.
func refuseDML(s *sqltext.Stmt, schema *engine.Schema) error {
	if !s.Upsert && !s.Return {
		return nil
	}
	o := schema.Lookup(s.Target.Name)
	if o == nil {
		return nil
	}
	var e *Error
	switch {
	case s.Upsert:
		e = notAvailable("", "ON CONFLICT … DO (UPSERT)")
		e.Hint = "INSERT OR IGNORE, INSERT OR REPLACE and a transaction with UPDATE work"
	case o.Kind == engine.KindTable || s.Kind != sqltext.Insert:
		e = notAvailable("", "RETURNING")
		e.Hint = "LastInsertId, RowsAffected and a SELECT in the same transaction work"
	default:
		return nil
	}
	e.Table = o.Name
	return e
}

// errAdminReturning refuses RETURNING on an administrative table: SQLite would
// read its columns before the statement's end, where the job runs.
func errAdminReturning(table string) *Error {
	e := notAvailable("", "RETURNING")
	e.Table = table
	if strings.EqualFold(table, jobsTable) {
		e.Hint = "LastInsertId is the job's id"
	}
	return e
}

// refuse refuses a known feature, with what works instead.
func refuse(what, hint string) *Error {
	e := notAvailable("", what)
	e.Hint = hint
	return e
}

// errTwoFiles refuses a transaction that would have to be atomic across the
// store and a SQLite file.
func errTwoFiles() error {
	e := newError("", ErrGeneric, "a transaction cannot write both the store and an attached file")
	e.Hint = "no commit is atomic across the two: use two transactions"
	return e
}

// refuseInvalid is the net under a statement the parser refuses and SQLite
// accepts: its clauses were not looked at.
func refuseInvalid(s *sqltext.Stmt) error {
	text := strings.ToUpper(s.Text)
	if strings.Contains(text, "CONFLICT") && sqltext.HasWord(s.Text, "CONFLICT") || sqltext.HasWord(s.Text, "RETURNING") {
		return newError("", ErrGeneric, "the statement could not be analysed: %w", s.Err)
	}
	return nil
}

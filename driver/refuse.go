package driver

import (
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
)

// refuseAdmin refuses a statement on an administrative table that is no order. An OR
// clause and ON CONFLICT would be read by nobody, and the columns of RETURNING
// before the statement's end, where the order is carried out.
func refuseAdmin(s *sqltext.Stmt) error {
	name := fold(s.Target.Name)
	t := adminTables[name]
	var e *Error
	switch {
	case s.Upsert:
		e = newError("", ErrGeneric, "%s takes no ON CONFLICT", name)
	case s.Or == sqltext.OnReplace || s.Or == sqltext.OnIgnore:
		e = newError("", ErrGeneric, "%s takes no OR clause", name)
	case s.Return:
		e = notAvailable("", "RETURNING")
		if name == jobsTable {
			e.Hint = "LastInsertId is the job's id"
		}
	default:
		return t.other(s)
	}
	e.Table = name
	return e
}

// refuseReserved refuses a text with a name that begins with the control character
// 1: those of the hidden column and of the functions around it do.
func refuseReserved(s *sqltext.Stmt) error {
	if s.Mentions&sqltext.MentionsHidden == 0 {
		return nil
	}
	return newError("", ErrGeneric, "a name begins with the control character 0x01, which is reserved; a text that is data can be put together with char(1)")
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

package driver

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
)

// Migration is one migration of an application: a file whose name begins with its
// version.
type Migration struct {
	Version   int64
	Name      string    // of the file
	AppliedAt time.Time // zero while it is pending
}

// migrationTable is the version table: the library's own name for it, so that its
// command and the driver can be used on one store.
const migrationTable = goose.DefaultTablename

// Migrations lists the migrations of fsys in the order of their versions, and which of
// them db has. It makes the version table where there is none. As all functions here
// it takes a db whose time_format is not none.
func Migrations(ctx context.Context, db *sql.DB, fsys fs.FS) ([]Migration, error) {
	m, err := newMigrator(db, fsys)
	if err != nil {
		return nil, err
	}
	status, err := m.provider.Status(ctx)
	if err != nil {
		return nil, m.failed(err)
	}
	list := make([]Migration, len(status))
	for i, s := range status {
		list[i] = Migration{s.Source.Version, path.Base(s.Source.Path), s.AppliedAt}
	}
	return list, nil
}

// MigrateUp applies the migrations of fsys that db does not have, in the order of their
// versions, each in one transaction with its row of the version table, unless it says
// NO TRANSACTION. It stops at the first that fails, whose changes are undone; the error
// names its file and line. It returns those that were applied. A pending migration that is older than one that
// was applied is refused, before anything is.
func MigrateUp(ctx context.Context, db *sql.DB, fsys fs.FS) ([]Migration, error) {
	m, err := newMigrator(db, fsys)
	if err != nil {
		return nil, err
	}
	done, err := m.provider.UpTo(ctx, math.MaxInt64)
	var partial *goose.PartialError
	if errors.As(err, &partial) {
		done = partial.Applied
	}
	return results(done), m.failed(err)
}

// MigrateDown undoes the newest migration that db has. It returns ok = false when
// there is none.
func MigrateDown(ctx context.Context, db *sql.DB, fsys fs.FS) (undone Migration, ok bool, err error) {
	m, err := newMigrator(db, fsys)
	if err != nil {
		return Migration{}, false, err
	}
	version, err := m.provider.GetDBVersion(ctx)
	if err != nil || version == 0 {
		return Migration{}, false, m.failed(err)
	}
	done, err := m.provider.Down(ctx)
	switch {
	case errors.Is(err, goose.ErrVersionNotFound):
		return Migration{}, false, newError("migrate", ErrMisuse, "migration %d is applied, and its file is not among the migrations: without it it cannot be undone", version)
	case err != nil:
		return Migration{}, false, m.failed(err)
	}
	return results([]*goose.MigrationResult{done})[0], true, nil
}

func results(done []*goose.MigrationResult) []Migration {
	list := make([]Migration, len(done))
	for i, r := range done {
		list[i] = Migration{Version: r.Source.Version, Name: path.Base(r.Source.Path), AppliedAt: time.Now()}
	}
	return list
}

// migrator runs the migrations of one folder.
type migrator struct {
	provider *goose.Provider
	fsys     fs.FS
	ran      ran
}

func newMigrator(db *sql.DB, fsys fs.FS) (*migrator, error) {
	m := &migrator{fsys: fsys}
	var err error
	m.provider, err = goose.NewProvider(goose.DialectSQLite3, db, fsys,
		goose.WithDisableGlobalRegistry(true), goose.WithVerbose(true), goose.WithSlog(slog.New(&m.ran)))
	switch {
	case errors.Is(err, goose.ErrNoMigrations):
		e := newError("migrate", ErrMisuse, "no migrations: there is no file of a name such as 00001_init.sql in the folder")
		e.Hint = "its first line is -- +goose Up"
		return nil, e
	case errors.Is(err, fs.ErrNotExist):
		return nil, coded("migrate", ErrCantOpen, err, "migrations names a folder of .sql files")
	case err != nil:
		return nil, coded("migrate", ErrMisuse, err, "")
	}
	return m, nil
}

// failed says where a migration failed. What SQLite says of it stays in the chain.
func (m *migrator) failed(err error) error {
	var partial *goose.PartialError
	if !errors.As(err, &partial) {
		return wrapError("migrate", err)
	}
	if m.ran.source == "" {
		return wrapError("migrate", partial.Err)
	}
	name := partial.Failed.Source.Path
	text, readErr := fs.ReadFile(m.fsys, name)
	line := 0
	if readErr == nil {
		line = lineOf(string(text), partial.Failed.Direction, m.ran.statements)
	}
	code, hint := ErrGeneric, ""
	var e *Error
	if errors.As(partial.Err, &e) {
		code, hint = Code(e.Extended), e.Hint
	}
	var wrapped *Error
	if line > 0 {
		wrapped = newError("migrate", code, "%s:%d: %w", path.Base(name), line, partial.Err)
	} else {
		wrapped = newError("migrate", code, "%s: %w", path.Base(name), partial.Err)
	}
	wrapped.Hint = hint
	return wrapped
}

// lineOf returns the line on which the last of the statements begins that were run of
// one direction of a migration; 0 when it is not found, for what it says may have been
// put in for a variable.
func lineOf(text, direction string, statements []string) int {
	at := annotation(text, direction)
	for i, st := range statements {
		first, _, _ := strings.Cut(st, "\n")
		found := strings.Index(text[at:], st)
		if found < 0 {
			if found = strings.Index(text[at:], first); found < 0 {
				if i == len(statements)-1 {
					return 0
				}
				continue
			}
			st = first
		}
		at += found
		if i < len(statements)-1 {
			at += len(st)
		}
	}
	return 1 + strings.Count(text[:at], "\n")
}

// annotation returns where the statements of a direction begin.
func annotation(text, direction string) int {
	at := 0
	for line := range strings.Lines(text) {
		at += len(line)
		fields := strings.Fields(line)
		if slices.Contains(fields, "+goose") && strings.EqualFold(fields[len(fields)-1], direction) {
			return at
		}
	}
	return 0
}

// ran is a log handler that keeps the statements of the migration that runs: the
// library tells of them in no other way.
type ran struct {
	source     string
	statements []string
}

// Enabled reports that every record is wanted.
func (r *ran) Enabled(context.Context, slog.Level) bool { return true }

// Handle notes the statement that a record tells of.
func (r *ran) Handle(_ context.Context, rec slog.Record) error {
	var source, statement string
	rec.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "source":
			source = a.Value.String()
		case "statement":
			statement = a.Value.String()
		}
		return true
	})
	if statement == "" {
		return nil
	}
	if source != r.source {
		r.source, r.statements = source, nil
	}
	r.statements = append(r.statements, statement)
	return nil
}

// WithAttrs returns the handler itself: what it notes is of each record.
func (r *ran) WithAttrs([]slog.Attr) slog.Handler { return r }

// WithGroup returns the handler itself.
func (r *ran) WithGroup(string) slog.Handler { return r }

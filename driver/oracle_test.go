package driver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// outcome is what can be seen of one statement.
type outcome struct {
	columns  []string
	rows     [][]any
	affected int64
	lastID   int64
	code     Code // extended
	message  string
}

// oracle is plain SQLite, with foreign keys enforced as on every connection here.
type oracle struct{ db *vtab.Conn }

func newOracle(t testing.TB) *oracle {
	t.Helper()
	db, err := vtab.OpenPlain()
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Exec("PRAGMA foreign_keys=ON"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &oracle{db}
}

func (o *oracle) run(text string, args ...any) (out outcome) {
	fail := func(err error) outcome {
		var e *vtab.Error
		if !errors.As(err, &e) {
			panic(err)
		}
		return outcome{code: Code(e.Extended), message: e.Msg}
	}
	st, _, err := o.db.Prepare(text)
	if err != nil {
		return fail(err)
	}
	if st == nil {
		return outcome{}
	}
	defer st.Finalize()
	for i, v := range args {
		if err := bindValue(&piece{st: st}, i+1, v); err != nil {
			return fail(err)
		}
	}
	for i := range st.NumColumns() {
		out.columns = append(out.columns, st.ColumnName(i))
	}
	for {
		more, err := st.Step()
		if err != nil {
			return fail(err)
		}
		if !more {
			break
		}
		r := make([]any, len(out.columns))
		for i := range r {
			r[i] = testValue(st.Column(i))
		}
		out.rows = append(out.rows, r)
	}
	if sqltext.Parse(text).Kind.IsDML() && len(out.columns) == 0 {
		out.affected = o.db.Changes()
	}
	out.lastID = o.db.LastInsertRowid()
	return out
}

func testValue(v row.Value) any {
	if v.Kind() == row.Blob {
		return append([]byte{}, v.Bytes()...)
	}
	return plainValue(v)
}

// subject is a connection of the driver.
type subject struct {
	t    testing.TB
	dir  string
	db   *sql.DB
	conn *sql.Conn

	prepare bool   // statements are prepared first
	fresh   bool   // every statement has a new connection, which has no last id
	altered func() // called behind an ALTER TABLE
}

func newSubject(t testing.TB) *subject {
	t.Helper()
	s := &subject{t: t, dir: filepath.Join(t.TempDir(), "store")}
	s.open()
	t.Cleanup(s.close)
	return s
}

func (s *subject) open() {
	s.t.Helper()
	db, err := sql.Open("tidemark", s.dir)
	if err == nil {
		s.db = db
		s.conn, err = db.Conn(context.Background())
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *subject) close() {
	s.t.Helper()
	if err := errors.Join(s.conn.Close(), s.db.Close()); err != nil {
		s.t.Error(err)
	}
}

func (s *subject) run(text string, args ...any) (out outcome) {
	ctx := context.Background()
	fail := func(err error) outcome {
		var e *Error
		if !errors.As(err, &e) {
			return outcome{code: -1, message: fmt.Sprintf("%T: %v", err, err)}
		}
		return outcome{code: Code(e.Extended), message: e.Err.Error()}
	}
	kind := sqltext.Parse(text).Kind
	if kind.IsDML() && !sqltext.HasWord(text, "RETURNING") {
		r, err := s.exec(ctx, text, args...)
		if err != nil {
			return fail(err)
		}
		out.affected, _ = r.RowsAffected()
		out.lastID, _ = r.LastInsertId()
		return out
	}
	rows, err := s.query(ctx, text, args...)
	if err != nil {
		return fail(err)
	}
	defer rows.Close()
	out.columns, err = rows.Columns()
	for err == nil && rows.Next() {
		r := make([]any, len(out.columns))
		ptr := make([]any, len(r))
		for i := range r {
			ptr[i] = &r[i]
		}
		err = rows.Scan(ptr...)
		out.rows = append(out.rows, r)
	}
	if err == nil {
		err = rows.Err()
	}
	if err != nil {
		return fail(err)
	}
	_ = s.conn.Raw(func(dc any) error {
		out.lastID = dc.(*conn).db.LastInsertRowid()
		return nil
	})
	return out
}

func (s *subject) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if !s.prepare {
		return s.conn.ExecContext(ctx, text, args...)
	}
	st, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return st.ExecContext(ctx, args...)
}

func (s *subject) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if !s.prepare {
		return s.conn.QueryContext(ctx, text, args...)
	}
	st, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s.t.Cleanup(func() { st.Close() }) // its rows are read first
	return st.QueryContext(ctx, args...)
}

// compare runs a script on both and reports every statement that differs.
func compare(t *testing.T, o *oracle, s *subject, script string) {
	t.Helper()
	for text := range sqltext.Statements(script) {
		compareOne(t, o, s, text)
	}
}

func compareOne(t *testing.T, o *oracle, s *subject, text string, args ...any) {
	t.Helper()
	want, got := o.run(text, args...), s.run(text, args...)
	if want.code != 0 || got.code != 0 || s.fresh { // the last id after a failure is nobody's
		want.lastID, got.lastID = 0, 0
	}
	if len(want.columns) == 0 {
		want.columns = nil
	}
	if len(got.columns) == 0 {
		got.columns = nil
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n got %s\nwant %s", strings.TrimSpace(text), got, want)
	}
}

func (o outcome) String() string {
	if o.code != 0 {
		return fmt.Sprintf("error %d %q", o.code, o.message)
	}
	return fmt.Sprintf("%q %v affected %d last id %d", o.columns, o.rows, o.affected, o.lastID)
}

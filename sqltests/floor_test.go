package sqltests

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkFloor is what database/sql costs with a driver that does nothing.
func BenchmarkFloor(b *testing.B) {
	db := sql.OpenDB(emptyConnector{})
	defer db.Close()
	st, err := db.Prepare("")
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	b.Run("query", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var n int64
			if err := st.QueryRow(1).Scan(&n); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("exec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := st.Exec(1, "text"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkSync is one fsync of a small overwritten block of the benchmark's disk.
func BenchmarkSync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 4096)
	for range 64 {
		f.Write(buf)
	}
	f.Sync()
	for b.Loop() {
		if _, err := f.WriteAt(buf[:512], 8192); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

type (
	emptyConnector struct{}
	emptyDriver    struct{}
	emptyConn      struct{}
	emptyStmt      struct{}
	emptyRows      struct{ done bool }
)

func (emptyConnector) Connect(context.Context) (driver.Conn, error) { return emptyConn{}, nil }
func (emptyConnector) Driver() driver.Driver                        { return emptyDriver{} }
func (emptyDriver) Open(string) (driver.Conn, error)                { return emptyConn{}, nil }
func (emptyConn) Prepare(string) (driver.Stmt, error)               { return emptyStmt{}, nil }
func (emptyConn) Close() error                                      { return nil }
func (emptyConn) Begin() (driver.Tx, error)                         { return nil, driver.ErrSkip }
func (emptyStmt) Close() error                                      { return nil }
func (emptyStmt) NumInput() int                                     { return -1 }
func (emptyStmt) Exec([]driver.Value) (driver.Result, error)        { return driver.RowsAffected(1), nil }
func (emptyStmt) Query([]driver.Value) (driver.Rows, error)         { return &emptyRows{}, nil }
func (*emptyRows) Columns() []string                                { return []string{"n"} }
func (*emptyRows) Close() error                                     { return nil }
func (r *emptyRows) Next(dest []driver.Value) error {
	if r.done {
		return io.EOF
	}
	r.done = true
	dest[0] = int64(1)
	return nil
}

package driver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestChinook loads a real schema with its data in one Exec. Every table must
// equal what SQLite makes of the script, before and after a reopen.
func TestChinook(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("..", "..", "shared", "data", "chinook.sql"))
	if err != nil {
		t.Skipf("skipped: the data is not here: %v", err)
	}
	o, s := newOracle(t), newSubject(t)
	if err := o.db.Exec(string(script)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.conn.ExecContext(context.Background(), string(script)); err != nil {
		t.Fatal(err)
	}
	tables, err := o.db.Query("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		for _, r := range tables {
			name := r[0].Bytes()
			cols, err := o.db.Query(fmt.Sprintf("SELECT group_concat('typeof(' || name || '), ' || name) FROM pragma_table_info('%s')", name))
			if err != nil {
				t.Fatal(err)
			}
			// As one expression, so that no declared type changes how a value is read.
			text := fmt.Sprintf("SELECT json_array(rowid, %s) FROM %s ORDER BY rowid", cols[0][0].Bytes(), name)
			want, got := o.run(text), s.run(text)
			if len(got.rows) != len(want.rows) {
				t.Fatalf("round %d: %s has %d rows, want %d", round, name, len(got.rows), len(want.rows))
			}
			for i := range want.rows {
				if !reflect.DeepEqual(got.rows[i], want.rows[i]) {
					t.Fatalf("round %d: %s row %d: got %v, want %v", round, name, i, got.rows[i], want.rows[i])
				}
			}
		}
		s.close()
		s.open()
	}
}

package catalog

import (
	"context"
	"fmt"
	"testing"

	"github.com/jmoiron/sqlx"
)

// TestStatementsAreKept: a text is compiled once, also while its rows are read,
// and a schema that changes meanwhile changes what it answers.
func TestStatementsAreKept(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	const text = `SELECT * FROM runtime_diagnostics WHERE diag_id = ?`
	err := c.write(ctx, "test", func(ctx context.Context, tx *writeTx) error {
		outer, err := tx.QueryxContext(ctx, text, 1)
		if err != nil {
			return err
		}
		defer outer.Close()
		if !outer.Next() {
			t.Error("no row")
		}
		// The same text inside: its rows do not disturb the ones outside.
		for range 2 {
			if n := rowsOf(t, tx, text, 1); n != 1 {
				t.Errorf("%d rows inside", n)
			}
		}
		if outer.Next() {
			t.Error("a second row outside")
		}
		if err := outer.Close(); err != nil {
			return err
		}
		columns := func() int {
			rows, err := tx.QueryxContext(ctx, text, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			names, err := rows.Columns()
			if err != nil {
				t.Fatal(err)
			}
			return len(names)
		}
		before := columns()
		if _, err := tx.ExecContext(ctx, `ALTER TABLE runtime_diagnostics ADD COLUMN more TEXT`); err != nil {
			return err
		}
		if after := columns(); after != before+1 {
			t.Errorf("%d columns, then %d", before, after)
		}
		// A refusal leaves the statement usable, and so does a context that ended.
		const bad = `INSERT INTO owners(owner_id, kind) VALUES (?, 'job')`
		for range 2 {
			if _, err := tx.ExecContext(ctx, bad, fixUnreserved); guardCode(err.Error()) != CodeAllocator {
				t.Error(err)
			}
		}
		if _, err := tx.ExecContext(ctx, bad, fixFree); err != nil {
			t.Error(err)
		}
		return errUnchanged
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := one64(t, c, `SELECT count(*) FROM owners`); n != 1 {
		t.Errorf("%d owners", n)
	}
	for text, want := range map[string]bool{
		`SELECT 1`: true, "\n\t\tSELECT 1": true, `INSERT INTO t`: true, `UPDATE t`: true, `DELETE FROM t`: true,
		`PRAGMA foreign_keys`: false, `BEGIN IMMEDIATE`: false, `VACUUM INTO 'x'`: false, ``: false,
	} {
		if got := keepable(text); got != want {
			t.Errorf("keepable(%q) = %v", text, got)
		}
	}
}

func rowsOf(t *testing.T, tx sqlx.QueryerContext, query string, args ...any) (n int) {
	t.Helper()
	rows, err := tx.QueryxContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestStatementsAreBounded: texts without end do not fill the memory.
func TestStatementsAreBounded(t *testing.T) {
	c, _ := newStore(t, Creation{})
	err := c.write(t.Context(), "test", func(ctx context.Context, tx *writeTx) error {
		for i := range keptStatements + 20 {
			var n int
			if err := tx.GetContext(ctx, &n, fmt.Sprintf(`SELECT %d`, i)); err != nil || n != i {
				t.Fatal(n, err)
			}
		}
		return errUnchanged
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := c.writes.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Raw(func(driverConn any) error {
		if n := len(driverConn.(*guardedConn).statements); n != keptStatements {
			t.Errorf("%d statements kept", n)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

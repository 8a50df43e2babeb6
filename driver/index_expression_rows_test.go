package driver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
)

// lateCancel is a context that is canceled once it was asked for often enough.
type lateCancel struct {
	context.Context
	left *int
}

func (c lateCancel) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

// An index on an expression of a table with many rows: it is made, also after a
// context has ended it half way, holds over checkpoints, compactions and opens, and
// goes without a trace.
func TestComputedIndexOfManyRows(t *testing.T) {
	for _, resident := range []string{"all", "keys"} {
		t.Run(resident, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			db := openTest(t, Config{Path: path, Resident: resident})
			mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT)")
			mustExec(t, db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<9000) INSERT INTO t SELECT i, i%2, 'Text '||i FROM n")
			const create = "CREATE UNIQUE INDEX i ON t(lower(b), id+0) WHERE a"
			left := 40
			if _, err := db.ExecContext(lateCancel{t.Context(), &left}, create); !errors.Is(err, context.Canceled) {
				t.Fatalf("canceled: %v, %d left", err, left)
			}
			expect(t, db, 0, "SELECT count(*) FROM pragma_index_list('t')")
			mustExec(t, db, "INSERT INTO t VALUES(9001, 1, 'x')")
			mustExec(t, db, create)
			mustExec(t, db, "CREATE UNIQUE INDEX j ON t(lower(b)) WHERE a")
			mustFail(t, db, ErrConstraintUnique, "CREATE UNIQUE INDEX k ON t(a+1)")
			mustFail(t, db, ErrConstraintUnique, "INSERT INTO t(a,b) VALUES(1,'TEXT 7')")
			mustExec(t, db, "INSERT INTO t(a,b) VALUES(0,'TEXT 7'),(1,'TEXT 8')")
			mustExec(t, db, "INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')")
			mustExec(t, db, "INSERT INTO tidemark_jobs(kind) VALUES('compact')")
			for open := range 2 {
				if open > 0 {
					mustClose(t, db)
					db = openTest(t, Config{Path: path, Resident: resident})
				}
				mustFail(t, db, ErrConstraintUnique, "INSERT INTO t(a,b) VALUES(1,'TEXT 9')")
				mustFail(t, db, ErrConstraintUnique, "UPDATE t SET a=1 WHERE id=8")
				mustExec(t, db, fmt.Sprintf("UPDATE t SET b='neu %d' WHERE id=9; INSERT INTO t(a,b) VALUES(1,'TEXT 9'); DELETE FROM t WHERE b='TEXT 9'; UPDATE t SET b='Text 9' WHERE id=9", open))
			}
			mustExec(t, db, "DROP INDEX j; INSERT INTO t(a,b) VALUES(1,'text 9'); ALTER TABLE t ADD COLUMN g AS (b||a); CREATE INDEX m ON t(g)")
			expect(t, db, 2, "SELECT count(*) FROM t WHERE g='text 91' OR g='Text 91'")
			expect(t, db, 9004, "SELECT count(g) FROM t")
		})
	}
}

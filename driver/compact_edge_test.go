package driver

import (
	"context"
	"database/sql"
	"strings"
	"testing"
)

// A transaction that has read goes on to write although a compaction ran in between:
// nothing was committed.
func TestCompactBesideAReadingTransaction(t *testing.T) {
	c, err := NewConnector(Config{Path: t.TempDir(), Compact: "off"})
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE a(id INTEGER PRIMARY KEY, n INT)"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO a VALUES(1, 1)"); err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRow("SELECT n FROM a").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO tidemark_jobs(kind) VALUES('compact')"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("UPDATE a SET n = n + 1"); err != nil {
		t.Errorf("nobody else wrote: %v", err)
	}
	if err := tx.Commit(); err != nil && !strings.Contains(err.Error(), "done") {
		t.Error(err)
	}
}

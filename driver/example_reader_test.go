//go:build linux

package driver_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tidemarkdb/tidemark/driver"
)

// A report reads a store that something else writes. The two would be processes; in one
// they are as far apart.
func Example_readOnly() {
	parent, err := os.MkdirTemp("", "tidemark")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(parent)
	if err := report(filepath.Join(parent, "shop")); err != nil {
		fmt.Println(err)
	}

	// Output:
	// sold: 3
	// still: 3
	// now: 10
	// read-only: true
	// kept for: 1 reader
}

func report(dir string) error {
	shop, err := sql.Open("tidemark", dir)
	if err != nil {
		return err
	}
	defer shop.Close()
	if _, err := shop.Exec("CREATE TABLE sales(id INTEGER PRIMARY KEY, qty INT NOT NULL); INSERT INTO sales(qty) VALUES(1), (2)"); err != nil {
		return err
	}
	reader, err := sql.Open("tidemark", dir+"?mode=ro")
	if err != nil {
		return err
	}
	defer reader.Close()
	tx, err := reader.Begin()
	if err != nil {
		return err
	}
	if err := total(tx, "sold:"); err != nil {
		return err
	}
	if _, err := shop.Exec("INSERT INTO sales(qty) VALUES(7)"); err != nil {
		return err
	}
	if err := errors.Join(total(tx, "still:"), tx.Commit(), total(reader, "now:")); err != nil {
		return err
	}
	_, refused := reader.Exec("DELETE FROM sales")
	fmt.Println("read-only:", errors.Is(refused, driver.ErrReadOnly))
	var readers int
	if err := shop.QueryRow("SELECT count(DISTINCT session_id) FROM tidemark_pins").Scan(&readers); err != nil {
		return err
	}
	fmt.Println("kept for:", readers, "reader")
	return nil
}

// total adds up what was sold.
func total(q interface {
	QueryRow(query string, args ...any) *sql.Row
}, what string) error {
	var sum int
	err := q.QueryRow("SELECT sum(qty) FROM sales").Scan(&sum)
	fmt.Println(what, sum)
	return err
}

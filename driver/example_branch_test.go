package driver_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tidemarkdb/tidemark/driver"
)

// An import goes wrong. The branch point made before it tells what it changed, and
// gives the rows back.
func Example_branchPoint() {
	parent, err := os.MkdirTemp("", "tidemark")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "shop")
	if err := errors.Join(importPrices(dir), readThen(dir)); err != nil {
		fmt.Println(err)
	}

	// Output:
	// changed: HOOK-3 1.2 -> 12
	// changed: ROPE-12 4.5 -> 45
	// missing: SHACKLE
	// repaired: 0 differences
	// then: 3 prices, the dearest 9.75, read-only: true
}

func importPrices(dir string) error {
	db, err := sql.Open("tidemark", dir)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, text := range []string{
		`CREATE TABLE prices(sku TEXT PRIMARY KEY, price REAL NOT NULL)`,
		`INSERT INTO prices VALUES('HOOK-3', 1.2), ('ROPE-12', 4.5), ('SHACKLE', 9.75)`,
		`INSERT INTO tidemark_branch_points(name) VALUES('before-import')`,
		`DELETE FROM prices WHERE sku LIKE 'S%'`, // the import
		`UPDATE prices SET price = price * 10`,
	} {
		if _, err := db.Exec(text); err != nil {
			return err
		}
	}
	rows, err := db.Query(`SELECT sku, was.price, now.price FROM prices('before-import') AS was LEFT JOIN prices AS now USING (sku)
		WHERE now.price IS NOT was.price ORDER BY sku`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var sku string
		var was float64
		var now sql.NullFloat64
		if err := rows.Scan(&sku, &was, &now); err != nil {
			return err
		}
		if now.Valid {
			fmt.Println("changed:", sku, was, "->", now.Float64)
		} else {
			fmt.Println("missing:", sku)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if _, err := db.Exec(`REPLACE INTO prices SELECT * FROM prices('before-import')`); err != nil {
		return err
	}
	var n int
	err = db.QueryRow(`SELECT count(*) FROM (SELECT * FROM prices EXCEPT SELECT * FROM prices('before-import'))`).Scan(&n)
	fmt.Println("repaired:", n, "differences")
	return err
}

// readThen opens the store as it was.
func readThen(dir string) error {
	db, err := sql.Open("tidemark", dir+"?at=before-import")
	if err != nil {
		return err
	}
	defer db.Close()
	var n int
	var dearest float64
	if err := db.QueryRow("SELECT count(*), max(price) FROM prices").Scan(&n, &dearest); err != nil {
		return err
	}
	_, refused := db.Exec("DELETE FROM prices")
	fmt.Printf("then: %d prices, the dearest %v, read-only: %t\n", n, dearest, errors.Is(refused, driver.ErrReadOnly))
	return nil
}

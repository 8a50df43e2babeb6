package driver_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/tidemarkdb/tidemark/driver" // registers "tidemark"
)

// One store holds rows that are read often, rows that are many and read seldom,
// and rows that nobody misses after a restart. Transactions go across them.
func Example_storageModes() {
	parent, err := os.MkdirTemp("", "tidemark")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "shop")
	if err := errors.Join(trade(dir), restart(dir)); err != nil {
		fmt.Println(err)
	}

	// Output:
	// ann: <nil>
	// bob: CHECK constraint failed: qty >= 0
	// before: 2 in stock, 1 orders, 1 seen
	// after:  2 in stock, 1 orders, 0 seen
}

func trade(dir string) error {
	db, err := sql.Open("tidemark", dir)
	if err != nil {
		return err
	}
	defer db.Close() // closes the store
	for _, text := range []string{
		// On disk, and in memory whole: the default.
		`CREATE TABLE stock(sku TEXT PRIMARY KEY, qty INT NOT NULL CHECK(qty >= 0))`,
		// On disk, and in memory its keys and indexes alone.
		`CREATE VIRTUAL TABLE orders USING tidemark(id INTEGER PRIMARY KEY,
			sku TEXT NOT NULL REFERENCES stock(sku), note TEXT, resident=keys)`,
		// In memory alone, and of its rows the newest 1000.
		`CREATE VIRTUAL TABLE seen USING tidemark(customer TEXT, sku TEXT,
			durable=false, max_rows=1000, on_full=drop_oldest)`,
		`INSERT INTO stock VALUES('ROPE-12', 5)`,
	} {
		if _, err := db.Exec(text); err != nil {
			return err
		}
	}
	fmt.Println("ann:", buy(db, "ann", "ROPE-12", 3))
	fmt.Println("bob:", buy(db, "bob", "ROPE-12", 3)) // 2 are left: all three tables stay as they are
	return show(db, "before:")
}

// buy writes all three tables in one transaction.
func buy(db *sql.DB, customer, sku string, qty int) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if _, err := tx.Exec(`INSERT INTO seen VALUES(?, ?)`, customer, sku); err != nil {
		return err
	}
	if _, err := tx.Exec(`INSERT INTO orders(sku, note) VALUES(?, ?)`, sku, "for "+customer); err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE stock SET qty = qty - ? WHERE sku = ?`, qty, sku); err != nil {
		return err
	}
	return tx.Commit()
}

func restart(dir string) error {
	db, err := sql.Open("tidemark", dir)
	if err != nil {
		return err
	}
	defer db.Close()
	return show(db, "after: ")
}

// show prints what the three tables hold at one moment.
func show(db *sql.DB, when string) error {
	var stock, orders, seen int
	err := db.QueryRow(`SELECT (SELECT sum(qty) FROM stock), (SELECT count(*) FROM orders),
		(SELECT count(*) FROM seen)`).Scan(&stock, &orders, &seen)
	if err == nil {
		fmt.Printf("%s %d in stock, %d orders, %d seen\n", when, stock, orders, seen)
	}
	return err
}

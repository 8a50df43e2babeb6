package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// shopSchema is a small shop: keys of every kind, checks, a table in the form
// that takes options.
const shopSchema = `
CREATE TABLE customers(
  id     INTEGER PRIMARY KEY,
  name   TEXT NOT NULL,
  email  TEXT NOT NULL UNIQUE COLLATE NOCASE,
  city   TEXT NOT NULL DEFAULT 'Lisbon',
  joined DATE NOT NULL
);
CREATE TABLE products(
  sku         TEXT PRIMARY KEY,
  title       TEXT NOT NULL,
  price_cents INTEGER NOT NULL CHECK (price_cents > 0),
  stock       INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE orders(
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  customer_id INTEGER NOT NULL REFERENCES customers(id),
  placed_at   DATETIME NOT NULL,
  total_cents INTEGER NOT NULL
);
CREATE TABLE order_lines(
  order_id    INTEGER NOT NULL REFERENCES orders(id),
  line        INTEGER NOT NULL,
  sku         TEXT NOT NULL REFERENCES products(sku),
  quantity    INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 9),
  price_cents INTEGER NOT NULL,
  PRIMARY KEY (order_id, line)
) WITHOUT ROWID;
CREATE INDEX orders_customer ON orders(customer_id, placed_at);
CREATE INDEX order_lines_sku ON order_lines(sku);
CREATE VIRTUAL TABLE events USING tidemark(
  id INTEGER PRIMARY KEY, at DATETIME NOT NULL, kind TEXT NOT NULL, writer INTEGER NOT NULL, order_id INTEGER,
  durable=true, resident=all
);
CREATE VIEW order_totals AS
  SELECT o.id, o.total_cents, sum(l.quantity * l.price_cents) AS computed
  FROM orders o LEFT JOIN order_lines l ON l.order_id = o.id GROUP BY o.id;
`

// Sizes of the generated data.
const (
	shopCustomers = 800
	shopOrders    = 2000
	shopBatch     = 250 // orders in one transaction
)

var (
	firstNames = strings.Fields("Ada Bruno Chiara Dmitri Elif Farid Greta Hana Ines Jonas Kofi Lena Mateo Nadia Oskar Priya Quentin Rosa Sven Tala")
	lastNames  = strings.Fields("Almeida Berg Costa Dubois Eriksen Fischer Garcia Haddad Ito Jansen Kovacs Lind Moreau Novak Okafor Petrov Rossi Silva Tanaka Weber")
	cities     = strings.Fields("Lisbon Porto Bergen Lyon Trieste Gdansk Ghent Malmo Tartu Graz")
	goods      = strings.Fields("Anchor Barometer Chart Compass Flag Flare Hook Kettle Lamp Lantern Map Net Oar Paddle Rope Sail Sextant Tide-table Whistle Windlass")
	kinds      = strings.Fields("small plain brass folding heavy")
)

// fillShop makes the schema and its first rows and returns how many they are.
func fillShop(ctx context.Context, db *sql.DB) (rows int, err error) {
	if _, err := db.ExecContext(ctx, shopSchema); err != nil {
		return 0, err
	}
	rng := rand.New(rand.NewPCG(demoSeed, 0))
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	for i := range shopCustomers {
		first, last := firstNames[rng.IntN(len(firstNames))], lastNames[rng.IntN(len(lastNames))]
		joined := time.Date(2019+i%6, time.Month(1+i%12), 1+i%28, 0, 0, 0, 0, time.UTC)
		if _, err := tx.ExecContext(ctx, `INSERT INTO customers(name, email, city, joined) VALUES(?, ?, ?, ?)`,
			first+" "+last, fmt.Sprintf("%s.%s%d@example.org", first, last, i), cities[rng.IntN(len(cities))], joined.Format(time.DateOnly)); err != nil {
			return 0, err
		}
	}
	for _, g := range goods {
		for _, kind := range kinds {
			if _, err := tx.ExecContext(ctx, `INSERT INTO products VALUES(?, ?, ?, ?)`,
				sku(g, kind), kind+" "+g, 150+rng.IntN(20000), 1_000_000); err != nil {
				return 0, err
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return 0, err
	}
	rows = shopCustomers + len(goods)*len(kinds)
	at := time.Date(2024, 1, 1, 8, 0, 0, 0, time.UTC)
	for done := 0; done < shopOrders; done += shopBatch {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return 0, err
		}
		defer tx.Rollback()
		for range shopBatch {
			at = at.Add(time.Duration(rng.IntN(3600)) * time.Second)
			_, n, err := placeOrder(ctx, tx, rng, 0, at)
			if err != nil {
				return 0, err
			}
			rows += n
		}
		if err := tx.Commit(); err != nil {
			return 0, err
		}
	}
	return rows, nil
}

// sku is a product's key.
func sku(good, kind string) string { return strings.ToUpper(good + "-" + kind[:2]) }

// placeOrder inserts an order with its lines and its event and takes the goods
// from stock. It returns the order's id and how many rows it inserted.
func placeOrder(ctx context.Context, tx *sql.Tx, rng *rand.Rand, writer int, at time.Time) (id int64, rows int, err error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO orders(customer_id, placed_at, total_cents) VALUES(?, ?, 0)`, 1+rng.IntN(shopCustomers), at)
	if err != nil {
		return 0, 0, err
	}
	if id, err = result.LastInsertId(); err != nil {
		return 0, 0, err
	}
	lines := 1 + rng.IntN(4)
	for line := range lines {
		product := sku(goods[rng.IntN(len(goods))], kinds[rng.IntN(len(kinds))])
		quantity := 1 + rng.IntN(5)
		if _, err := tx.ExecContext(ctx, `INSERT INTO order_lines SELECT ?, ?, sku, ?, price_cents FROM products WHERE sku = ?`,
			id, line+1, quantity, product); err != nil {
			return 0, 0, err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE products SET stock = stock - ? WHERE sku = ?`, quantity, product); err != nil {
			return 0, 0, err
		}
	}
	if _, err := tx.ExecContext(ctx, `UPDATE orders SET total_cents = (SELECT sum(quantity * price_cents) FROM order_lines WHERE order_id = ?1) WHERE id = ?1`, id); err != nil {
		return 0, 0, err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO events(at, kind, writer, order_id) VALUES(?, 'order placed', ?, ?)`, at, writer, id)
	return id, lines + 2, err
}

// verifyShop fails unless every acknowledged order is there, and every order
// that is there is whole.
func verifyShop(ctx context.Context, db *sql.DB, acked []int64) error {
	find, err := db.PrepareContext(ctx, `SELECT count(*) FROM orders WHERE id = ?`)
	if err != nil {
		return err
	}
	defer find.Close()
	for _, id := range acked {
		var n int
		if err := find.QueryRowContext(ctx, id).Scan(&n); err != nil {
			return err
		}
		if n != 1 {
			return fmt.Errorf("order %d was acknowledged and is lost", id)
		}
	}
	for _, half := range []struct{ what, query string }{
		{"orders whose lines do not add up", `SELECT count(*) FROM order_totals WHERE total_cents IS NOT computed`},
		{"lines without an order", `SELECT count(*) FROM order_lines WHERE order_id NOT IN (SELECT id FROM orders)`},
		{"orders without their event", `SELECT count(*) FROM orders WHERE id NOT IN (SELECT order_id FROM events)`},
		{"products whose stock does not add up", `SELECT count(*) FROM products p LEFT JOIN
			(SELECT sku, sum(quantity) AS sold FROM order_lines GROUP BY sku) s ON s.sku = p.sku WHERE p.stock + ifnull(s.sold, 0) <> 1000000`},
	} {
		var n int
		if err := db.QueryRowContext(ctx, half.query).Scan(&n); err != nil {
			return err
		}
		if n != 0 {
			return fmt.Errorf("%s: %d", half.what, n)
		}
	}
	return nil
}

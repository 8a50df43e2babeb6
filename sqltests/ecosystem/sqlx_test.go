package ecosystem

import (
	"database/sql"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
)

type place struct {
	Country string
	City    sql.NullString
	Code    int64 `db:"telcode"`
	Founded time.Time
}

func TestSqlx(t *testing.T) {
	sqlx.BindDriver("tidemark", sqlx.QUESTION)
	each(t, func(t *testing.T, db *sql.DB) {
		ctx := t.Context()
		x := sqlx.NewDb(db, "tidemark")
		x.MustExec("CREATE TABLE place(country TEXT, city TEXT NULL, telcode INTEGER UNIQUE, founded DATETIME)")
		founded := time.Date(1948, 5, 14, 12, 0, 0, 0, time.UTC)
		tx := x.MustBegin()
		for code, country := range []string{"Singapore", "Hong Kong"} {
			_, err := tx.NamedExec("INSERT INTO place(country, telcode, founded) VALUES (:country, :telcode, :founded)", place{Country: country, Code: int64(code), Founded: founded})
			done(t, err)
		}
		_, err := tx.NamedExec("INSERT INTO place(country, city, telcode, founded) VALUES (:country, :city, :telcode, :founded)", []place{
			{"USA", sql.NullString{String: "New York", Valid: true}, 10, founded}, {"USA", sql.NullString{String: "Boston", Valid: true}, 11, founded},
		})
		done(t, err)
		done(t, tx.Commit())

		var all []place
		done(t, x.SelectContext(ctx, &all, "SELECT * FROM place ORDER BY telcode"))
		if len(all) != 4 || !all[0].Founded.Equal(founded) || all[0].City.Valid || all[3].City.String != "Boston" {
			t.Fatalf("read %+v", all)
		}
		var one place
		done(t, x.GetContext(ctx, &one, "SELECT * FROM place WHERE telcode = ?", 1))
		equal(t, "country", one.Country, "Hong Kong")
		query, args, err := sqlx.In("SELECT count(*) FROM place WHERE telcode IN (?) AND country <> ?", []int{0, 1, 10, 99}, "Singapore")
		done(t, err)
		var n int
		done(t, x.GetContext(ctx, &n, x.Rebind(query), args...))
		equal(t, "in", n, 2)
		rows, err := x.NamedQueryContext(ctx, "INSERT INTO place(country, telcode) VALUES (:c, :t) ON CONFLICT(telcode) DO UPDATE SET country = excluded.country RETURNING country, telcode", map[string]any{"c": "Malaysia", "t": 0})
		done(t, err)
		for rows.Next() {
			row := map[string]any{}
			done(t, rows.MapScan(row))
			if s, _ := row["country"].(string); s != "Malaysia" {
				t.Fatalf("row %v", row)
			}
		}
		done(t, rows.Close())
		stmt, err := x.PrepareNamedContext(ctx, "SELECT country FROM place WHERE telcode = :code")
		done(t, err)
		var country string
		done(t, stmt.GetContext(ctx, &country, map[string]any{"code": 0}))
		equal(t, "country", country, "Malaysia")
		done(t, stmt.Close())
	})
}

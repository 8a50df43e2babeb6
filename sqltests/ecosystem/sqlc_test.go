package ecosystem

import (
	"context"
	"database/sql"
	_ "embed"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/sqltests/ecosystem/library"
)

//go:embed library/schema.sql
var librarySchema string

// Package library is what sqlc v1.31.1 generates of library/sqlc.yaml.
func TestSqlc(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB) {
		ctx := t.Context()
		_, err := db.Exec(librarySchema)
		done(t, err)
		q := library.New(db)
		born := sql.NullTime{Time: time.Date(1920, 1, 2, 0, 0, 0, 0, time.UTC), Valid: true}
		asimov, err := q.CreateAuthor(ctx, library.CreateAuthorParams{Name: "Asimov", Born: born})
		done(t, err)
		lem, err := q.CreateAuthor(ctx, library.CreateAuthorParams{Name: "Lem", Bio: sql.NullString{String: "Kraków", Valid: true}})
		done(t, err)
		if lem.ID != asimov.ID+1 || !asimov.Born.Time.Equal(born.Time) || lem.Born.Valid || asimov.Bio.Valid {
			t.Fatalf("returned %+v and %+v", asimov, lem)
		}
		tx, err := db.BeginTx(ctx, nil)
		done(t, err)
		in := q.WithTx(tx)
		id, err := in.AddBook(ctx, library.AddBookParams{Author: lem.ID, Title: "Solaris"})
		done(t, err)
		book, err := in.UpsertBook(ctx, library.UpsertBookParams{AuthorID: lem.ID, Title: "Solaris", Price: 9.5})
		done(t, err)
		if book.ID != id || book.Price != 9.5 {
			t.Fatalf("upserted %+v, id %d", book, id)
		}
		done(t, tx.Commit())
		_, err = q.UpsertBook(ctx, library.UpsertBookParams{AuthorID: asimov.ID, Title: "Foundation", Price: 8})
		done(t, err)
		list, err := q.BooksOf(ctx, []int64{asimov.ID, lem.ID, 99})
		done(t, err)
		if len(list) != 2 || list[1].Title != "Solaris" || list[1].Name != "Lem" {
			t.Fatalf("books %+v", list)
		}
		n, err := q.UpdateAuthor(ctx, library.UpdateAuthorParams{Name: "Stanisław Lem", Bio: lem.Bio, ID: lem.ID})
		done(t, err)
		equal(t, "updated", n, 1)
		revenue, err := q.Revenue(ctx)
		done(t, err)
		equal(t, "revenue", len(revenue), 2)
		done(t, q.DeleteAuthor(ctx, lem.ID))
		authors, err := q.ListAuthors(ctx)
		done(t, err)
		equal(t, "authors", len(authors), 1)
		if _, err := q.GetAuthor(ctx, lem.ID); err != sql.ErrNoRows {
			t.Fatal(err)
		}
		equal(t, "books", count(context.Background(), t, db, "SELECT count(*) FROM books"), 1)
	})
}

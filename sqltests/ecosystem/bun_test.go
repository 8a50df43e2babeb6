package ecosystem

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
)

type author struct {
	ID        int64     `bun:",pk,autoincrement"`
	Name      string    `bun:",notnull,unique"`
	Emails    []string  // as JSON
	CreatedAt time.Time `bun:",nullzero,notnull,default:current_timestamp"`
	Books     []*book   `bun:"rel:has-many,join:id=author_id"`
}

type book struct {
	ID       int64 `bun:",pk,autoincrement"`
	Title    string
	AuthorID int64
	Author   *author `bun:"rel:belongs-to,join:author_id=id"`
}

func TestBun(t *testing.T) {
	each(t, func(t *testing.T, sqldb *sql.DB) {
		ctx := t.Context()
		db := bun.NewDB(sqldb, sqlitedialect.New())
		for _, model := range []any{(*author)(nil), (*book)(nil)} {
			_, err := db.NewCreateTable().Model(model).IfNotExists().WithForeignKeys().Exec(ctx)
			done(t, err)
		}
		_, err := db.NewCreateIndex().Model((*book)(nil)).Index("books_title").Column("title").Where("title <> ''").Exec(ctx)
		done(t, err)
		ann := &author{Name: "ann", Emails: []string{"ann@example.com"}}
		_, err = db.NewInsert().Model(ann).Exec(ctx)
		done(t, err)
		if ann.ID == 0 || ann.CreatedAt.IsZero() {
			t.Fatalf("nothing was returned: %+v", ann)
		}
		books := []book{{Title: "one", AuthorID: ann.ID}, {Title: "two", AuthorID: ann.ID}}
		_, err = db.NewInsert().Model(&books).Exec(ctx)
		done(t, err)
		if books[1].ID != books[0].ID+1 {
			t.Fatalf("ids %+v", books)
		}
		again := &author{Name: "ann", Emails: []string{"new@example.com"}}
		_, err = db.NewInsert().Model(again).On("CONFLICT (name) DO UPDATE").Set("emails = EXCLUDED.emails").Returning("id").Exec(ctx)
		done(t, err)
		equal(t, "id of the upsert", again.ID, ann.ID)

		got := new(author)
		done(t, db.NewSelect().Model(got).Relation("Books", func(q *bun.SelectQuery) *bun.SelectQuery { return q.Order("title DESC") }).Where("author.name = ?", "ann").Scan(ctx))
		if len(got.Books) != 2 || got.Books[0].Title != "two" || got.Emails[0] != "new@example.com" {
			t.Fatalf("read %+v", got)
		}
		var one book
		done(t, db.NewSelect().Model(&one).Relation("Author").Where("title = ?", "one").Scan(ctx))
		equal(t, "author", one.Author.Name, "ann")

		values := db.NewValues(&[]book{{ID: books[0].ID, Title: "uno"}, {ID: books[1].ID, Title: "due"}}).WithOrder()
		_, err = db.NewUpdate().With("_data", values).Model((*book)(nil)).TableExpr("_data").Set("title = _data.title").Where("book.id = _data.id").Exec(ctx)
		done(t, err)
		var titles []string
		done(t, db.NewDelete().Model((*book)(nil)).Where("author_id = ?", ann.ID).Returning("title").Scan(ctx, &titles))
		equal(t, "deleted", len(titles), 2)
		err = db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			_, err := tx.NewInsert().Model(&book{Title: "three", AuthorID: ann.ID}).Exec(ctx)
			return err
		})
		done(t, err)
		n, err := db.NewSelect().Model((*book)(nil)).Count(ctx)
		done(t, err)
		equal(t, "books", n, 1)
		_, err = db.NewAddColumn().Model((*book)(nil)).ColumnExpr("pages INTEGER DEFAULT 1").Exec(ctx)
		done(t, err)
		_, err = db.NewDropColumn().Model((*book)(nil)).Column("pages").Exec(ctx)
		done(t, err)
		_, err = db.NewInsert().Model(&book{Title: "four", AuthorID: 99}).Exec(ctx)
		if err == nil {
			t.Fatal("a foreign key was not enforced")
		}
	})
}

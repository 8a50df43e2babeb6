package driver

import (
	"context"
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// createAs runs CREATE TABLE … AS SELECT, inside the transaction of the DDL:
// SQLite computes columns and rows in a temporary table, whose columns the new
// table gets. Its name is as long as the new one's, because SQLite breaks the
// lines of the text it makes up by that.
func (c *conn) createAs(ctx context.Context, p *piece, b *binder) error {
	if err := c.probeName(p); err != nil {
		return err
	}
	if err := c.loadNames(); err != nil {
		return err
	}
	temp := strings.Repeat("_", len(p.Target.Name))
	for c.names.hasTemp(temp, "table", "view", "index") {
		temp += "_"
	}
	if err := c.fillTemp(ctx, p, b, temp); err != nil {
		return err
	}
	list, err := c.db.Query("SELECT sql FROM temp.sqlite_schema WHERE name = ?1", row.TextValue(temp))
	if err != nil {
		return err
	}
	_, columns, _ := strings.Cut(list[0][0].Bytes(), temp)
	changes, err := c.planDDL(sqltext.Parse(createTable(p)+columns), c.reads.etx.Schema())
	if err != nil {
		return err
	}
	if err := c.change(ctx, changes); err != nil {
		return err
	}
	err = c.db.Exec("INSERT INTO main." + sqltext.Quote(p.Target.Name) + " SELECT * FROM temp." + temp + "; DROP TABLE temp." + temp)
	return c.sqliteError(ctx, err)
}

// createTable is the statement up to the name.
func createTable(p *piece) string { return "CREATE TABLE " + p.Tail()[:p.NameEnd()] }

// probeName reports that the name is taken before anything is computed.
func (c *conn) probeName(p *piece) error {
	sh := &c.sh.tables.shadow
	return sh.use(c.reads.etx.Schema(), func() error {
		st, _, err := sh.db.Prepare(createTable(p) + "(x)")
		if st != nil {
			st.Finalize()
		}
		return err
	})
}

// fillTemp runs the SELECT into a temporary table.
func (c *conn) fillTemp(ctx context.Context, p *piece, b *binder, temp string) error {
	q := &piece{Stmt: sqltext.Parse("CREATE TEMP TABLE " + temp + " AS " + p.AsSelect()), numbers: p.numbers}
	defer q.finalize()
	text, err := c.rewrite(q.Stmt, inTemp, c.mirror.schema, &planning{})
	if err != nil {
		return err
	}
	st, _, err := c.db.Prepare(text)
	if err != nil {
		return c.sqliteError(ctx, err)
	}
	q.st, q.nparams = st, st.NumParams()
	if err := b.bind(q); err != nil {
		return err
	}
	err = c.drain(ctx, q, c.watchContext(ctx))
	c.names.forget()
	return err
}

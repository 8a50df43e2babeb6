package driver

import (
	"context"
	"errors"
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// schemaPragmas are the PRAGMAs about tables and indexes: the shadow, which
// holds the DDL as it was written, answers them. columns declares their
// table-valued form.
var schemaPragmas = map[string]struct{ columns string }{
	"table_info":       {`cid INT, name TEXT, type TEXT, "notnull" INT, dflt_value, pk INT`},
	"table_xinfo":      {`cid INT, name TEXT, type TEXT, "notnull" INT, dflt_value, pk INT, hidden INT`},
	"table_list":       {`schema TEXT, name TEXT, type TEXT, ncol INT, wr INT, strict INT`},
	"index_list":       {`seq INT, name TEXT, "unique" INT, origin TEXT, partial INT`},
	"index_info":       {`seqno INT, cid INT, name TEXT`},
	"index_xinfo":      {`seqno INT, cid INT, name TEXT, "desc" INT, coll TEXT, "key" INT`},
	"foreign_key_list": {`id INT, seq INT, "table" TEXT, "from" TEXT, "to" TEXT, on_update TEXT, on_delete TEXT, match TEXT`},
}

// runSchemaPragma answers from the shadow or, for a table of temp or of an
// attached file, lets SQLite answer.
func (c *conn) runSchemaPragma(p *piece, name, arg string, has bool) (done bool, a answer, err error) {
	if has && aboutAdmin(name, arg) {
		a, err = c.direct(context.Background(), p)
		return true, a, err
	}
	if has && p.Target.Schema == "" {
		kinds := []string{"table", "view"}
		if name == "index_info" || name == "index_xinfo" {
			kinds = []string{"index", "table"}
		}
		where, err := c.locate(sqltext.Name{Name: arg}, c.schema(), kinds...)
		if err != nil {
			return true, a, err
		}
		if where == inTemp || where == inFile {
			a, err = c.direct(context.Background(), p)
			return true, a, err
		}
	}
	if name == "table_list" && !has {
		list, err := c.tableList(p.Target.Schema != "")
		return true, answer{[]string{"schema", "name", "type", "ncol", "wr", "strict"}, list}, err
	}
	a, err = c.askShadow(p.Text)
	if readsPast(err) {
		if err = c.refresh(c.schema()); err == nil {
			a, err = c.direct(context.Background(), p)
		}
	}
	return true, a, err
}

// aboutAdmin reports whether a schema PRAGMA asks for an administrative table. The shadow
// has none of them, and the connection's SQLite knows what else has the name in temp
// or in an attached file.
func aboutAdmin(pragma, arg string) bool {
	return adminTables[fold(arg)] != nil && pragma != "index_info" && pragma != "index_xinfo"
}

// readsPast reports that the shadow, whose tables cannot be called as functions, was
// asked about a view that reads t('name'). The mirror knows the columns of one.
func readsPast(err error) bool {
	e, ok := errors.AsType[*vtab.Error](err)
	return ok && strings.HasSuffix(e.Msg, " is not a function")
}

// tableList answers PRAGMA table_list: the store's tables as the shadow has
// them, and those of temp and of attached files.
func (c *conn) tableList(mainOnly bool) ([][]row.Value, error) {
	a, err := c.askShadow("PRAGMA main.table_list")
	if err != nil || mainOnly {
		return a.rows, err
	}
	if err := c.loadNames(); err != nil {
		return nil, err
	}
	list := a.rows
	for _, schema := range append([]string{"temp"}, c.names.files...) {
		more, err := c.db.Query("PRAGMA " + sqltext.Quote(schema) + ".table_list")
		if err != nil {
			return nil, err
		}
		for _, r := range more {
			if r[1].Bytes() != controlName {
				list = append(list, r)
			}
		}
	}
	return list, nil
}

// pragmaRows answers the table-valued form of a schema PRAGMA.
func (c *conn) pragmaRows(name string, args []row.Value) ([][]row.Value, error) {
	if args[0].IsNull() && name != "table_list" {
		return nil, nil
	}
	if args[0].IsNull() {
		return c.tableList(false)
	}
	table, schema := args[0].Bytes(), ""
	if len(args) > 1 {
		schema = args[1].Bytes()
	}
	where, err := c.locate(sqltext.Name{Schema: schema, Name: table}, c.schema(), "table", "view", "index")
	if err != nil {
		return nil, err
	}
	text := func(schema string) string {
		sql := "PRAGMA " + sqltext.QuoteText(schema) + "." + name // as SQLite does, whose message quotes it
		if !args[0].IsNull() {
			sql += "(" + sqltext.Quote(table) + ")"
		}
		return sql
	}
	switch {
	case (where == inStore || where == inAdmin || where == nowhere) && aboutAdmin(name, table):
		return c.db.Query(text("main"))
	case where == inTemp:
		return c.db.Query(text("temp"))
	case where == inFile && schema != "", where == inCatalog && schema != "":
		return c.db.Query(text(schema))
	case where == inFile:
		return c.db.Query("PRAGMA " + name + "(" + sqltext.Quote(table) + ")")
	}
	var list [][]row.Value
	s := &c.sh.tables.shadow
	err = s.use(c.schema(), func() (err error) {
		list, err = s.db.Query(text("main"))
		return err
	})
	if readsPast(err) {
		return c.db.Query(text("main"))
	}
	return list, err
}

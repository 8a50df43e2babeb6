package driver

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
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

// fixedPragmas are about files and locks of SQLite's own. Without a schema they
// would reach the attached catalog too. They are accepted, change nothing, and
// answer what they would for a database in memory.
var fixedPragmas = map[string][]row.Value{
	"journal_mode":       {row.TextValue("memory")},
	"locking_mode":       {row.TextValue("normal")},
	"wal_checkpoint":     {row.IntValue(0), row.IntValue(-1), row.IntValue(-1)},
	"wal_autocheckpoint": {row.IntValue(1000)},
	"journal_size_limit": {row.IntValue(-1)},
	"secure_delete":      {row.IntValue(0)},
	"mmap_size":          {row.IntValue(0)},
	"auto_vacuum":        {row.IntValue(0)},
	"temp_store":         {row.IntValue(2)},
	"optimize":           nil,
	"incremental_vacuum": nil,
	"shrink_memory":      nil,
}

// silentSet are those of fixedPragmas that return no row when they are given a
// value.
var silentSet = map[string]bool{"auto_vacuum": true, "temp_store": true}

// refusedPragmas would set something that nobody keeps.
var refusedPragmas = map[string]string{
	"user_version":    "keep the version of an application's schema in a table",
	"application_id":  "keep it in a table",
	"writable_schema": "change the schema with CREATE and DROP",
	"schema_version":  "change the schema with CREATE and DROP",
}

// readPragmas take an argument and set nothing.
var readPragmas = map[string]bool{"busy_timeout": true, "integrity_check": true, "quick_check": true, "table_info": true}

// runPragma answers a PRAGMA.
func (c *conn) runPragma(ctx context.Context, p *piece) (done bool, a answer, err error) {
	name := fold(p.Target.Name)
	value, has := p.PragmaValue()
	schema := fold(p.Target.Schema)
	ours := schema == "" || schema == "main"
	if _, ok := schemaPragmas[name]; ok && ours {
		return c.runSchemaPragma(p, name, value, has)
	}
	if !ours {
		a, err = c.direct(ctx, p)
		return true, a, err
	}
	switch name {
	case "foreign_keys", "defer_foreign_keys":
		a, err = c.pragmaForeign(name, value, has)
		return true, a, err
	case "foreign_key_check":
		a, err = c.pragmaForeignCheck(ctx, p, value, has)
		return true, a, err
	}
	if values, ok := fixedPragmas[name]; ok {
		if values != nil && !(has && silentSet[name]) {
			a = answer{pragmaLabels(name, len(values)), [][]row.Value{values}}
		}
		return true, a, nil
	}
	if hint, ok := refusedPragmas[name]; ok && has {
		return true, a, refuse("PRAGMA "+name, hint)
	}
	if _, ok := sessionPragmas[name]; ok && has {
		if c.changed == nil {
			c.changed = map[string]bool{}
		}
		c.changed[name] = true
	} else if has && !readPragmas[name] {
		c.stale = true
	}
	switch name {
	case "busy_timeout":
		a, err = c.pragmaBusyTimeout(value, has)
	case "integrity_check", "quick_check":
		if has {
			if direct, err := c.checksElsewhere(p, value); err != nil || direct {
				if direct {
					a, err = c.direct(ctx, p)
				}
				return true, a, err
			}
		}
		a, err = c.pragmaCheck(ctx, name)
	default:
		a, err = c.direct(ctx, p)
	}
	return true, a, err
}

func pragmaLabels(name string, n int) []string {
	if name == "wal_checkpoint" {
		return []string{"busy", "log", "checkpointed"}
	}
	return []string{name}[:n]
}

// runSchemaPragma answers from the shadow or, for a table of temp or of an
// attached file, lets SQLite answer.
func (c *conn) runSchemaPragma(p *piece, name, arg string, has bool) (done bool, a answer, err error) {
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

// pragmaBusyTimeout reads or sets how long the connection waits for the write
// lock, until it goes back to the pool.
func (c *conn) pragmaBusyTimeout(value string, has bool) (answer, error) {
	if has {
		ms, _ := strconv.ParseInt(value, 10, 32) // a word counts as 0, as in SQLite
		c.busyTimeout = max(time.Duration(ms)*time.Millisecond, 0)
	}
	ms := max(c.busyTimeout, 0).Milliseconds()
	return answer{[]string{"timeout"}, [][]row.Value{{row.IntValue(ms)}}}, nil
}

// checksElsewhere looks at the argument of a check: the most rows wanted, or a
// table. Of one that is not the store's SQLite checks it.
func (c *conn) checksElsewhere(p *piece, arg string) (direct bool, err error) {
	if _, err := strconv.ParseInt(arg, 10, 32); err == nil || strings.HasPrefix(fold(arg), "sqlite_") {
		return false, nil
	}
	if p.Target.Schema != "" {
		if !storeFinds(c.schema(), arg, []string{"table", "view"}) {
			return false, errNoTable(sqltext.Name{Schema: p.Target.Schema, Name: arg})
		}
		return false, nil
	}
	where, err := c.locate(sqltext.Name{Name: arg}, c.schema(), "table", "view")
	if err == nil && where == nowhere {
		err = errNoTable(sqltext.Name{Name: arg})
	}
	return err == nil && where != inStore, err
}

// pragmaCheck reads every file of the store.
func (c *conn) pragmaCheck(ctx context.Context, name string) (answer, error) {
	if c.sh.inst.readOnly {
		return answer{}, errReadOnlyCheck()
	}
	a := answer{labels: []string{name}}
	err := c.store.Check(ctx, func(f engine.Finding) {
		a.rows = append(a.rows, []row.Value{row.TextValue(f.String())})
	}, nil)
	if len(a.rows) == 0 {
		a.rows = [][]row.Value{{row.TextValue("ok")}}
	}
	return a, err
}

// direct has SQLite run a statement that concerns neither rows nor the schema of
// the store, in whatever transaction there is.
func (c *conn) direct(ctx context.Context, p *piece) (answer, error) {
	c.db.ClearError()
	a, err := askNative(c.db, p.Text)
	return a, c.sqliteError(ctx, err)
}

// askNative runs one statement on a SQLite connection and copies its rows.
func askNative(db *vtab.Conn, text string) (a answer, err error) {
	st, _, err := db.Prepare(text)
	if err != nil || st == nil {
		return a, err
	}
	defer st.Finalize()
	for i := range st.NumColumns() {
		a.labels = append(a.labels, st.ColumnName(i))
	}
	for {
		more, err := st.Step()
		if err != nil || !more {
			return a, err
		}
		values := make([]row.Value, len(a.labels))
		for i := range values {
			values[i] = st.Column(i).Clone()
		}
		a.rows = append(a.rows, values)
	}
}

package driver

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

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

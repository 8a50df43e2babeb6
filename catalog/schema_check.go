package catalog

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"strings"
	"sync"

	"modernc.org/sqlite"

	"github.com/tidemarkdb/tidemark/migrations"
)

// embeddedSchema is the schema that the embedded migrations make, worked out
// once a process.
var embeddedSchema = sync.OnceValues(func() ([]migrations.Object, error) {
	return schemaOf(context.Background(), migrations.Files())
})

// schemaOf runs migrations on a database in memory and returns what they made.
func schemaOf(ctx context.Context, files fs.FS) (_ []migrations.Object, err error) {
	connector, err := sqlite.NewConnector(":memory:?_dqs=0")
	if err != nil {
		return nil, err
	}
	scratch := sql.OpenDB(connector)
	scratch.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, scratch.Close()) }()
	return migrations.Schema(ctx, scratch, files)
}

// checkSchema compares the stored text of every table, index, trigger and view
// of the program with the expected one. What a person adds is allowed, except
// a trigger on a table or view of the program, which would act on its writes.
func checkSchema(ctx context.Context, db migrations.Querier, files fs.FS) error {
	var expected []migrations.Object
	var err error
	if files == migrations.Files() {
		expected, err = embeddedSchema()
	} else {
		expected, err = schemaOf(ctx, files)
	}
	if err != nil {
		return err
	}
	stored, err := migrations.Stored(ctx, db)
	if err != nil {
		return err
	}
	type key struct{ kind, name string }
	found := make(map[key]migrations.Object, len(stored))
	for _, o := range stored {
		found[key{o.Type, o.Name}] = o
	}
	protected := make(map[string]bool)
	for _, want := range expected {
		have, ok := found[key{want.Type, want.Name}]
		if !ok {
			return refuse(CodeSchema, "open", "%s %s is missing", want.Type, want.Name)
		}
		if have.Table != want.Table || have.SQL != want.SQL && normalSQL(have.SQL) != normalSQL(want.SQL) {
			return refuse(CodeSchema, "open", "%s %s was changed: stored %q, expected %q", want.Type, want.Name, have.SQL, want.SQL)
		}
		delete(found, key{want.Type, want.Name})
		if want.Type == "table" || want.Type == "view" {
			protected[strings.ToLower(want.Name)] = true
		}
	}
	for _, extra := range stored {
		if _, left := found[key{extra.Type, extra.Name}]; left && extra.Type == "trigger" && protected[strings.ToLower(extra.Table)] {
			return refuse(CodeSchema, "open", "trigger %s on %s is not the program's", extra.Name, extra.Table)
		}
	}
	return nil
}

// normalSQL removes what may differ without a difference in meaning, because a
// newer migration library may cut statements out of their files differently:
// comments, and white space outside of quotes.
func normalSQL(sql string) string {
	var b strings.Builder
	space := false
	for i := 0; i < len(sql); {
		end := i + 1
		switch c := sql[i]; {
		case c == '\'' || c == '"' || c == '`' || c == '[':
			closing := c
			if c == '[' {
				closing = ']'
			}
			for end < len(sql) && sql[end] != closing {
				end++
			}
			end = min(end+1, len(sql))
		case c == '-' && strings.HasPrefix(sql[i:], "--"):
			if nl := strings.IndexByte(sql[i:], '\n'); nl >= 0 {
				end = i + nl
			} else {
				end = len(sql)
			}
			space, i = true, end
			continue
		case c == '/' && strings.HasPrefix(sql[i:], "/*"):
			if stop := strings.Index(sql[i+2:], "*/"); stop >= 0 {
				end = i + 2 + stop + 2
			} else {
				end = len(sql)
			}
			space, i = true, end
			continue
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			space, i = true, end
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		b.WriteString(sql[i:end])
		i = end
	}
	return b.String()
}

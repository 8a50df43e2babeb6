package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
)

// section is one table of inspect.
type section struct{ title, query string }

// inspectSections asks the administration tables and the catalog, so that a
// person can ask the same in SQL.
var inspectSections = []section{
	{"tables", `SELECT * FROM tidemark_tables`},
	{"timelines", `SELECT name, revision, world_id, representation_id, lsn, live_count, entry_count FROM catalog.timeline_heads`},
	{"generations", `SELECT * FROM tidemark_generations`},
	{"why generations are kept", `SELECT timeline, shard_id, generation, why FROM catalog.retirable_generations ORDER BY timeline, shard_id, generation`},
	{"index catch-up", `SELECT * FROM tidemark_index_catchup`},
	{"index segments", `SELECT index_name, table_name, object_id, entries, bytes, path FROM catalog.index_segments ORDER BY timeline, index_id, ordinal`},
	{"base", `SELECT object_id, bytes, lsn, table_id, table_name, rows, path FROM catalog.base_files`},
	{"objects", `SELECT object_id, kind, state, relative_path FROM catalog.objects ORDER BY object_id`},
	{"pins", `SELECT * FROM catalog.owner_pins`},
	{"jobs", `SELECT * FROM tidemark_jobs`},
	{"settings", `SELECT * FROM tidemark_settings`},
	{"stats", `SELECT * FROM tidemark_stats`},
}

// runInspect prints what a store consists of.
func runInspect(ctx context.Context, args []string, std streams) error {
	flags := newFlags("inspect")
	var as openAs
	as.addTo(flags)
	if helped, err := parseFlags(flags, args, "tidemark inspect "+openFlags+" DIR", std); helped || err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return misuse("inspect takes one argument, the store's directory; it was given %d", flags.NArg())
	}
	return withConfig(ctx, as.config(flags.Arg(0), "rw"), func(db *sql.DB) error {
		for i, s := range inspectSections {
			if i > 0 {
				fmt.Fprintln(std.out)
			}
			if err := printSection(ctx, db, s, std.out); err != nil {
				return err
			}
		}
		return nil
	})
}

// printSection prints one table under its title.
func printSection(ctx context.Context, db *sql.DB, s section, w io.Writer) error {
	rows, err := db.QueryContext(ctx, s.query)
	if err != nil {
		return fmt.Errorf("%s: %w", s.title, err)
	}
	defer rows.Close()
	var cells [][]string
	columns, err := scanRows(rows, func(values []any) error {
		line := make([]string, len(values))
		for i, v := range values {
			line[i] = tableText(v)
		}
		cells = append(cells, line)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", s.title, err)
	}
	fmt.Fprintf(w, "%s (%d)\n", s.title, len(cells))
	if len(cells) > 0 {
		writeTable(w, columns, cells, "  ")
	}
	return nil
}

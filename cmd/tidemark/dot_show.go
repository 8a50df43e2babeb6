package main

import (
	"context"
	"fmt"
	"strings"
)

// column reads the texts of a query's first column.
func (s *shell) column(ctx context.Context, query string, args ...any) (texts []string, err error) {
	rows, err := s.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	_, err = scanRows(rows, func(values []any) error {
		texts = append(texts, listText(values[0]))
		return nil
	})
	return texts, err
}

// attached lists the schemas a user has made: not the catalog, whose tables are
// the store's own.
func (s *shell) attached(ctx context.Context) ([]string, error) {
	return s.column(ctx, `SELECT name FROM pragma_database_list WHERE name <> 'catalog' ORDER BY seq`)
}

// schemaNames lists names of all schemas, those outside of main with their
// schema before.
func (s *shell) schemaNames(ctx context.Context, where string, args ...any) (names []string, err error) {
	schemas, err := s.attached(ctx)
	if err != nil {
		return nil, err
	}
	for _, schema := range schemas {
		table, prefix := quoteName(schema)+".sqlite_schema", schema+"."
		switch schema {
		case "main":
			table, prefix = "sqlite_schema", ""
		case "temp":
			table = "sqlite_temp_schema"
		}
		found, err := s.column(ctx, "SELECT name FROM "+table+" WHERE "+where+" ORDER BY name", args...)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			names = append(names, prefix+name)
		}
	}
	return names, nil
}

// showTables lists tables and views.
func (s *shell) showTables(ctx context.Context, args []string) error {
	names, err := s.schemaNames(ctx, `type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name LIKE ?`, pattern(args))
	if err != nil {
		return err
	}
	return s.printNames(names)
}

// showIndexes lists indexes, those of UNIQUE and PRIMARY KEY with them.
func (s *shell) showIndexes(ctx context.Context, args []string) error {
	names, err := s.schemaNames(ctx, `type = 'index' AND tbl_name LIKE ?`, pattern(args))
	if err != nil {
		return err
	}
	return s.printNames(names)
}

// pattern is the LIKE pattern a command was given, or one that fits everything.
func pattern(args []string) string {
	if len(args) == 0 {
		return "%"
	}
	return args[0]
}

// printNames prints names in as many columns as fit, as sqlite3 does.
func (s *shell) printNames(names []string) error {
	if len(names) == 0 {
		return nil
	}
	width := 0
	for _, n := range names {
		width = max(width, textWidth(n))
	}
	columns := max(defaultWidth/(width+2), 1)
	lines := (len(names) + columns - 1) / columns
	for i := range lines {
		var line strings.Builder
		for j := i; j < len(names); j += lines {
			if j > i {
				line.WriteString("  ")
			}
			line.WriteString(names[j] + strings.Repeat(" ", width-textWidth(names[j])))
		}
		if _, err := fmt.Fprintln(s.out, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// showSchema prints the statements that made the objects.
func (s *shell) showSchema(ctx context.Context, args []string) error {
	schemas, err := s.attached(ctx)
	if err != nil {
		return err
	}
	for _, schema := range schemas {
		table := quoteName(schema) + ".sqlite_schema"
		switch schema {
		case "main":
			table = "sqlite_schema"
		case "temp":
			table = "sqlite_temp_schema"
		}
		texts, err := s.column(ctx, "SELECT sql FROM "+table+" WHERE sql IS NOT NULL AND (name LIKE ?1 OR tbl_name LIKE ?1)", pattern(args))
		if err != nil {
			return err
		}
		for _, text := range texts {
			if _, err := fmt.Fprintln(s.out, text+";"); err != nil {
				return err
			}
		}
	}
	return nil
}

// showDatabases lists the store and the files attached to the session.
func (s *shell) showDatabases(ctx context.Context, _ []string) error {
	rows, err := s.conn.QueryContext(ctx, `SELECT name, file FROM pragma_database_list ORDER BY seq`)
	if err != nil {
		return err
	}
	defer rows.Close()
	_, err = scanRows(rows, func(values []any) error {
		name, file, access := listText(values[0]), listText(values[1]), "r/w"
		switch name {
		case "main":
			file = s.dir
		case "catalog":
			access = "r/o"
		}
		if file == "" {
			file = `""`
		}
		_, err := fmt.Fprintf(s.out, "%s: %s %s\n", name, file, access)
		return err
	})
	return err
}

// showSettings prints what the dot commands have set.
func (s *shell) showSettings(context.Context, []string) error {
	onOff := func(b bool) string {
		if b {
			return "on"
		}
		return "off"
	}
	output := "stdout"
	if s.outFile != nil {
		output = s.outFile.Name()
	}
	for _, line := range [][2]string{
		{"bail", onOff(s.bail)}, {"changes", onOff(s.changes)}, {"echo", onOff(s.echo)}, {"explain", s.explain},
		{"headers", onOff(s.headers)}, {"mode", s.mode}, {"nullvalue", fmt.Sprintf("%q", s.null)}, {"output", output},
		{"colseparator", fmt.Sprintf("%q", s.separator)}, {"rowseparator", fmt.Sprintf("%q", s.rowEnd)}, {"timer", onOff(s.timer)}, {"store", s.dir},
	} {
		if _, err := fmt.Fprintf(s.out, "%12s: %s\n", line[0], line[1]); err != nil {
			return err
		}
	}
	return nil
}

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

// schemaName is a name of a schema.
type schemaName struct{ schema, name string }

// String writes the schema before the name where it is not main.
func (n schemaName) String() string {
	if n.schema == "main" {
		return n.name
	}
	return n.schema + "." + n.name
}

// schemaNames lists names of all schemas.
func (s *shell) schemaNames(ctx context.Context, where string, args ...any) (names []schemaName, err error) {
	schemas, err := s.attached(ctx)
	if err != nil {
		return nil, err
	}
	for _, schema := range schemas {
		found, err := s.column(ctx, "SELECT name FROM "+schemaTable(schema)+" WHERE "+where+" ORDER BY name", args...)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			names = append(names, schemaName{schema, name})
		}
	}
	return names, nil
}

// schemaTable is the table that lists the objects of a schema.
func schemaTable(schema string) string {
	switch schema {
	case "main":
		return "sqlite_schema"
	case "temp":
		return "sqlite_temp_schema"
	}
	return quoteName(schema) + ".sqlite_schema"
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
func (s *shell) printNames(found []schemaName) error {
	if len(found) == 0 {
		return nil
	}
	width := 0
	names := make([]string, len(found))
	for i, n := range found {
		names[i] = n.String()
		width = max(width, textWidth(names[i]))
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

// showSchema prints the statements that made the objects, as a script that makes
// them again.
func (s *shell) showSchema(ctx context.Context, args []string) error {
	schemas, err := s.attached(ctx)
	if err != nil {
		return err
	}
	for _, schema := range schemas {
		texts, err := s.column(ctx, "SELECT sql FROM "+schemaTable(schema)+" WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND (name LIKE ?1 OR tbl_name LIKE ?1)", pattern(args))
		if err != nil {
			return err
		}
		for _, text := range texts {
			if _, err := fmt.Fprintln(s.out, terminated(text)); err != nil {
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

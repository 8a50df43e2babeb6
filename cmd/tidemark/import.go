package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidemarkdb/tidemark/driver"
)

// importOptions are the flags of import.
type importOptions struct {
	format    string
	header    string
	delimiter string
	null      string
	skip      int
	partial   bool
}

const importUsage = "tidemark import [flags] DIR FILE.csv|FILE.tsv|FILE.sql|FILE.db|- [TABLE [FILE TABLE]…]"

// runImport reads a file of another program into a store.
func runImport(ctx context.Context, args []string, std streams) error {
	var o importOptions
	flags := newFlags("import")
	flags.StringVar(&o.format, "format", "", "csv, tsv, sql or db; by default what the file's name ends in")
	flags.StringVar(&o.header, "header", "auto", "whether the first line of a csv file holds names: auto, yes or no")
	flags.StringVar(&o.delimiter, "delimiter", "", "`character` between the fields of a csv file (default: guessed among , ; | and tab, a tab for .tsv)")
	flags.StringVar(&o.null, "null", "", "an unquoted field that is this `text` is NULL")
	flags.IntVar(&o.skip, "skip", 0, "pass over the first `N` lines of a csv file")
	flags.BoolVar(&o.partial, "partial", false, "leave out what Tidemark refuses of a .db file, tables too")
	if helped, err := parseFlags(flags, args, importUsage, std); helped || err != nil {
		return err
	}
	if n := flags.NArg(); n < 2 || n > 3 && n%2 == 0 {
		return misuse("import takes a directory, a file and a table's name where one is wanted, or several csv files with a table each; it was given %d arguments: use %s", n, importUsage)
	}
	dir := flags.Arg(0)
	files, err := o.files(dir, flags.Args()[1:])
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.format == "db" {
			continue
		}
		if f.in, err = openInput(ctx, f.path, std.in); err != nil {
			return importFailed(ctx, err)
		}
		defer f.in.close()
	}
	var kept, opened bool
	err = withNewStore(ctx, dir, func() bool { return kept }, func(db *sql.DB) error {
		opened = true
		conn, err := db.Conn(ctx)
		if err != nil {
			return importFailed(ctx, err)
		}
		defer conn.Close()
		bar := newProgress(std.err, "import", "bytes")
		defer bar.clear()
		switch first := files[0]; first.format {
		case "sql":
			kept, err = importScript(ctx, conn, first.in, std, bar)
		case "db":
			bar.unit = "rows"
			err = importSQLite(ctx, conn, first.path, first.table, o.partial, std, bar)
		default:
			err = importCSV(ctx, conn, files, o, std, bar)
		}
		if err == nil {
			warnOfVolatile(ctx, conn, std)
		}
		return err
	})
	if err != nil && !opened && ctx.Err() != nil {
		return importFailed(ctx, err)
	}
	return err
}

// importFile is one file of an import.
type importFile struct {
	path, table, format string
	in                  *inputFile // of a text
}

// files looks at what the command line names behind the directory: a file and
// perhaps a table, or several files of one table each.
func (o *importOptions) files(dir string, args []string) (files []*importFile, err error) {
	named := len(args) > 1
	for at := 0; at < len(args); at += 2 {
		f := &importFile{path: args[at]}
		if named {
			f.table = args[at+1]
		}
		if f.format, err = o.formatOf(f.path); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	pipes := 0
	for _, f := range files {
		if err := refuseOwnFile(dir, f.path); err != nil {
			return nil, err
		}
		if f.path == "-" {
			pipes++
		}
		switch {
		case len(files) > 1 && (f.format == "sql" || f.format == "db"):
			return nil, misuse("import: of several files each holds one table, and %s is a .%s file: import it by itself", f.path, f.format)
		case pipes > 1:
			return nil, misuse("import: standard input is named twice: name files, or join what it holds")
		case named && isDataFile(f.table):
			return nil, misuse("import: %s is a file, where the name of the table for %s belongs: write FILE TABLE for each of several files", f.table, f.path)
		case named && f.table == "":
			return nil, misuse("import: the name of the table is empty: name one, or leave it out")
		case f.format == "db":
			if err := checkSQLite(f.path); err != nil {
				return nil, err
			}
		case f.format == "sql" && f.table != "":
			return nil, misuse("import: a .sql file names its tables itself: leave %s out", f.table)
		case f.path == "-" && f.format != "sql" && f.table == "":
			return nil, misuse("import: name a table for what standard input holds: use tidemark import -format=%s DIR - TABLE", f.format)
		case f.format != "sql" && f.table == "":
			if f.table, err = tableNameOf(f.path); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// isDataFile tells a file's name that stands where a table's belongs.
func isDataFile(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv", ".tsv", ".sql", ".db":
		info, err := os.Stat(name)
		return err == nil && !info.IsDir()
	}
	return false
}

// warnOfVolatile names the tables whose rows end with the command. They were
// empty when it opened the store, so what they hold was imported. An import does
// not fail for want of the warning.
func warnOfVolatile(ctx context.Context, conn *sql.Conn, std streams) {
	var names sql.NullString
	err := conn.QueryRowContext(context.WithoutCancel(ctx),
		"SELECT group_concat(name, ', ') FROM main.tidemark_tables WHERE NOT durable AND rows > 0").Scan(&names)
	if err == nil && names.Valid {
		fmt.Fprintf(std.err, "import: warning: rows of durable=false tables are gone when this command ends: %s\n", oneLine(names.String))
	}
}

// formatOf decides what a file is, by the flag or by its name.
func (o *importOptions) formatOf(file string) (string, error) {
	format := o.format
	if format == "" {
		format = strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
		switch format {
		case "sqlite", "sqlite3", "db3":
			format = "db"
		}
	}
	switch {
	case file == "-" && o.format == "":
		return "", misuse("import: standard input has no name to tell its format: use -format=csv, tsv or sql")
	case file == "-" && format == "db":
		return "", misuse("import: a SQLite file cannot be read from standard input: name the file")
	case o.header != "auto" && o.header != "yes" && o.header != "no":
		return "", misuse("import: -header %s is not legal: use auto, yes or no", o.header)
	case len(o.delimiter) > 1 || strings.ContainsAny(o.delimiter, "\"\r\n"):
		return "", misuse("import: -delimiter %q is not legal: use one byte that is not a quote or a line's end", o.delimiter)
	case o.skip < 0:
		return "", misuse("import: -skip %d is not legal: use 0 or more", o.skip)
	}
	switch format {
	case "csv", "tsv", "sql", "db":
		return format, nil
	}
	return "", misuse("import: %s is not known by its end: use a .csv, .tsv, .sql or .db file, or -format", file)
}

// importFailed says what a failure left behind: nothing.
func importFailed(ctx context.Context, err error) error {
	const nothing = "nothing was imported"
	var refused *refusedError
	switch {
	case errors.As(err, &refused): // it says so
		return err
	case ctx.Err() != nil && statusOf(err) == statusFailed && !errors.Is(err, driver.ErrOutcomeUnknown):
		return &interruptedError{nothing, err}
	}
	return fmt.Errorf("%w; "+nothing, err)
}

// counted writes a number with its noun.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

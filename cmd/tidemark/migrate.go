package main

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"

	"github.com/tidemarkdb/tidemark/driver"
)

// runMigrate applies the migrations of a folder to a store, undoes the newest, or lists
// them.
func runMigrate(ctx context.Context, args []string, std streams) error {
	const usage = "tidemark migrate DIR FOLDER [up|down|status]"
	flags := newFlags("migrate")
	if helped, err := parseFlags(flags, args, usage, std); helped || err != nil {
		return err
	}
	if n := flags.NArg(); n < 2 || n > 3 {
		return misuse("migrate takes the store's directory, a folder of .sql files and perhaps what to do; it was given %d arguments: use %s", n, usage)
	}
	run, mode := migrateUp, "rwc"
	switch what := flags.Arg(2); what {
	case "", "up":
	case "down":
		run, mode = migrateDown, "rw"
	case "status":
		run, mode = migrateStatus, "rw"
	default:
		return misuse("migrate can do up, down and status, and not %s: use %s", what, usage)
	}
	folder := flags.Arg(1)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return misuse("%s is no folder: name the one that holds the .sql files", folder)
	}
	cfg := driver.Config{Path: flags.Arg(0), Mode: mode, TimeFormat: "rfc3339"} // the version table has times
	return withConfig(ctx, cfg, func(db *sql.DB) error {
		return run(ctx, db, os.DirFS(folder), std)
	})
}

func migrateUp(ctx context.Context, db *sql.DB, folder fs.FS, std streams) error {
	done, err := driver.MigrateUp(ctx, db, folder)
	for _, m := range done {
		fmt.Fprintf(std.out, "migrate: %s applied\n", m.Name)
	}
	if err == nil && len(done) == 0 {
		fmt.Fprintln(std.out, "migrate: nothing to do")
	}
	return err
}

func migrateDown(ctx context.Context, db *sql.DB, folder fs.FS, std streams) error {
	m, ok, err := driver.MigrateDown(ctx, db, folder)
	switch {
	case err != nil:
		return err
	case !ok:
		fmt.Fprintln(std.out, "migrate: nothing to undo")
	default:
		fmt.Fprintf(std.out, "migrate: %s undone\n", m.Name)
	}
	return nil
}

func migrateStatus(ctx context.Context, db *sql.DB, folder fs.FS, std streams) error {
	list, err := driver.Migrations(ctx, db, folder)
	if err != nil {
		return err
	}
	lines := [][]string{{"version", "file", "applied"}}
	for _, m := range list {
		applied := "pending"
		if !m.AppliedAt.IsZero() {
			applied = m.AppliedAt.UTC().Format("2006-01-02 15:04:05")
		}
		lines = append(lines, []string{fmt.Sprint(m.Version), m.Name, applied})
	}
	writeAligned(std.out, lines, "  ")
	return nil
}

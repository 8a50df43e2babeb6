package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/tidemarkdb/tidemark/driver"
)

// runCheck reads a whole store. Findings go to standard output as they are
// found, progress to standard error.
func runCheck(ctx context.Context, args []string, std streams) error {
	flags := newFlags("check")
	if helped, err := parseFlags(flags, args, "tidemark check DIR", std); helped || err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return misuse("check takes one argument, the store's directory; it was given %d", flags.NArg())
	}
	return withStore(ctx, flags.Arg(0), "rw", func(db *sql.DB) error {
		warnings, damage, err := checkStore(ctx, db, std)
		switch {
		case err != nil:
			return err
		case damage > 0:
			fmt.Fprintf(std.out, "check: damaged: %d findings, %d warnings\n", damage, warnings)
			return errFindings
		case warnings > 0:
			fmt.Fprintf(std.out, "check: ok, %d warnings\n", warnings)
		default:
			fmt.Fprintln(std.out, "check: ok")
		}
		return nil
	})
}

// checkStore prints what a check finds and counts it.
func checkStore(ctx context.Context, db *sql.DB, std streams) (warnings, damage int, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	store, err := driver.Raw(conn)
	if err != nil {
		return 0, 0, err
	}
	bar := newProgress(std.err, "check", "bytes")
	defer bar.clear()
	err = store.Check(ctx, func(f driver.Finding) {
		if f.Severity == driver.Damage {
			damage++
		} else {
			warnings++
		}
		bar.clear()
		fmt.Fprintln(std.out, f)
	}, bar.update)
	return warnings, damage, err
}

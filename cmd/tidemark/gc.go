package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidemarkdb/tidemark/driver"
)

// runGC removes the files of a store that nothing needs, or with -n says which
// these are, and which stay.
func runGC(ctx context.Context, args []string, std streams) error {
	flags := newFlags("gc")
	dry := flags.Bool("n", false, "change nothing: show what would go and what stays")
	if helped, err := parseFlags(flags, args, "tidemark gc [-n] DIR", std); helped || err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return misuse("gc takes one argument, the store's directory; it was given %d", flags.NArg())
	}
	dir := flags.Arg(0)
	if *dry {
		return planGC(ctx, dir, std)
	}
	return withStore(ctx, dir, "rw", func(db *sql.DB) error {
		return withRaw(ctx, db, func(_ *sql.Conn, store *driver.Store) error {
			bar := newProgress(std.err, "gc", "files")
			err := store.GC(ctx, bar.update)
			bar.clear()
			if err != nil {
				return err
			}
			// To open a store removes what it may, too.
			m, err := store.Metrics(ctx)
			if err != nil {
				return err
			}
			fmt.Fprintf(std.out, "gc: removed %d files of %d bytes, %d of %d bytes stay\n", m.CollectedFiles, m.CollectedBytes, m.GCKeptFiles, m.GCKeptBytes)
			return nil
		})
	})
}

// planGC prints what would go, and why the rest stays.
func planGC(ctx context.Context, dir string, std streams) error {
	if err := checkDir(dir); err != nil {
		return err
	}
	plan, err := driver.PlanGC(ctx, driver.Config{Path: dir})
	if err != nil {
		return commandHint(err)
	}
	var lines [][]string
	freed := int64(0)
	for _, o := range plan.Remove {
		lines = append(lines, []string{"goes", o.Path, strconv.FormatInt(o.ByteExtent, 10), "nothing needs it"})
		freed += o.ByteExtent
	}
	for _, k := range plan.Keep {
		why := make([]string, len(k.Reasons))
		for i, r := range k.Reasons {
			why[i] = r.String()
		}
		lines = append(lines, []string{"stays", k.Path, strconv.FormatInt(k.ByteExtent, 10), strings.Join(why, "; ")})
	}
	if len(lines) > 0 {
		writeTable(std.out, []string{"gc", "file", "bytes", "why"}, lines, "")
	}
	fmt.Fprintf(std.out, "gc: %d files of %d bytes would go, %d of %d bytes stay\n", len(plan.Remove), freed, len(plan.Keep), plan.KeptBytes())
	return nil
}

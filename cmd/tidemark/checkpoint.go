package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/tidemarkdb/tidemark/driver"
)

// runCheckpoint ends the log files of a store that nobody has open.
func runCheckpoint(ctx context.Context, args []string, std streams) error {
	flags := newFlags("checkpoint")
	if helped, err := parseFlags(flags, args, "tidemark checkpoint DIR", std); helped || err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return misuse("checkpoint takes one argument, the store's directory; it was given %d", flags.NArg())
	}
	return withStore(ctx, flags.Arg(0), "rw", func(db *sql.DB) error {
		return withRaw(ctx, db, func(conn *sql.Conn, store *driver.Store) error {
			bar := newProgress(std.err, "checkpoint", "bytes")
			err := store.Checkpoint(ctx, bar.update)
			bar.clear()
			if err != nil {
				return err
			}
			var lsn, rows int64
			if err := conn.QueryRowContext(ctx, "SELECT lsn, live_count FROM catalog.timeline_heads WHERE name = 'main'").Scan(&lsn, &rows); err != nil {
				return err
			}
			fmt.Fprintf(std.out, "checkpoint: the head is commit %d, with %d rows\n", lsn, rows)
			return nil
		})
	})
}

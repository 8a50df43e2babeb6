package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/tidemarkdb/tidemark/driver"
)

// runCompact rewrites the log of a store that nobody has open.
func runCompact(ctx context.Context, args []string, std streams) error {
	flags := newFlags("compact")
	if helped, err := parseFlags(flags, args, "tidemark compact DIR", std); helped || err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return misuse("compact takes one argument, the store's directory; it was given %d", flags.NArg())
	}
	return withStore(ctx, flags.Arg(0), "rw", func(db *sql.DB) error {
		return withRaw(ctx, db, func(conn *sql.Conn, store *driver.Store) error {
			before, err := logUsed(ctx, conn)
			if err != nil {
				return err
			}
			bar := newProgress(std.err, "compact", "bytes")
			err = store.Compact(ctx, bar.update)
			bar.clear()
			if err != nil {
				return err
			}
			after, err := logUsed(ctx, conn)
			if err != nil {
				return err
			}
			fmt.Fprintf(std.out, "compact: the log's records take %d bytes, %d before\n", after, before)
			return nil
		})
	})
}

// logUsed returns the bytes of row records in the log.
func logUsed(ctx context.Context, conn *sql.Conn) (n int64, err error) {
	err = conn.QueryRowContext(ctx, "SELECT value FROM tidemark_stats WHERE name = 'log_used_bytes'").Scan(&n)
	return n, err
}

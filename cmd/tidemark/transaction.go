package main

import (
	"context"
	"database/sql"
	"errors"
)

// inSavepoint runs f so that everything it does is kept, or nothing is. Outside
// of a transaction the savepoint is one.
func inSavepoint(ctx context.Context, conn *sql.Conn, f func() error) (err error) {
	if _, err := conn.ExecContext(ctx, "SAVEPOINT tidemark_command"); err != nil {
		return err
	}
	if err = f(); err == nil {
		_, err = conn.ExecContext(ctx, "RELEASE tidemark_command")
	}
	if err != nil {
		// The context may be what ended f; what it did must go all the same.
		ctx := context.WithoutCancel(ctx)
		_, back := conn.ExecContext(ctx, "ROLLBACK TO tidemark_command")
		if back == nil {
			_, back = conn.ExecContext(ctx, "RELEASE tidemark_command")
		}
		if back != nil && ctx.Err() == nil && !errors.Is(back, sql.ErrConnDone) {
			_, _ = conn.ExecContext(ctx, "ROLLBACK") // SQLite may have ended the transaction itself
		}
	}
	return err
}

// inTransaction reports whether a transaction is open. SQLite has no statement
// that asks; BEGIN, which fails inside of one and does nothing yet outside,
// tells.
func inTransaction(ctx context.Context, conn *sql.Conn) bool {
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return true
	}
	_, err := conn.ExecContext(ctx, "ROLLBACK")
	return err != nil
}

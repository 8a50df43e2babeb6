package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// interruptible lets Ctrl-C end what runs, and not the session.
func (s *shell) interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	if !s.interactive {
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, os.Interrupt)
}

// run runs one statement and prints its rows.
func (s *shell) run(ctx context.Context, st statement) (err error) {
	if s.echo {
		fmt.Fprintln(s.out, st.text)
	}
	ctx, stop := s.interruptible(ctx)
	defer stop()
	start := time.Now()
	if s.explain == "on" && st.is("SELECT", "WITH", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE") {
		if err := s.print(ctx, "EXPLAIN QUERY PLAN "+st.text, true); err != nil {
			return err
		}
	}
	plan := st.is("EXPLAIN") && st.head[1] == "QUERY" && s.explain != "off"
	err = s.print(ctx, st.text, plan)
	if err != nil {
		s.afterError(ctx)
		return err
	}
	s.tx.after(st)
	if st.is("CREATE", "DROP", "ALTER", "ATTACH", "DETACH", "ROLLBACK") {
		s.names.forget()
	}
	if s.changes {
		var n, total int64
		if err := scanOne(ctx, s.conn, []any{&n, &total}, "SELECT changes(), total_changes()"); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "changes: %d   total_changes: %d\n", n, total)
	}
	if s.timer {
		fmt.Fprintf(s.out, "Run Time: real %.3f\n", time.Since(start).Seconds())
	}
	return nil
}

// afterError asks what became of an open transaction, because some errors end
// it.
func (s *shell) afterError(ctx context.Context) {
	if s.tx.open() && !inTransaction(context.WithoutCancel(ctx), s.conn) {
		s.tx = txState{}
	}
}

// print prints the rows of a statement in the session's mode, or as the tree of
// a plan.
func (s *shell) print(ctx context.Context, text string, plan bool) error {
	rows, err := s.conn.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	if plan && len(columns) == 4 {
		return printPlan(rows, s.out)
	}
	p := s.format.printer(s.out)
	if len(columns) > 0 {
		if err := p.begin(columns); err != nil {
			return err
		}
	}
	if _, err := scanRows(rows, p.row); err != nil {
		if len(columns) > 0 {
			_ = p.end() // what was read is shown; err tells more
		}
		return err
	}
	if len(columns) == 0 {
		return nil
	}
	return p.end()
}

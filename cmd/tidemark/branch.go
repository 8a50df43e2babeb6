package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
)

// runBranch lists the branch points of a store, makes one, or removes one.
func runBranch(ctx context.Context, args []string, std streams) error {
	const usage = "tidemark branch [-d] DIR [NAME]"
	flags := newFlags("branch")
	remove := flags.Bool("d", false, "delete the branch point NAME")
	if helped, err := parseFlags(flags, args, usage, std); helped || err != nil {
		return err
	}
	switch n := flags.NArg(); {
	case n < 1 || n > 2:
		return misuse("branch takes the store's directory and perhaps a name; it was given %d arguments: use %s", n, usage)
	case *remove && n == 1:
		return misuse("branch -d takes the name of a branch point, too: use tidemark branch -d DIR NAME")
	}
	name := flags.Arg(1)
	return withStore(ctx, flags.Arg(0), "rw", func(db *sql.DB) error {
		switch {
		case flags.NArg() == 1:
			return listBranchPoints(ctx, db, std)
		case *remove:
			return deleteBranchPoint(ctx, db, name, std)
		}
		if _, err := db.ExecContext(ctx, "INSERT INTO tidemark_branch_points(name) VALUES(?)", name); err != nil {
			return err
		}
		fmt.Fprintf(std.out, "branch: %s is the state of now\n", name)
		return nil
	})
}

func listBranchPoints(ctx context.Context, db *sql.DB, std streams) error {
	rows, err := db.QueryContext(ctx, "SELECT name, timeline, lsn, created_at FROM tidemark_branch_points ORDER BY created_at, name")
	if err != nil {
		return err
	}
	defer rows.Close()
	lines := [][]string{{"name", "timeline", "commit", "created_at"}}
	for rows.Next() {
		var name, timeline, created string
		var lsn int64
		if err := rows.Scan(&name, &timeline, &lsn, &created); err != nil {
			return err
		}
		lines = append(lines, []string{name, timeline, strconv.FormatInt(lsn, 10), created})
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(lines) == 1 {
		fmt.Fprintln(std.out, "branch: no branch points")
		return nil
	}
	writeAligned(std.out, lines, "  ")
	return nil
}

// deleteBranchPoint tells of a name that is unknown, which a DELETE does not.
func deleteBranchPoint(ctx context.Context, db *sql.DB, name string, std streams) error {
	r, err := db.ExecContext(ctx, "DELETE FROM tidemark_branch_points WHERE name = ?", name)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		if err == nil {
			err = misuse("no such branch point: %s: tidemark branch DIR lists them", name)
		}
		return err
	}
	fmt.Fprintf(std.out, "branch: %s is deleted\n", name)
	return nil
}

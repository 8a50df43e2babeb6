package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// warnOfReferences names the rows that refer to nothing, where an import brought
// rows without looking at foreign keys: of the tables, or of all without any. An
// import does not fail for want of the warning.
func warnOfReferences(ctx context.Context, conn *sql.Conn, std streams, tables ...string) {
	broken, err := brokenReferences(context.WithoutCancel(ctx), conn, tables...)
	switch {
	case err != nil:
		broken = "foreign keys could not be looked at: " + err.Error()
	case broken == "":
		return
	default:
		broken += ": PRAGMA foreign_key_check lists them"
	}
	fmt.Fprintln(std.err, "import: warning: "+oneLine(broken))
}

// brokenReferences counts the rows of tables, or of all without any, that refer to
// nothing, by the pair of tables; it is empty when there are none.
func brokenReferences(ctx context.Context, q querier, tables ...string) (string, error) {
	checks := []string{"PRAGMA main.foreign_key_check"}
	if len(tables) > 0 {
		checks = nil
	}
	for _, name := range tables {
		checks = append(checks, "PRAGMA main.foreign_key_check("+quoteText(name)+")")
	}
	type pair struct{ from, to string }
	counts := map[pair]int64{}
	var pairs []pair
	for _, text := range checks {
		rows, err := q.QueryContext(ctx, text)
		if err != nil {
			return "", err
		}
		for rows.Next() {
			var p pair
			var rowid, key any
			if err := rows.Scan(&p.from, &rowid, &p.to, &key); err != nil {
				return "", errors.Join(err, rows.Close())
			}
			if counts[p]++; counts[p] == 1 {
				pairs = append(pairs, p)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return "", err
		}
	}
	var out []string
	for _, p := range pairs {
		refer := "refer"
		if counts[p] == 1 {
			refer = "refers"
		}
		out = append(out, fmt.Sprintf("%s of %s %s to nothing in %s", counted(counts[p], "row"), p.from, refer, p.to))
	}
	return strings.Join(out, ", "), nil
}

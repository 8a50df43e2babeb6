package slt

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"time"
)

// Options of a run.
type Options struct {
	Engines   []string       // names that skipif and onlyif know the engine by
	Prepare   bool           // go through Prepare, not directly through Exec and Query
	Timeout   time.Duration  // of one record; 0: none
	Known     map[int]bool   // lines whose failure is no news
	SkipSQL   *regexp.Regexp // records whose SQL matches are skipped
	StopAfter int            // stop a file after this many failures; 0: never
	OnFail    func(f Failure)
	// EmptyOnError matches errors of a query that count as an empty result where one is expected:
	// the original runner does not tell an error while stepping from the end of the rows.
	EmptyOnError *regexp.Regexp
	// Rewrite, if set, changes the text of a statement before it is run.
	Rewrite func(sql string) string
	// Reopen, if set, is called after every ReopenEvery statements for a fresh connection.
	ReopenEvery int
	Reopen      func() (*sql.Conn, error)
}

// Failure is one record that did not do what the script wants.
type Failure struct {
	Record *Record
	Why    string
}

// Result counts what one script did.
type Result struct {
	Statements, Queries int // run
	Passed, Failed      int
	Skipped, Unknown    int
	Known               int   // of Failed: lines named by Options.Known
	FailedAt            []int `json:",omitempty"` // lines
	Halted              bool
	Elapsed             time.Duration // running, parsing of the script included
	InDB                time.Duration // inside Exec, Query and the row loop
	SlowestLine         int
	Slowest             time.Duration
}

// Run runs one script on conn.
func Run(ctx context.Context, conn *sql.Conn, src []byte, o Options) Result {
	var res Result
	t0 := time.Now()
	sc := NewScanner(src)
	labels := map[string]string{}
	sinceOpen := 0
	for {
		r, ok := sc.Next()
		if !ok {
			break
		}
		if !r.Runs(o.Engines) || o.SkipSQL != nil && o.SkipSQL.MatchString(r.SQL) {
			if r.Kind == Statement || r.Kind == Query {
				res.Skipped++
			}
			continue
		}
		why := ""
		switch r.Kind {
		case Halt:
			res.Halted = true
		case HashThreshold: // the expected text says by itself whether it is a hash
		case Unknown:
			res.Unknown++
			why = "unknown record: " + r.SQL
		case Statement:
			res.Statements++
			t := time.Now()
			text := r.SQL
			if o.Rewrite != nil {
				text = o.Rewrite(text)
			}
			err := exec(ctx, conn, text, o)
			res.add(time.Since(t), r.Line)
			if err != nil && !r.WantError {
				why = "error: " + err.Error()
			} else if err == nil && r.WantError {
				why = "no error, but one was expected"
			}
			if sinceOpen++; o.ReopenEvery > 0 && sinceOpen >= o.ReopenEvery {
				sinceOpen = 0
				c, err := o.Reopen()
				if err != nil {
					why = "reopen: " + err.Error()
				} else {
					conn = c
				}
			}
		case Query:
			res.Queries++
			t := time.Now()
			vals, err := query(ctx, conn, r.SQL, r.Types, o)
			res.add(time.Since(t), r.Line)
			if err != nil {
				if len(r.Want) > 0 || o.EmptyOnError == nil || !o.EmptyOnError.MatchString(err.Error()) {
					why = "error: " + err.Error()
				}
				break
			}
			why = compare(r, vals, labels)
		}
		if res.Halted {
			break
		}
		if why != "" {
			res.fail(o, Failure{r, why})
			if o.StopAfter > 0 && res.Failed >= o.StopAfter {
				break
			}
		} else if r.Kind == Statement || r.Kind == Query {
			res.Passed++
		}
	}
	res.Elapsed = time.Since(t0)
	return res
}

func (r *Result) fail(o Options, f Failure) {
	r.Failed++
	r.FailedAt = append(r.FailedAt, f.Record.Line)
	if o.Known[f.Record.Line] {
		r.Known++
	} else if o.OnFail != nil {
		o.OnFail(f)
	}
}

func (r *Result) add(d time.Duration, line int) {
	r.InDB += d
	if d > r.Slowest {
		r.Slowest, r.SlowestLine = d, line
	}
}

func exec(ctx context.Context, c *sql.Conn, q string, o Options) error {
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	if o.Prepare {
		st, err := c.PrepareContext(ctx, q)
		if err != nil {
			return err
		}
		defer st.Close()
		_, err = st.ExecContext(ctx)
		return err
	}
	_, err := c.ExecContext(ctx, q)
	return err
}

func query(ctx context.Context, c *sql.Conn, q, types string, o Options) ([]string, error) {
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	var rows *sql.Rows
	var err error
	if o.Prepare {
		st, e := c.PrepareContext(ctx, q)
		if e != nil {
			return nil, e
		}
		defer st.Close()
		rows, err = st.QueryContext(ctx)
	} else {
		rows, err = c.QueryContext(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	if len(cols) != len(types) {
		return nil, fmt.Errorf("%d result columns, but the type string is %s", len(cols), types)
	}
	row := make([]any, len(cols))
	ptr := make([]any, len(cols))
	for i := range row {
		ptr[i] = &row[i]
	}
	var out []string
	for rows.Next() {
		if err := rows.Scan(ptr...); err != nil {
			return nil, err
		}
		for i, v := range row {
			out = append(out, Render(v, types[i]))
		}
	}
	return out, rows.Err()
}

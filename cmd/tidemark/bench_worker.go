package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	residencyWorker = "bench-residency-worker" // the hidden command of the children
	residencyBatch  = 1000                     // rows of a transaction that fills
	weylStep        = 2654435761               // of the order of reads
)

// residencyOrder is what a child is told, one JSON object a line; it answers
// each with a residencyAnswer. So the parent can put it under a limit between
// two of them.
type residencyOrder struct {
	Do    string `json:"do"` // fill, open, read
	Mode  string `json:"mode"`
	Shape string `json:"shape"`
	Path  string `json:"path"`
	Rows  int    `json:"rows"`
	Reads int    `json:"reads"`
}

type residencyAnswer struct {
	Error   string  `json:"error,omitempty"`
	Seconds float64 `json:"seconds"`
	Anon    int64   `json:"anon"`
	Swapped int64   `json:"swapped"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	Missing int     `json:"missing"`
	Faults  int64   `json:"faults"`
}

// residencyTable is the table of a mode and shape.
func residencyTable(mode, shape string) string {
	columns := "id INTEGER PRIMARY KEY, n INT, a TEXT, b TEXT, c TEXT"
	if shape == "int" {
		columns = "id INTEGER PRIMARY KEY, n INT, a INT, b INT, c INT"
	}
	if mode == "sqlite" {
		return "CREATE TABLE t(" + columns + ")"
	}
	return "CREATE VIRTUAL TABLE t USING tidemark(" + columns + ", resident=" + mode + ")"
}

// residencyRow is row id of a shape.
func residencyRow(shape string, id int) []any {
	if shape == "int" {
		return []any{id, id % 1000, id * 3, id * 5, id * 7}
	}
	text := func(k int) string { return fmt.Sprintf("%08x-%031d", uint32(id*k), id) }
	return []any{id, id % 1000, text(weylStep), text(40503), text(69069)}
}

func openResidency(mode, path string) (*sql.DB, error) {
	// Without a budget of its own the store would have the cap for one, and refuse
	// what is to swap.
	name, dsn := "tidemark", path+"?memory_budget=1024GiB"
	if mode == "sqlite" {
		name, dsn = "sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	}
	db, err := sql.Open(name, dsn)
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// runResidencyWorker is a child of the benchmark.
func runResidencyWorker(ctx context.Context, std streams) error {
	in, out := json.NewDecoder(bufio.NewReader(std.in)), json.NewEncoder(std.out)
	var w residencyChild
	defer w.close()
	for {
		var o residencyOrder
		if err := in.Decode(&o); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		a, err := w.do(ctx, o)
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

type residencyChild struct {
	db *sql.DB
	st *sql.Stmt
}

func (w *residencyChild) close() {
	if w.db != nil {
		w.db.Close()
	}
}

func (w *residencyChild) do(ctx context.Context, o residencyOrder) (residencyAnswer, error) {
	switch o.Do {
	case "fill":
		return fillResidency(ctx, o)
	case "open":
		return w.open(ctx, o)
	case "read":
		return w.read(ctx, o)
	}
	return residencyAnswer{}, misuse("a worker knows fill, open and read, not %s", o.Do)
}

func fillResidency(ctx context.Context, o residencyOrder) (a residencyAnswer, err error) {
	db, err := openResidency(o.Mode, o.Path)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, residencyTable(o.Mode, o.Shape)); err != nil {
		return a, err
	}
	start := time.Now()
	for id := 1; id <= o.Rows; {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return a, err
		}
		st, err := tx.PrepareContext(ctx, "INSERT INTO t VALUES(?,?,?,?,?)")
		for ; err == nil && id <= o.Rows; id++ {
			if _, err = st.ExecContext(ctx, residencyRow(o.Shape, id)...); id%residencyBatch == 0 {
				id++
				break
			}
		}
		if err != nil {
			return a, errors.Join(err, tx.Rollback())
		}
		if err := tx.Commit(); err != nil {
			return a, err
		}
	}
	a.Seconds = time.Since(start).Seconds()
	if o.Mode == "sqlite" {
		_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	} else {
		_, err = db.ExecContext(ctx, "INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')")
	}
	return a, err
}

func (w *residencyChild) open(ctx context.Context, o residencyOrder) (a residencyAnswer, err error) {
	start := time.Now()
	if w.db, err = openResidency(o.Mode, o.Path); err != nil {
		return a, err
	}
	if w.st, err = w.db.PrepareContext(ctx, "SELECT n, a, b, c FROM t WHERE id = ?"); err != nil {
		return a, err
	}
	if _, err := w.readRow(ctx, 1); err != nil {
		return a, err
	}
	a.Seconds = time.Since(start).Seconds()
	debug.FreeOSMemory() // collects first
	debug.FreeOSMemory()
	a.Anon, a.Swapped, err = anonymous()
	return a, err
}

func (w *residencyChild) readRow(ctx context.Context, id int) (found bool, err error) {
	var n, a, b, c any
	switch err := w.st.QueryRowContext(ctx, id).Scan(&n, &a, &b, &c); {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, nil
}

func (w *residencyChild) read(ctx context.Context, o residencyOrder) (a residencyAnswer, err error) {
	times := make([]float64, 0, o.Reads)
	before, err := majorFaults()
	if err != nil {
		return a, err
	}
	start := time.Now()
	last := start
	for j := range o.Reads {
		found, err := w.readRow(ctx, 1+j*weylStep%o.Rows)
		if err != nil {
			return a, err
		}
		if !found {
			a.Missing++
		}
		now := time.Now()
		times = append(times, float64(now.Sub(last).Nanoseconds())/1000)
		last = now
	}
	a.Seconds = time.Since(start).Seconds()
	after, err := majorFaults()
	if err != nil {
		return a, err
	}
	a.Faults = after - before
	slices.Sort(times)
	if len(times) > 0 {
		a.P50, a.P99 = times[len(times)/2], times[len(times)*99/100]
	}
	a.Anon, a.Swapped, err = anonymous()
	return a, err
}

// anonymous returns the process's anonymous memory in RAM and in swap, in bytes.
func anonymous() (ram, swap int64, err error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		switch name {
		case "RssAnon":
			ram = kib << 10
		case "VmSwap":
			swap = kib << 10
		}
	}
	return ram, swap, nil
}

// majorFaults returns how many pages the process had to wait for, so far.
func majorFaults() (int64, error) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, err
	}
	// Behind the command's name, which ends with the last parenthesis, major
	// faults are the tenth field.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 10 {
		return 0, fmt.Errorf("/proc/self/stat has %d fields", len(fields))
	}
	return strconv.ParseInt(fields[9], 10, 64)
}

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	"github.com/tidemarkdb/tidemark/driver"
)

// runCheck reads a whole store. Findings go to standard output as they are
// found, one a line, and a summary after them; progress goes to standard error.
// Any finding makes the command fail.
func runCheck(ctx context.Context, args []string, std streams) error {
	flags := newFlags("check")
	if helped, err := parseFlags(flags, args, "tidemark check DIR", std); helped || err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return misuse("check takes one argument, the store's directory; it was given %d", flags.NArg())
	}
	dir := flags.Arg(0)
	r := newCheckReport(std)
	err := withStore(ctx, dir, "rw", func(db *sql.DB) error { return r.store(ctx, db) })
	if errors.Is(err, driver.ErrCorrupt) {
		err = r.files(ctx, dir, err)
	}
	if err != nil {
		return err
	}
	return r.summary()
}

// checkReport prints what a check finds and counts it.
type checkReport struct {
	out      io.Writer
	bar      *progress
	warnings int
	damage   int
}

func newCheckReport(std streams) *checkReport {
	return &checkReport{out: std.out, bar: newProgress(std.err, "check", "bytes")}
}

func (r *checkReport) found(f driver.Finding) {
	if f.Severity == driver.Damage {
		r.damage++
	} else {
		r.warnings++
	}
	r.bar.clear()
	fmt.Fprintln(r.out, oneLine(f.String()))
}

// store checks an open store.
func (r *checkReport) store(ctx context.Context, db *sql.DB) error {
	return withRaw(ctx, db, func(_ *sql.Conn, store *driver.Store) error {
		defer r.bar.clear()
		return store.Check(ctx, r.found, r.bar.update)
	})
}

// files checks what is there of a store that does not open, for a reason that is
// a finding itself where the check of the files does not show it.
func (r *checkReport) files(ctx context.Context, dir string, refused error) error {
	defer r.bar.clear()
	if err := driver.CheckFiles(ctx, driver.Config{Path: dir}, r.found, r.bar.update); err != nil {
		return errors.Join(refused, err)
	}
	var bad *driver.CorruptError
	if r.damage == 0 && errors.As(refused, &bad) {
		r.found(driver.Finding{Severity: driver.Damage, File: bad.File, Offset: bad.Offset, Text: bad.Reason})
	}
	return nil
}

func (r *checkReport) summary() error {
	switch {
	case r.damage > 0:
		fmt.Fprintf(r.out, "check: damaged: %d findings, %d of them warnings\n", r.damage+r.warnings, r.warnings)
	case r.warnings > 0:
		fmt.Fprintf(r.out, "check: %d warnings, no damage\n", r.warnings)
	default:
		fmt.Fprintln(r.out, "check: ok")
		return nil
	}
	return errFindings
}

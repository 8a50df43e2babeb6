package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tidemarkdb/tidemark/driver"
)

// runCheck reads a whole store. Findings go to standard output as they are
// found, progress to standard error.
func runCheck(ctx context.Context, args []string, std streams) error {
	if len(args) != 1 {
		return misuse("check takes one argument, the store's directory; it was given %d", len(args))
	}
	return withStore(ctx, args[0], "rw", func(db *sql.DB) error {
		warnings, damage, err := checkStore(ctx, db, std)
		switch {
		case err != nil:
			return err
		case damage > 0:
			fmt.Fprintf(std.out, "check: damaged: %d findings, %d warnings\n", damage, warnings)
			return errFindings
		case warnings > 0:
			fmt.Fprintf(std.out, "check: ok, %d warnings\n", warnings)
		default:
			fmt.Fprintln(std.out, "check: ok")
		}
		return nil
	})
}

// checkStore prints what a check finds and counts it.
func checkStore(ctx context.Context, db *sql.DB, std streams) (warnings, damage int, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	store, err := driver.Raw(conn)
	if err != nil {
		return 0, 0, err
	}
	bar := newProgress(std.err, "check")
	defer bar.done()
	err = store.Check(ctx, func(f driver.Finding) {
		if f.Severity == driver.Damage {
			damage++
		} else {
			warnings++
		}
		bar.clear()
		fmt.Fprintln(std.out, f)
	}, bar.update)
	return warnings, damage, err
}

// progress shows how far long work has got: a bar on a terminal, a plain line
// each quarter elsewhere.
type progress struct {
	w        io.Writer
	what     string
	terminal bool
	last     int64 // percent shown, -1 before the first
}

func newProgress(w io.Writer, what string) *progress {
	p := &progress{w: w, what: what, last: -1}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

// update is called with what is done and what there is to do.
func (p *progress) update(done, total int64) {
	if total <= 0 {
		return
	}
	percent := min(100*done/total, 100)
	if !p.terminal {
		percent -= percent % 25
	}
	if percent == p.last {
		return
	}
	p.last = percent
	if p.terminal {
		const width = 40
		full := int(percent) * width / 100
		fmt.Fprintf(p.w, "\r%s [%s%s] %3d%%", p.what, strings.Repeat("#", full), strings.Repeat(".", width-full), percent)
	} else if percent > 0 {
		fmt.Fprintf(p.w, "%s: %d%% of %d\n", p.what, percent, total)
	}
}

// clear takes the bar away, so that a line can be written.
func (p *progress) clear() {
	if p.terminal && p.last >= 0 {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.last = -1
	}
}

// done ends the progress.
func (p *progress) done() { p.clear() }

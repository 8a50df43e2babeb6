package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tidemarkdb/tidemark/sqltests/slt"
)

// fileResult is what one script did, as -json writes it.
type fileResult struct {
	File string
	slt.Result
	Error    string   `json:",omitempty"` // why it was not run to its end
	Failures []string `json:",omitempty"`
}

// bad reports whether the file makes the run fail.
func (r *fileResult) bad() bool { return r.Failed > r.Known || r.Error != "" }

// print writes the file's line and its failures.
func (r *fileResult) print(w io.Writer) {
	word := "ok  "
	if r.bad() {
		word = "FAIL"
	}
	fmt.Fprintf(w, "%s %s passed %d failed %d skipped %d in %.2fs (slowest %.1fms, line %d)",
		word, r.File, r.Passed, r.Failed, r.Skipped, r.Elapsed.Seconds(), float64(r.Slowest.Microseconds())/1000, r.SlowestLine)
	if r.Unknown > 0 {
		fmt.Fprintf(w, " unknown records %d", r.Unknown)
	}
	if r.Error != "" {
		fmt.Fprint(w, " ", r.Error)
	}
	fmt.Fprintln(w)
	for _, f := range r.Failures {
		fmt.Fprintln(w, "    "+f)
	}
}

// summarize prints the total and fails when anything did that was not known to.
func (r *sltRun) summarize(results []fileResult, wall time.Duration, w io.Writer) error {
	var total slt.Result
	failing, broken := 0, 0
	for _, f := range results {
		total.Statements += f.Statements
		total.Queries += f.Queries
		total.Passed += f.Passed
		total.Failed += f.Failed
		total.Known += f.Known
		total.Skipped += f.Skipped
		total.Unknown += f.Unknown
		total.InDB += f.InDB
		if f.Failed > f.Known {
			failing++
		}
		if f.Error != "" {
			broken++
		}
	}
	records := total.Passed + total.Failed
	percent := 100 * float64(total.Passed) / float64(max(records, 1))
	fmt.Fprintf(w, "TOTAL files %d (with failures %d, not run %d) records %d (statements %d, queries %d) skipped %d unknown %d passed %d failed %d known %d (%.4f%%) wall %.1fs, %.0f records/s, %.1fµs/record in the driver\n",
		len(results), failing, broken, records, total.Statements, total.Queries, total.Skipped, total.Unknown, total.Passed,
		total.Failed, total.Known, percent, wall.Seconds(), float64(records)/wall.Seconds(),
		float64(total.InDB.Microseconds())/float64(max(records, 1)))
	if total.Failed > total.Known || broken > 0 || records == 0 {
		return errFindings
	}
	return nil
}

// writeJSON writes the results in the order of their names.
func (r *sltRun) writeJSON(results []fileResult) (err error) {
	if r.jsonPath == "" {
		return nil
	}
	f, err := os.Create(r.jsonPath)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sorted := slices.SortedFunc(slices.Values(results), func(a, b fileResult) int { return strings.Compare(a.File, b.File) })
	enc := json.NewEncoder(f)
	for _, result := range sorted {
		if err := enc.Encode(result); err != nil {
			return err
		}
	}
	return nil
}

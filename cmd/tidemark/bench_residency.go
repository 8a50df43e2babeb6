package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const residencyUsage = "tidemark bench residency [flags]"

// residencyModes are compared, in this order.
var residencyModes = []string{"all", "keys", "sqlite"}

// residencyBench is the benchmark of resident=all beside resident=keys and plain
// SQLite: the same rows, read in the same order by a process of its own each,
// without a limit on its memory and under several.
type residencyBench struct {
	dir     string
	shapes  []string
	rows    int
	reads   int
	rounds  int
	caps    []int64
	svg     string
	json    string
	patient time.Duration
	std     streams

	group *memoryGroup
	exe   string
}

func runBenchResidency(ctx context.Context, args []string, std streams) (err error) {
	flags := newFlags("bench residency")
	b := &residencyBench{std: std}
	var shape, caps string
	flags.StringVar(&b.dir, "dir", ".", "directory on a real disk; what is made there is removed")
	flags.StringVar(&shape, "shape", "both", "wide (an int and three texts of 40 bytes), int, or both")
	flags.IntVar(&b.rows, "rows", 400_000, "rows of a table")
	flags.IntVar(&b.reads, "reads", 40_000, "reads by primary key")
	flags.IntVar(&b.rounds, "rounds", 3, "how often each process reads; its fastest round counts")
	flags.StringVar(&caps, "caps", "", "limits in MiB, such as 48,64; empty for some between what the two modes need")
	flags.StringVar(&b.svg, "svg", "", "file to draw reads a second against the limit in")
	flags.StringVar(&b.json, "json", "", "file to write all figures to")
	flags.DurationVar(&b.patient, "patience", 5*time.Minute, "how long one process may take")
	if helped, err := parseFlags(flags, args, residencyUsage, std); helped || err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return misuse("bench residency takes flags only; it was given %s", flags.Arg(0))
	case b.rows < 1000 || b.reads < 1 || b.rounds < 1:
		return misuse("-rows is %d, -reads %d and -rounds %d: use at least 1000, 1 and 1", b.rows, b.reads, b.rounds)
	case shape == "both":
		b.shapes = []string{"wide", "int"}
	case shape == "wide" || shape == "int":
		b.shapes = []string{shape}
	default:
		return misuse("-shape %s: use wide, int or both", shape)
	}
	if b.caps, err = parseCaps(caps); err != nil {
		return err
	}
	if err := realDisk(b.dir); err != nil {
		return err
	}
	if b.exe, err = os.Executable(); err != nil {
		return err
	}
	return b.run(ctx)
}

func parseCaps(text string) (caps []int64, err error) {
	if text == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
		if err != nil || n < 1 {
			return nil, misuse("-caps %s: use whole numbers of MiB, such as 48,64", text)
		}
		caps = append(caps, n<<20)
	}
	slices.Sort(caps)
	return slices.Compact(caps), nil
}

// skipped ends the benchmark where its limits cannot be had: a run without them
// would say nothing.
func skipped(what string, err error) error {
	return fmt.Errorf("bench residency: SKIPPED, nothing was measured: %s: %w", what, err)
}

func (b *residencyBench) run(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp(b.dir, "tidemark-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.group, err = newMemoryGroup(); err != nil {
		return skipped("no control group for the limits can be made (run as root, or in a delegated group)", err)
	}
	defer func() { err = errors.Join(err, b.group.remove()) }()
	if err := dropPageCache(); err != nil {
		return skipped("the page cache cannot be dropped (run as root)", err)
	}
	off, err := swapOn(ctx, filepath.Join(b.dir, "swap"), int64(b.rows)*1024+(256<<20))
	if err != nil {
		return skipped("no swap can be had", err)
	}
	defer func() { err = errors.Join(err, off()) }()

	var runs []*residencyRun
	ok := true
	for _, shape := range b.shapes {
		r, err := b.shape(ctx, shape)
		if err != nil {
			return err
		}
		void := r.ratios()
		if shape == "wide" {
			ok = r.judge(void)
		}
		b.print(r, void)
		runs = append(runs, r)
	}
	if b.json != "" {
		text, err := json.MarshalIndent(runs, "", "  ")
		if err == nil {
			err = os.WriteFile(b.json, append(text, '\n'), 0o644)
		}
		if err != nil {
			return err
		}
	}
	if b.svg != "" {
		if err := os.WriteFile(b.svg, []byte(residencyChart(runs)), 0o644); err != nil {
			return err
		}
	}
	if !ok {
		return errFindings
	}
	return nil
}

// shape fills and reads the tables of one shape.
func (b *residencyBench) shape(ctx context.Context, shape string) (*residencyRun, error) {
	r := &residencyRun{Shape: shape, Rows: b.rows, Reads: b.reads, Rounds: b.rounds}
	for _, mode := range residencyModes {
		b.say("%s: filling %s with %d rows", shape, mode, b.rows)
		a, err := b.fill(ctx, mode, shape)
		if err != nil {
			return nil, fmt.Errorf("filling %s: %w", mode, err)
		}
		switch mode {
		case "all":
			r.FillAll = a.Seconds
		case "keys":
			r.FillKeys = a.Seconds
		}
	}
	var err error
	if r.LogBytes, err = sizeOf(b.path("keys", shape)); err != nil {
		return nil, err
	}
	anon := map[string]int64{}
	for _, mode := range residencyModes {
		p := b.point(ctx, mode, shape, 0)
		if p.Failed != "" {
			return nil, fmt.Errorf("reading %s: %s", mode, p.Failed)
		}
		anon[mode] = p.Anon
		r.Points = append(r.Points, p)
	}
	caps := b.caps
	if len(caps) == 0 {
		caps = defaultCaps(anon["keys"], anon["all"])
	}
	for _, c := range caps {
		for _, mode := range residencyModes {
			b.say("%s: reading %s under %d MiB", shape, mode, c>>20)
			p := b.point(ctx, mode, shape, c)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r.Points = append(r.Points, p)
		}
	}
	return r, nil
}

// defaultCaps are three limits between what the modes need and one that binds
// neither.
func defaultCaps(keys, all int64) (caps []int64) {
	for i := range 3 {
		caps = append(caps, (keys+(all-keys)*int64(i+1)/4+1<<20-1)>>20<<20)
	}
	return append(caps, (max(keys, all)*3)>>20<<20)
}

func (b *residencyBench) path(mode, shape string) string {
	return filepath.Join(b.dir, shape+"-"+mode)
}

func (b *residencyBench) fill(ctx context.Context, mode, shape string) (residencyAnswer, error) {
	w, err := b.start(ctx)
	if err != nil {
		return residencyAnswer{}, err
	}
	a, err := w.ask(residencyOrder{Do: "fill", Mode: mode, Shape: shape, Path: b.path(mode, shape), Rows: b.rows})
	return a, errors.Join(err, w.end())
}

// point reads a table under a limit, which comes after the table was opened: how
// long an open takes in little memory is another question.
func (b *residencyBench) point(ctx context.Context, mode, shape string, limit int64) (p residencyPoint) {
	p = residencyPoint{Mode: mode, Cap: limit}
	ctx, stop := context.WithTimeout(ctx, b.patient)
	defer stop()
	err := func() (err error) {
		if err := dropPageCache(); err != nil {
			return err
		}
		if err := b.group.limit(0); err != nil {
			return err
		}
		if err := b.group.swap(mode == "all"); err != nil {
			return err
		}
		w, err := b.start(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.end()) }()
		if err := b.group.add(w.cmd.Process.Pid); err != nil {
			return err
		}
		o := residencyOrder{Do: "open", Mode: mode, Shape: shape, Path: b.path(mode, shape), Rows: b.rows, Reads: b.reads}
		a, err := w.ask(o)
		if err != nil {
			return err
		}
		p.Open, p.Anon = a.Seconds, a.Anon
		if limit > 0 {
			if err := b.group.limit(limit); err != nil {
				return fmt.Errorf("the limit cannot be set: %w", err)
			}
		}
		o.Do = "read"
		// Once to warm up: what a mode keeps in memory is decided by its reads.
		if _, err := w.ask(o); err != nil {
			return err
		}
		// The fastest round is the one that other work on the machine disturbed
		// least.
		for range b.rounds {
			if a, err = w.ask(o); err != nil {
				return err
			}
			p.Missing += a.Missing
			if rate := float64(b.reads) / a.Seconds; rate > p.Rate {
				p.Rate, p.P50, p.P99, p.Misses = rate, a.P50, a.P99, float64(a.Faults)/float64(b.reads)
				p.AnonEnd, p.Swapped = a.Anon, a.Swapped
			}
		}
		return nil
	}()
	if err != nil {
		p.Failed, p.Rate = oneLine(err.Error()), 0
		if ctx.Err() != nil {
			p.Failed = fmt.Sprintf("it did not end within %v", b.patient)
		}
	}
	return p
}

// sizeOf is the size of all files of a directory.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

func (b *residencyBench) say(format string, args ...any) {
	fmt.Fprintf(b.std.err, format+"\n", args...)
}

package main

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidemarkdb/tidemark/sqltests/slt"
)

// sltRun is one call of the slt command: what to run and how to report it.
type sltRun struct {
	driver, dsn, init string
	show              int
	jobs              int
	quiet             bool
	jsonPath          string
	options           slt.Options
	known             map[string]map[int]bool // file → lines that failed in the baseline
	files             []string
}

// runSLT runs sqllogictest scripts against any driver that is linked in:
// tidemark, and plain SQLite as sqlite.
func runSLT(ctx context.Context, args []string, std streams) error {
	r, err := parseSLT(args, std)
	if err != nil || r == nil {
		return err
	}
	start := time.Now()
	results := r.runAll(ctx, std.out)
	if err := ctx.Err(); err != nil {
		return err // what was cut off would look like failures
	}
	if err := r.writeJSON(results); err != nil {
		return err
	}
	return r.summarize(results, time.Since(start), std.out)
}

// parseSLT reads the flags; it returns nil after -h.
func parseSLT(args []string, std streams) (*sltRun, error) {
	r := &sltRun{}
	flags := newFlags("slt")
	flags.StringVar(&r.driver, "driver", "tidemark", "database/sql driver `name`: tidemark or sqlite")
	flags.StringVar(&r.dsn, "dsn", "", "data source name; %t stands for a path in a fresh temporary folder, one a file (default %t for tidemark, :memory: for others)")
	flags.StringVar(&r.init, "init", "", "`SQL` to run on each new connection")
	engines := flags.String("engine", "sqlite", "`names`, comma-separated, that skipif and onlyif know the engine by")
	flags.IntVar(&r.jobs, "j", 1, "files run at once")
	flags.IntVar(&r.show, "show", 3, "failures printed for each file")
	flags.IntVar(&r.options.StopAfter, "stop", 0, "give a file up after this many failures (0: never)")
	flags.BoolVar(&r.options.Prepare, "prepare", false, "go through Prepare")
	flags.DurationVar(&r.options.Timeout, "timeout", 0, "limit of one record (0: none)")
	flags.IntVar(&r.options.ReopenEvery, "reopen", 0, "close and open the database again after every `N` statements (needs a DSN that persists, as with %t)")
	ext := flags.String("ext", ".test,.sqltest", "file name `ends`, comma-separated, picked in folders")
	skip := flags.String("skip", "", "`regexp` of paths left out")
	every := flags.Int("every", 1, "run only each `N`th file, for a sample")
	flags.StringVar(&r.jsonPath, "json", "", "write one JSON object a file to this `file`")
	emptyErr := flags.String("empty-on-error", "integer overflow", "errors (`regexp`) that count as an empty result in a query that expects one")
	skipSQL := flags.String("skip-sql", "", "`regexp`; records whose SQL matches are skipped")
	baseline := flags.String("baseline", "", "a -json `file` of an earlier run: what failed there is known and does not make this run fail")
	flags.BoolVar(&r.quiet, "q", false, "print only files with failures, and the summary")
	if helped, err := parseFlags(flags, args, "tidemark slt [flags] FILE-OR-FOLDER…", std); helped || err != nil {
		return nil, err
	}
	if flags.NArg() == 0 {
		return nil, misuse("slt takes files or folders of scripts: tidemark slt -h lists the flags")
	}
	if r.dsn == "" {
		r.dsn = ":memory:"
		if r.driver == "tidemark" {
			r.dsn = "%t"
		}
	}
	r.options.Engines = strings.Split(*engines, ",")
	if r.options.ReopenEvery > 0 && !strings.Contains(r.dsn, "%t") {
		return nil, misuse("slt: -reopen %d needs a -dsn that persists: one with %%t, not %s", r.options.ReopenEvery, r.dsn)
	}
	var skipPath *regexp.Regexp
	for _, re := range []struct {
		flag, text string
		to         **regexp.Regexp
	}{{"skip", *skip, &skipPath}, {"skip-sql", *skipSQL, &r.options.SkipSQL}, {"empty-on-error", *emptyErr, &r.options.EmptyOnError}} {
		if re.text == "" {
			continue
		}
		compiled, err := regexp.Compile(re.text)
		if err != nil {
			return nil, misuse("slt: -%s: %v", re.flag, err)
		}
		*re.to = compiled
	}
	var err error
	if r.files, err = findScripts(flags.Args(), strings.Split(*ext, ","), skipPath); err != nil {
		return nil, misuse("slt: %v", err)
	}
	if *every > 1 {
		r.files = everyNth(r.files, *every)
	}
	if len(r.files) == 0 {
		return nil, misuse("slt: no file ends in %s below %s", *ext, strings.Join(flags.Args(), ", "))
	}
	r.known, err = readBaseline(*baseline)
	if err != nil {
		return nil, misuse("slt: -baseline: %v", err)
	}
	return r, nil
}

// findScripts lists files as given, and in folders those with one of the ends.
func findScripts(args, ends []string, skip *regexp.Regexp) (files []string, err error) {
	for _, arg := range args {
		err := filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || skip != nil && skip.MatchString(path) {
				return err
			}
			if path == arg || slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(path, end) }) {
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// everyNth keeps the first of every n.
func everyNth(files []string, n int) (kept []string) {
	for i := 0; i < len(files); i += n {
		kept = append(kept, files[i])
	}
	return kept
}

// readBaseline reads which lines of which files failed in an earlier run.
func readBaseline(path string) (map[string]map[int]bool, error) {
	known := map[string]map[int]bool{}
	if path == "" {
		return known, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for dec := json.NewDecoder(f); dec.More(); {
		var r fileResult
		if err := dec.Decode(&r); err != nil {
			return nil, err
		}
		lines := map[int]bool{}
		for _, line := range r.FailedAt {
			lines[line] = true
		}
		known[r.File] = lines
	}
	return known, nil
}

// runAll runs the files, as many at once as asked for, and prints a line for
// each as it ends.
func (r *sltRun) runAll(ctx context.Context, w io.Writer) []fileResult {
	results := make([]fileResult, len(r.files))
	next := make(chan int)
	var print sync.Mutex
	var workers sync.WaitGroup
	for range max(r.jobs, 1) {
		workers.Go(func() {
			for i := range next {
				results[i] = r.runFile(ctx, r.files[i])
				print.Lock()
				if ctx.Err() == nil && (!r.quiet || results[i].bad()) {
					results[i].print(w)
				}
				print.Unlock()
			}
		})
	}
	for i := range r.files {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	return results
}

package sqltests

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/tidemarkdb/tidemark/driver"
)

// chore is what a process that is to be killed does: what it writes meanwhile it
// tells on a pipe, before and after each step.
type chore struct {
	DSN    string // of the store; the timeline is added to it
	Work   string // "gc", "backup", "restore" or "lines"
	Target string // the directory of the backup, or of the restored store
	Source string // of a restore: the backup
	Seed   uint64
	First  int64 // the first row that is new
}

// childChore does the work until it is killed.
func childChore(c chore) error {
	out := &teller{}
	if c.Work == "restore" {
		out.tell("begin")
		if err := driver.Restore(context.Background(), c.Source, c.Target, nil); err != nil {
			return err
		}
		out.tell("end")
		select {}
	}
	timelines := []string{"main"}
	if c.Work == "lines" {
		timelines = append(timelines, "dev")
	}
	errs := make(chan error, 4)
	var main *sql.DB
	for _, timeline := range timelines {
		db, err := sql.Open("tidemark", c.DSN+"&timeline="+timeline)
		if err != nil {
			return err
		}
		if main == nil {
			main = db
		}
		if err := db.Ping(); err != nil {
			return err
		}
		w := &choreWriter{db: db, out: out, timeline: timeline, rng: rand.New(rand.NewPCG(c.Seed, uint64(len(timeline)))), id: c.First}
		if timeline != "main" {
			w.id++ // even rows are of one timeline, odd ones of the other
		}
		go func() {
			for { // not so many rows that to look at them takes most of the time
				time.Sleep(time.Millisecond)
				if err := w.step(c.Work == "lines"); err != nil {
					errs <- fmt.Errorf("timeline %s: %w", timeline, err)
					return
				}
			}
		}()
	}
	go func() { errs <- c.keep(main, out) }()
	return <-errs
}

// keep does the work of which the process is to be killed.
func (c *chore) keep(db *sql.DB, out *teller) error {
	job := func(kind string) error {
		_, err := db.Exec("INSERT INTO tidemark_jobs(kind, target) VALUES(?, ?)", kind, sql.NullString{String: c.Target, Valid: kind == "backup"})
		return err
	}
	if c.Work == "backup" {
		out.tell("begin")
		if err := job("backup"); err != nil {
			return err
		}
		out.tell("end")
		select {}
	}
	// A branch point keeps what a compaction replaces, and makes much garbage at once
	// when it goes.
	for n := 0; ; n++ {
		name := fmt.Sprintf("keeper %d %d", c.First, n)
		if c.Work == "gc" {
			out.wait(150)
		}
		if _, err := db.Exec("INSERT INTO tidemark_branch_points(name) VALUES(?)", name); err != nil {
			return err
		}
		for _, kind := range []string{"checkpoint", "compact"} {
			if err := job(kind); err != nil {
				return err
			}
		}
		out.tell("begin")
		if _, err := db.Exec("DELETE FROM tidemark_branch_points WHERE name = ?", name); err != nil {
			return err
		}
		if err := job("gc"); err != nil {
			return err
		}
	}
}

// teller writes lines that end in a full stop: one that was cut says nothing.
type teller struct {
	mu sync.Mutex
	n  int
}

func (t *teller) tell(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
	os.Stdout.WriteString(fmt.Sprintf(format, args...) + " .\n")
}

// wait waits for so many more lines.
func (t *teller) wait(n int) {
	lines := func() int {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.n
	}
	for upTo := lines() + n; lines() < upTo; {
		time.Sleep(time.Millisecond)
	}
}

// choreWriter writes to one timeline, one step after the other.
type choreWriter struct {
	db       *sql.DB
	out      *teller
	timeline string
	rng      *rand.Rand
	id       int64
	points   []string
}

// step is one row, or another thing that timelines can do. Restores go back to branch
// points of this run.
func (w *choreWriter) step(all bool) error {
	name := fmt.Sprintf("%s-%d", w.timeline, w.id)
	n := 99
	if all {
		n = w.rng.IntN(100)
	}
	switch {
	case n < 12:
		if err := w.do("point "+name, "INSERT INTO tidemark_branch_points(name) VALUES(?)", name); err != nil {
			return err
		}
		w.points = append(w.points, name)
		w.id += 2
		return nil
	case n < 24 && len(w.points) > 0:
		point := w.points[w.rng.IntN(len(w.points))]
		return w.do("undo "+point, "UPDATE tidemark_timelines SET restore_to = ? WHERE name = ?", point, w.timeline)
	case n < 28:
		w.id += 2
		return w.do("fork "+name, "INSERT INTO tidemark_timelines(name, source) VALUES(?, ?)", name, w.timeline)
	}
	w.id += 2
	return w.do(fmt.Sprintf("row %d", w.id-2), "INSERT INTO kept VALUES(?, ?)", w.id-2, strings.Repeat("x", w.rng.IntN(400)))
}

func (w *choreWriter) do(what, query string, args ...any) error {
	w.out.tell("do %s %s", w.timeline, what)
	if _, err := w.db.Exec(query, args...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	w.out.tell("did %s", w.timeline)
	return nil
}

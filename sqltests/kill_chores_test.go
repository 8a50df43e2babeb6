package sqltests

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/driver"
)

var choreRounds = flag.Int("kill-chores", 0, "how often TestKillChores kills each kind of work; 0 chooses a few")

// run runs a process that does a chore, kills it so long after the moment it begins,
// and returns how long the work took if it ended.
func (c chore) run(t *testing.T, s *keptStory, after time.Duration) (took time.Duration) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TIDEMARK_TEST_CHORE="+string(text))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var begun time.Time
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		s.hear(t, lines.Text())
		switch lines.Text() {
		case "begin .":
			if begun.IsZero() {
				begun, s.begun = time.Now(), maps.Clone(s.lines["main"])
				time.AfterFunc(after, func() { cmd.Process.Kill() })
			}
		case "end .":
			took = time.Since(begun)
			cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil || stderr.Len() > 0 {
		t.Fatalf("the process ended by itself: %v %s", err, stderr.String())
	}
	return took
}

// leftOver counts what a kill left half done: removals, publications, jobs.
func leftOver(t *testing.T, dir string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "catalog.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return int(column[int64](t, db, `SELECT (SELECT count(*) FROM gc_intents) + (SELECT count(*) FROM unresolved_publications)
		+ (SELECT count(*) FROM job_progress WHERE state = 'running')`)[0])
}

// recovered opens what a kill left: nothing is half done any more, the story is true,
// the check is clean, and no file is left behind a gc that nothing needs.
func (s *keptStory) recovered(t *testing.T, dsn, dir string) {
	t.Helper()
	t.Run("", func(t *testing.T) {
		db := openChores(t, dsn, "main")
		for _, view := range []string{"gc_intents", "unresolved_publications", "claim_closure_audit", "manifest_audit"} {
			if n := column[int64](t, db, "SELECT count(*) FROM catalog."+view)[0]; n != 0 {
				t.Errorf("%s has %d rows behind the open", view, n)
			}
		}
		if list := column[string](t, db, "SELECT kind FROM tidemark_jobs WHERE state = 'running'"); len(list) > 0 {
			t.Errorf("jobs %v are running that nobody runs", list)
		}
		s.settle(t, dsn)
		for _, f := range findings(t, db) {
			t.Errorf("check: %s", f)
		}
		for _, name := range column[string](t, db, "SELECT name FROM tidemark_branch_points WHERE name LIKE 'keeper %'") {
			if _, err := db.Exec("DELETE FROM tidemark_branch_points WHERE name = ?", name); err != nil {
				t.Error(err)
			}
		}
		if _, err := db.Exec("INSERT INTO tidemark_jobs(kind) VALUES('gc')"); err != nil {
			t.Error(err)
		}
		for _, f := range leakedFiles(t, db, dir) {
			t.Errorf("nothing names the file %s", f)
		}
	})
	verifyClosed(t, dir)
}

// newChores makes a store with some rows.
func newChores(t *testing.T, options string) (dsn, dir string, s *keptStory) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	dsn = dir + "?busy_timeout=60s&" + options
	s = &keptStory{lines: map[string]keptRows{"main": {}}, points: map[string]keptRows{}, pending: map[string]string{}}
	t.Run("", func(t *testing.T) {
		db := openChores(t, dsn, "main")
		for _, query := range []string{"CREATE TABLE kept(id INTEGER PRIMARY KEY, note TEXT)", "INSERT INTO tidemark_timelines(name) VALUES('dev')"} {
			if _, err := db.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
	})
	s.lines["dev"] = keptRows{}
	return dsn, dir, s
}

// roundsOf is how often each kind of work is killed.
func roundsOf() int {
	switch {
	case *choreRounds > 0:
		return *choreRounds
	case testing.Short():
		return 2
	}
	return 3
}

// A process is killed in the middle of collections, of forks and restores on two
// timelines, of backups and of restores of these, at moments that chance chooses. What
// it acknowledged is kept, what was undone stays away, what was half done is settled
// by the next open, and a backup or restore that was cut off goes on.
func TestKillChores(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	for _, x := range []struct {
		work, options string
		most          time.Duration // behind the beginning of the work
	}{
		{"gc", "shards=2&generation_size=2KiB&resident=keys", 120 * time.Millisecond},
		{"lines", "shards=3&generation_size=4KiB", 500 * time.Millisecond},
	} {
		t.Run(x.work, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, uint64(len(x.work))))
			dsn, dir, s := newChores(t, x.options)
			inside := 0
			for range roundsOf() {
				c := chore{DSN: dsn, Work: x.work, Seed: rng.Uint64(), First: s.next + s.next%2 + 2}
				c.run(t, s, time.Duration(rng.Int64N(int64(x.most))))
				if leftOver(t, dir) > 0 {
					inside++
				}
				if s.recovered(t, dsn, dir); t.Failed() {
					t.Fatalf("%+v", c)
				}
			}
			if inside == 0 && *choreRounds >= 20 {
				t.Error("nothing was left half done")
			}
			t.Logf("%d rounds, %d of them left something half done; %d timelines, %d branch points, %d rows on main", roundsOf(), inside, len(s.lines), len(s.points), len(s.lines["main"]))
		})
	}
	t.Run("backup", func(t *testing.T) { killBackups(t, seed) })
}

// killBackups kills backups beside a writer, and restores of the last one.
func killBackups(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	dsn, dir, s := newChores(t, "shards=2&generation_size=2KiB&compact=off")
	t.Run("", func(t *testing.T) {
		db := openChores(t, dsn, "main")
		for s.next = 2; s.next < 400; s.next += 2 {
			if _, err := db.Exec("INSERT INTO kept VALUES(?, hex(zeroblob(100)))", s.next); err != nil {
				t.Fatal(err)
			}
			s.lines["main"][s.next] = true
		}
		if _, err := db.Exec("INSERT INTO tidemark_branch_points(name) VALUES('fixed')"); err != nil {
			t.Fatal(err)
		}
		s.points["fixed"] = maps.Clone(s.lines["main"])
	})
	var full, restoring time.Duration
	cut, torn, backup := 0, 0, ""
	var whole *keptStory // that of the backup
	for round := range roundsOf() + 1 {
		after := time.Minute // the first is to tell how long it takes
		if round > 0 {
			after = time.Duration(rng.Int64N(int64(full)))
		}
		target := filepath.Join(t.TempDir(), "backup")
		c := chore{DSN: dsn, Work: "backup", Target: target, Seed: rng.Uint64(), First: s.next + s.next%2 + 2}
		full = max(full, c.run(t, s, after))
		if s.recovered(t, dsn, dir); t.Failed() {
			t.Fatalf("round %d: %+v", round, c)
		}
		if complete(target) {
			s.between(t, target)
		} else {
			if db, err := sql.Open("tidemark", target+"?mode=rw"); err != nil {
				t.Fatal(err)
			} else if err := db.Ping(); !errors.Is(err, driver.ErrCantOpen) {
				t.Errorf("round %d: the beginning of a backup opens as a store: %v", round, err)
			}
			cut++
			t.Run("", func(t *testing.T) { // goes on, and has all that is there now
				db := openChores(t, dsn, "main")
				if _, err := db.Exec("INSERT INTO tidemark_jobs(kind, target) VALUES('backup', ?)", target); err != nil {
					t.Fatal(err)
				}
			})
			backup, whole = target, s.clone()
			s.restored(t, backup, filepath.Join(t.TempDir(), "whole"))
		}
		if t.Failed() {
			return
		}
		if backup == "" {
			continue
		}
		dest := filepath.Join(t.TempDir(), "restored")
		after = time.Minute
		if restoring > 0 {
			after = time.Duration(rng.Int64N(int64(restoring)))
		}
		restoring = max(restoring, chore{Work: "restore", Source: backup, Target: dest}.run(t, s, after))
		if _, err := os.Stat(filepath.Join(dest, "catalog.db")); err == nil {
			continue
		}
		torn++
		whole.restored(t, backup, dest)
	}
	if *choreRounds >= 20 && (cut == 0 || torn == 0) { // of few, all may have been too late
		t.Error("no backup was cut off, or no restore")
	}
	t.Logf("%d backups were cut off and went on, of %d that take %s; %d restores, that take %s", cut, roundsOf()+1, full.Round(time.Millisecond), torn, restoring.Round(time.Millisecond))
}

func complete(backup string) bool {
	_, err := os.Stat(filepath.Join(backup, "BACKUP"))
	return err == nil
}

// between holds a backup that came to its end against the story: it has what there was
// when it began, and then what there was at one moment since.
func (s *keptStory) between(t *testing.T, backup string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	if err := driver.Restore(t.Context(), backup, dir, nil); err != nil {
		t.Fatal(err)
	}
	t.Run("", func(t *testing.T) {
		got := keptIn(t, dir+"?busy_timeout=60s", "main")
		newest := slices.Max(slices.Collect(maps.Keys(got)))
		want := maps.Clone(s.lines["main"])
		maps.DeleteFunc(want, func(id int64, _ bool) bool { return id > newest && !s.begun[id] })
		compareKept(t, "the backup", got, want)
	})
}

func (s *keptStory) clone() *keptStory {
	c := *s
	c.lines, c.points = maps.Clone(s.lines), maps.Clone(s.points)
	for name, rows := range c.lines {
		c.lines[name] = maps.Clone(rows)
	}
	return &c
}

// restored restores a backup, in which another process may have begun to, and holds it
// against the story.
func (s *keptStory) restored(t *testing.T, backup, dir string) {
	t.Helper()
	if err := driver.Restore(t.Context(), backup, dir, nil); err != nil {
		t.Fatal(err)
	}
	s.recovered(t, dir+"?busy_timeout=60s", dir)
}

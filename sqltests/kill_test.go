package sqltests

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const killWriters = 8

// killOptions are how the writers open their store; a store keeps its number.
// Most begin a generation of each of three shards every few transactions, and most
// compact their log all the time.
var killOptions = []struct {
	query   string
	compact bool
}{
	{"shards=3&generation_size=4KiB", true},
	{"shards=1&generation_size=256KiB", false},
	{"shards=3&generation_size=4KiB&resident=keys", true},
	{"shards=3&generation_size=2KiB", true},
	{"shards=3&generation_size=8KiB", false},
	{"shards=1&generation_size=16KiB&resident=keys", true},
}

// killRounds is how often the writers of one store are killed: a store that only
// grew would be replayed for most of the time.
const killRounds = 5

// childWriters opens a store and starts writers that never stop. Each commits
// transactions of three rows in two tables and then prints "writer seq", so that a
// line on the pipe is a promise the parent may hold the store to. With compact it
// also runs one compaction after the other, and says "compacted" behind each.
func childWriters(dsn string, compact bool) error {
	db, err := sql.Open("tidemark", dsn)
	if err != nil {
		return err
	}
	if _, err := db.Exec(`CREATE TABLE IF NOT EXISTS entry(id INTEGER PRIMARY KEY, writer INT NOT NULL, seq INT NOT NULL, note TEXT, UNIQUE(writer, seq, note));
		CREATE TABLE IF NOT EXISTS total(writer INTEGER PRIMARY KEY, seq INT NOT NULL)`); err != nil {
		return err
	}
	var mu sync.Mutex
	out := bufio.NewWriterSize(os.Stdout, 64)
	errs := make(chan error, killWriters+1)
	if compact {
		go func() {
			for {
				if _, err := db.Exec("INSERT INTO tidemark_jobs(kind) VALUES('compact')"); err != nil {
					errs <- fmt.Errorf("compacting: %w", err)
					return
				}
				mu.Lock()
				fmt.Fprintln(out, "compacted")
				out.Flush()
				mu.Unlock()
			}
		}()
	}
	for w := range killWriters {
		go func() {
			var seq int64
			if err := db.QueryRow("SELECT coalesce(max(seq),0) FROM entry WHERE writer=?", w).Scan(&seq); err != nil {
				errs <- err
				return
			}
			for {
				seq++
				if err := writeOne(db, w, seq); err != nil {
					errs <- fmt.Errorf("writer %d seq %d: %w", w, seq, err)
					return
				}
				mu.Lock()
				fmt.Fprintf(out, "%d %d\n", w, seq)
				out.Flush()
				mu.Unlock()
			}
		}()
	}
	return <-errs
}

func writeOne(db *sql.DB, w int, seq int64) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, note := range []string{"a", strings.Repeat("b", int(seq%300))} {
		if _, err := tx.Exec("INSERT INTO entry(writer, seq, note) VALUES(?,?,?)", w, seq, note+strconv.FormatInt(seq, 10)); err != nil {
			return err
		}
	}
	if _, err := tx.Exec("INSERT OR REPLACE INTO total VALUES(?,?)", w, seq); err != nil {
		return err
	}
	return tx.Commit()
}

// TestKill is ENG-AT-14 and ENG-AT-25: it kills a process with eight writers, and
// mostly with a compaction, and opens what it left: nothing acknowledged is lost,
// nothing is half there, no file is there that the catalog does not name, the check
// is clean. When the store is closed again no file is there that nothing needs.
// TIDEMARK_KILL_ROUNDS sets the number of rounds.
func TestKill(t *testing.T) {
	rounds := 24
	if testing.Short() {
		rounds = 4
	}
	if v := os.Getenv("TIDEMARK_KILL_ROUNDS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	each := killRounds
	if rounds < 2*killRounds*len(killOptions) {
		each = max(rounds/(2*len(killOptions)), 1)
	}
	total, generations, inside, start := 0, 0, 0, time.Now()
	for round, store := 0, 0; round < rounds; store++ {
		dir := filepath.Join(t.TempDir(), "store")
		if store/len(killOptions)%2 == 1 {
			dir = filepath.Join(metaDir(t), "store") // faster
		}
		options := killOptions[store%len(killOptions)]
		dsn := dir + "?busy_timeout=60s&" + options.query
		acked := map[int]int64{}
		var made killedStore
		for n := 0; n < each && round < rounds; n, round = n+1, round+1 {
			total += killRound(t, dsn, options.compact, round, acked)
			made = verifyKilled(t, dsn, dir, acked)
			if t.Failed() {
				t.Fatalf("round %d, %v", round, options)
			}
		}
		generations, inside = generations+made.generations, inside+made.compacting
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if rounds > 100 && store%10 == 9 {
			t.Logf("%d rounds, %d commits, %d generations, %d killed compactions in %s", round, total, generations, inside, time.Since(start).Round(time.Second))
		}
	}
	t.Logf("%d rounds, %d commits acknowledged, none lost; %d generations; %d kills in a compaction; %s", rounds, total, generations, inside, time.Since(start).Round(time.Second))
	if total == 0 {
		t.Fatal("no commit was acknowledged in any round")
	}
	if inside == 0 && rounds >= 2*len(killOptions) { // of few, all may be between two
		t.Error("no compaction was killed")
	}
}

// killedStore says what was found in a store.
type killedStore struct {
	generations int
	compacting  int // compactions that did not end
}

// killRound runs the child for a while, kills it and records what it promised.
func killRound(t *testing.T, dsn string, compact bool, round int, acked map[int]int64) (n int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TIDEMARK_TEST_WRITERS="+dsn)
	if compact {
		cmd.Env = append(cmd.Env, "TIDEMARK_TEST_COMPACT=1")
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var kill *time.Timer
	if round%4 == 3 { // or while it opens what the last round left
		kill = time.AfterFunc(time.Duration(5+round*7%90)*time.Millisecond, func() { cmd.Process.Kill() })
	}
	for lines.Scan() {
		if kill == nil && (!compact || lines.Text() == "compacted") { // from then on, at a different moment each round
			kill = time.AfterFunc(time.Duration(20+round*13%180)*time.Millisecond, func() { cmd.Process.Kill() })
		}
		var w int
		var seq int64
		if _, err := fmt.Sscanf(lines.Text(), "%d %d", &w, &seq); err != nil {
			continue // a line cut by the kill promises nothing
		}
		acked[w] = max(acked[w], seq)
		n++
	}
	if err := cmd.Wait(); err == nil || stderr.Len() > 0 {
		t.Fatalf("the writers ended by themselves: %v %s", err, stderr.String())
	}
	return n
}

// verifyKilled opens the store twice: what a kill left behind, and what the first
// open and close did about it.
func verifyKilled(t *testing.T, dsn, dir string, acked map[int]int64) (found killedStore) {
	t.Helper()
	for range 2 {
		found = verifyOpened(t, dsn, dir, acked)
		verifyClosed(t, dir)
	}
	return found
}

// verifyClosed holds the files of a closed store against its catalog.
func verifyClosed(t *testing.T, dir string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "catalog.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	paths := func(query string) (list []string) {
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var p string
			if err := rows.Scan(&p); err != nil {
				t.Fatal(err)
			}
			list = append(list, p)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return list
	}
	named := map[string]bool{"LOCK": true, "catalog.db": true, "catalog.db-wal": true, "catalog.db-shm": true}
	for _, p := range paths("SELECT relative_path FROM objects WHERE state <> 'collected'") {
		named[p] = true
	}
	for _, p := range filesBelow(t, dir) {
		if !named[p] {
			t.Errorf("closed: nothing names the file %s", p)
		}
	}
	for _, p := range paths("SELECT relative_path FROM gc_candidates UNION ALL SELECT relative_path FROM objects WHERE state = 'gc_claimed'") {
		t.Errorf("closed: nothing needs the file %s", p)
	}
}

func verifyOpened(t *testing.T, dsn, dir string, acked map[int]int64) (found killedStore) {
	t.Helper()
	db, err := sql.Open("tidemark", dsn) // a kill may have been before the store was made
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	for _, f := range findings(t, db) {
		t.Errorf("check: %s", f)
	}
	for _, f := range leakedFiles(t, db, dir) {
		t.Errorf("nothing names the file %s", f)
	}
	if err := db.QueryRow(`SELECT (SELECT count(*) FROM tidemark_generations),
		(SELECT count(*) FROM tidemark_jobs WHERE kind = 'compact' AND state = 'failed')`).Scan(&found.generations, &found.compacting); err != nil {
		t.Fatal(err)
	}
	if len(acked) == 0 {
		return found // nor need there be a table
	}
	for w, want := range acked {
		var entries, distinct, maxSeq, tot int64
		err := db.QueryRowContext(context.Background(), `SELECT count(*), count(DISTINCT seq), coalesce(max(seq),0),
			(SELECT seq FROM total WHERE writer=?1) FROM entry WHERE writer=?1`, w).Scan(&entries, &distinct, &maxSeq, &tot)
		if err != nil {
			t.Fatal(err)
		}
		if maxSeq < want {
			t.Errorf("writer %d: acknowledged up to %d, found %d", w, want, maxSeq)
		}
		if entries != 2*maxSeq || distinct != maxSeq || tot != maxSeq {
			t.Errorf("writer %d: %d entries, %d transactions, total %d at sequence %d: something is half there", w, entries, distinct, tot, maxSeq)
		}
	}
	return found
}

// leakedFiles lists the files below a store's directory that are not its own:
// the catalog's, the lock, and objects that the catalog names and did not collect.
func leakedFiles(t *testing.T, db *sql.DB, dir string) (leaked []string) {
	t.Helper()
	paths := filesBelow(t, dir)
	// Names are recorded before their files are made, so they are read last.
	rows, err := db.Query("SELECT relative_path FROM catalog.objects WHERE state <> 'collected'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	named := map[string]bool{"LOCK": true, "catalog.db": true, "catalog.db-wal": true, "catalog.db-shm": true}
	for rows.Next() {
		var p string
		if err := rows.Scan(&p); err != nil {
			t.Fatal(err)
		}
		named[p] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if !named[p] {
			leaked = append(leaked, p)
		}
	}
	return leaked
}

// filesBelow lists the files below a directory.
func filesBelow(t *testing.T, dir string) (paths []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return skipGone(err)
		}
		p, err = filepath.Rel(dir, p)
		paths = append(paths, filepath.ToSlash(p))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return paths
}

// childLoad loads a script, says so and waits to be killed.
func childLoad(dir, script string) error {
	b, err := os.ReadFile(script)
	if err != nil {
		return err
	}
	db, err := sql.Open("tidemark", dir)
	if err != nil {
		return err
	}
	if _, err := db.Exec(strings.TrimPrefix(string(b), "\ufeff")); err != nil {
		return err
	}
	fmt.Println("loaded")
	select {}
}

// TestSampleDatabaseKilled loads the sample database in a process that is then
// killed, and compares every table with the native ones.
func TestSampleDatabaseKilled(t *testing.T) {
	script := sampleSQL(t)
	native, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "native.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	if _, err := native.Exec(script); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "store")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TIDEMARK_TEST_LOAD="+dir, "TIDEMARK_TEST_SCRIPT="+dataFile(t, "chinook.sql"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "loaded" {
		t.Fatalf("child said %q", lines.Text())
	}
	cmd.Process.Kill()
	cmd.Wait()
	db, err := sql.Open("tidemark", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	compareAll(t, native, db)
	for _, f := range findings(t, db) {
		t.Errorf("check: %s", f)
	}
}

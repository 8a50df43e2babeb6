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

// childWriters opens the store in dir and starts writers that never stop. Each
// commits transactions of three rows in two tables and then prints "writer seq",
// so that a line on the pipe is a promise the parent may hold the store to.
func childWriters(dir string) error {
	db, err := sql.Open("tidemark", dir+"?busy_timeout=60s&generation_size=256KiB")
	if err != nil {
		return err
	}
	if _, err := db.Exec(`CREATE TABLE IF NOT EXISTS entry(id INTEGER PRIMARY KEY, writer INT NOT NULL, seq INT NOT NULL, note TEXT, UNIQUE(writer, seq, note));
		CREATE TABLE IF NOT EXISTS total(writer INTEGER PRIMARY KEY, seq INT NOT NULL)`); err != nil {
		return err
	}
	var mu sync.Mutex
	out := bufio.NewWriterSize(os.Stdout, 64)
	errs := make(chan error, killWriters)
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

// TestKill kills a process with eight writers and opens what it left: nothing
// acknowledged is lost, nothing is half there, the check is clean.
// TIDEMARK_KILL_ROUNDS sets the number of rounds.
func TestKill(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	if v := os.Getenv("TIDEMARK_KILL_ROUNDS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	dir := filepath.Join(t.TempDir(), "store")
	acked := map[int]int64{}
	total := 0
	for round := range rounds {
		total += killRound(t, dir, round, acked)
		verifyKilled(t, dir, acked)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d rounds, %d commits acknowledged, none lost", rounds, total)
	if total == 0 {
		t.Fatal("no commit was acknowledged in any round")
	}
}

// killRound runs the child for a while, kills it and records what it promised.
func killRound(t *testing.T, dir string, round int, acked map[int]int64) (n int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TIDEMARK_TEST_WRITERS="+dir)
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
	for lines.Scan() {
		var w int
		var seq int64
		if _, err := fmt.Sscanf(lines.Text(), "%d %d", &w, &seq); err != nil {
			continue // a line cut by the kill promises nothing
		}
		acked[w] = max(acked[w], seq)
		n++
		if kill == nil { // from the first promise on, at a different moment each round
			kill = time.AfterFunc(time.Duration(20+round*13%180)*time.Millisecond, func() { cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil || stderr.Len() > 0 {
		t.Fatalf("the writers ended by themselves: %v %s", err, stderr.String())
	}
	return n
}

func verifyKilled(t *testing.T, dir string, acked map[int]int64) {
	t.Helper()
	db, err := sql.Open("tidemark", dir)
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

//go:build linux

package driver

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// childEnv has the DSN of a child process, which opens it and runs the lines of its
// input, each one statement, on one connection.
const childEnv = "TIDEMARK_TEST_CHILD"

// dieEnv has the child end, as by a kill, when it first opens a file of the log.
const dieEnv = "TIDEMARK_TEST_CHILD_DIES"

// TestChild is the other process of tests that need one.
func TestChild(t *testing.T) {
	dsn := os.Getenv(childEnv)
	if dsn == "" {
		t.Skip("it is run by other tests, in a process of its own")
	}
	if err := runChild(dsn, os.Stdin, os.Stdout); err != nil {
		t.Fatal(err)
	}
}

func runChild(dsn string, in io.Reader, out io.Writer) (err error) {
	cfg, err := ParseDSN(dsn)
	if err != nil {
		return err
	}
	if os.Getenv(dieEnv) != "" {
		f := vfs.NewFault(vfs.OS(cfg.Path))
		f.SetHook(func(op vfs.Op) error {
			if op.Kind == vfs.OpOpenRead && strings.HasPrefix(op.Name, "objects/") {
				return syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return nil
		})
		cfg.FS = f
	}
	connector, err := NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, db.Close()) }()
	c, err := db.Conn(context.Background())
	if err != nil {
		fmt.Fprintf(out, "> error: %v\n", err)
		return err
	}
	defer c.Close()
	fmt.Fprintf(out, "> open\n")
	for lines := bufio.NewScanner(in); lines.Scan(); {
		text, err := runLine(c, lines.Text())
		if err != nil {
			text = "error: " + err.Error()
		}
		fmt.Fprintf(out, "> %s\n", text)
	}
	return nil
}

// runLine runs one statement and returns its rows in one line.
func runLine(c *sql.Conn, text string) (string, error) {
	rows, err := c.QueryContext(context.Background(), text)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	var list []string
	cells, pointers := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range cells {
		pointers[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			return "", err
		}
		line := make([]string, len(cells))
		for i, c := range cells {
			line[i] = c.String
		}
		list = append(list, strings.Join(line, "|"))
	}
	return strings.Join(list, " "), rows.Err()
}

// child is a process that runs statements.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startChild starts one and waits until it has opened its store.
func startChild(t *testing.T, dsn string) *child {
	t.Helper()
	c := newChild(t, dsn)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if got := c.answer(); got != "open" {
		t.Fatalf("the child says %s", got)
	}
	return c
}

// newChild makes one that is to be started.
func newChild(t *testing.T, dsn string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: exec.Command(self, "-test.run=^TestChild$")}
	c.cmd.Env = append(os.Environ(), childEnv+"="+dsn)
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	c.out.Buffer(nil, 1<<24)
	t.Cleanup(c.kill)
	return c
}

// answer returns the next answer.
func (c *child) answer() string {
	c.t.Helper()
	for c.out.Scan() {
		if text, found := strings.CutPrefix(c.out.Text(), "> "); found {
			return text
		}
	}
	c.t.Fatalf("the child says no more: %v", c.out.Err())
	return ""
}

// run runs one statement in the child.
func (c *child) run(text string) string {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, text); err != nil {
		c.t.Fatal(err)
	}
	return c.answer()
}

// end closes the child's store and waits until it has ended.
func (c *child) end() {
	c.t.Helper()
	if err := c.in.Close(); err != nil {
		c.t.Error(err)
	}
	for c.out.Scan() {
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the child: %v", err)
	}
}

// kill kills the child, if it has not ended.
func (c *child) kill() {
	if c.cmd.Process != nil && c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait() // it was killed
	}
}

func (c *child) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// allRows reads both tables of fillProcesses.
const allRows = "SELECT group_concat(id || ':' || v, ' ') FROM (SELECT id, v FROM a UNION ALL SELECT id, v FROM k ORDER BY id)"

// fillProcesses makes a store with a table of each residency.
func fillProcesses(t *testing.T) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store")
	db = openTest(t, Config{Path: path, GenerationSize: 8 << 10, Compact: "off"})
	mustExec(t, db, `CREATE TABLE a(id INTEGER PRIMARY KEY, v TEXT);
		CREATE VIRTUAL TABLE k USING tidemark(id INTEGER PRIMARY KEY, v TEXT, resident=keys);
		CREATE INDEX kv ON k(v)`)
	changeAll(t, db, "first")
	return path, db
}

// changeAll gives all rows another value.
func changeAll(t *testing.T, db *sql.DB, v string) {
	t.Helper()
	for i := range 20 {
		for _, table := range []string{"a", "k"} {
			mustExec(t, db, "INSERT OR REPLACE INTO "+table+" VALUES(?, ?)", i, fmt.Sprint(v, i, strings.Repeat("x", 100)))
		}
	}
}

// answerOf reads one value.
func answerOf(t *testing.T, db *sql.DB, text string) string {
	t.Helper()
	_, lines := table(t, db, text)
	return strings.Join(lines, " ")
}

// eventually waits for what another process brings about.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for range 3000 {
		if cond() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

// A reader that is stopped keeps what it reads, however long; one that is gone keeps
// nothing.
func TestStoppedReader(t *testing.T) {
	path, db := fillProcesses(t)
	c := startChild(t, path+"?mode=ro")
	want := answerOf(t, db, allRows)
	eventually(t, "the first rows", func() bool { return c.run(allRows) == want })
	c.run("BEGIN")
	if got := c.run(allRows); got != want {
		t.Fatalf("%s", got)
	}
	c.signal(syscall.SIGSTOP)
	before := answerOf(t, db, "SELECT group_concat(owner_id || objects) FROM tidemark_pins")
	for n := range 12 {
		changeAll(t, db, fmt.Sprint("round", n))
		mustExec(t, db, "INSERT INTO tidemark_jobs(kind) VALUES('compact')")
		mustExec(t, db, "INSERT INTO tidemark_jobs(kind) VALUES('gc')")
	}
	if got := answerOf(t, db, "SELECT state FROM tidemark_sessions"); got != "live" {
		t.Errorf("the session is %s", got)
	}
	if got := answerOf(t, db, "SELECT group_concat(owner_id || objects) FROM tidemark_pins"); got != before {
		t.Errorf("pins %s, before %s", got, before)
	}
	c.signal(syscall.SIGCONT)
	if got := c.run(allRows); got != want {
		t.Errorf("in the transaction:\n%s\nwant\n%s", got, want)
	}
	c.run("ROLLBACK")
	want = answerOf(t, db, allRows)
	if got := c.run(allRows); got != want {
		t.Errorf("afterwards:\n%s\nwant\n%s", got, want)
	}
	c.end()
	if got := answerOf(t, db, "SELECT state FROM tidemark_sessions"); got != "closed" {
		t.Errorf("the session is %s", got)
	}
	if got := answerOf(t, db, "SELECT count(*) FROM tidemark_pins"); got != "0" {
		t.Errorf("%s pins", got)
	}
}

// What a killed reader read goes, with the proof that it was killed.
func TestKilledReader(t *testing.T) {
	path, db := fillProcesses(t)
	c := startChild(t, path+"?mode=ro")
	if got := c.run("SELECT count(*) FROM k"); got != "20" {
		t.Fatal(got)
	}
	changeAll(t, db, "second")
	mustExec(t, db, "INSERT INTO tidemark_jobs(kind) VALUES('compact')")
	files := func() string {
		runtime.GC() // the snapshots of this process are not what keeps them
		mustExec(t, db, "INSERT INTO tidemark_jobs(kind) VALUES('gc')")
		return answerOf(t, db, "SELECT count(*) FROM catalog.objects WHERE state <> 'collected'")
	}
	kept := files()
	for range 5 {
		time.Sleep(10 * time.Millisecond)
		kept = files()
	}
	c.kill()
	eventually(t, "the reader's files to go", func() bool { return files() < kept })
	if got := answerOf(t, db, "SELECT state || ' ' || death_evidence FROM catalog.sessions"); got != "dead pid_absent" {
		t.Errorf("the session is %s", got)
	}
	if got := answerOf(t, db, "SELECT count(*) FROM tidemark_pins"); got != "0" {
		t.Errorf("%s pins", got)
	}
}

// CAT-AT-19: a pin was committed, and its process died before it opened a file.
func TestReaderDiesBeforeItReads(t *testing.T) {
	path, db := fillProcesses(t)
	c := newChild(t, path+"?mode=ro")
	c.cmd.Env = append(c.cmd.Env, dieEnv+"=1")
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v", err)
	}
	if got := answerOf(t, db, "SELECT session_state || ' ' || (objects > 0) FROM tidemark_pins"); got != "live 1" {
		t.Errorf("before anybody looked: %s", got)
	}
	changeAll(t, db, "second")
	mustExec(t, db, "INSERT INTO tidemark_jobs(kind) VALUES('compact')")
	mustExec(t, db, "INSERT INTO tidemark_jobs(kind) VALUES('gc')")
	if got := answerOf(t, db, "SELECT state || ' ' || death_evidence FROM tidemark_sessions"); got != "dead pid_absent" {
		t.Errorf("the session is %s", got)
	}
	if got := answerOf(t, db, "SELECT (SELECT count(*) FROM tidemark_pins) + (SELECT count(*) FROM catalog.owners WHERE kind = 'reader')"); got != "0" {
		t.Errorf("%s pins and owners", got)
	}
}

// Pins of killed readers go without a job, too: the writer looks for them while there
// are some.
func TestKilledReaderInPassing(t *testing.T) {
	path, db := fillProcesses(t)
	c := startChild(t, path+"?mode=ro")
	mustExec(t, db, "INSERT INTO tidemark_jobs(kind) VALUES('compact')")
	c.kill()
	eventually(t, "the session to end", func() bool { return answerOf(t, db, "SELECT state FROM tidemark_sessions") == "dead" })
}

// A reader goes on when the writer is killed, sees all that was acknowledged, and
// another one that begins then the same.
func TestReaderOfKilledWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	w := startChild(t, path+"?generation_size=8KiB")
	for _, text := range []string{"CREATE TABLE a(id INTEGER PRIMARY KEY, v TEXT)", "CREATE VIRTUAL TABLE k USING tidemark(id INTEGER PRIMARY KEY, v TEXT, resident=keys)"} {
		if got := w.run(text); got != "" {
			t.Fatal(got)
		}
	}
	db := openTest(t, Config{Path: path, Mode: "ro"})
	for n := range 4 {
		for i := range 30 {
			if got := w.run(fmt.Sprintf("INSERT INTO %s VALUES(%d, '%d %s')", []string{"a", "k"}[i%2], 100*n+i, n, strings.Repeat("y", 200))); got != "" {
				t.Fatal(got)
			}
			if i%7 == 0 {
				answerOf(t, db, allRows)
			}
		}
		want := w.run(allRows)
		w.kill()
		eventually(t, "all that was acknowledged", func() bool { return answerOf(t, db, allRows) == want })
		r := startChild(t, path+"?mode=ro")
		if got := r.run(allRows); got != want {
			t.Errorf("a new reader sees\n%s\nwant\n%s", got, want)
		}
		w = startChild(t, path+"?generation_size=8KiB")
		if got := w.run(allRows); got != want {
			t.Errorf("the next writer has\n%s\nwant\n%s", got, want)
		}
		r.end()
	}
	w.end()
}

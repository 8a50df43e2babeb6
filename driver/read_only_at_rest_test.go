//go:build linux

package driver

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// hashes are those of all files below a directory, with their modes and times.
func hashes(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil || e.IsDir() {
			list = append(list, path)
			return err
		}
		b, err := os.ReadFile(path)
		list = append(list, fmt.Sprintf("%s %v %v %x", path, info.Mode(), info.ModTime(), sha256.Sum256(b)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// nobody is a user without rights of its own.
const nobody = 65534

// openWay lets every user come to dir, and makes the command one of a user who cannot
// write there: the superuser writes in spite of all modes.
func openWay(t *testing.T, dir string, cmd *exec.Cmd) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	for at := dir; strings.HasPrefix(at, os.TempDir()) && at != os.TempDir(); at = filepath.Dir(at) {
		if info, err := os.Stat(at); err != nil || os.Chmod(at, info.Mode()|0o011) != nil {
			t.Fatal(err)
		}
	}
	self := filepath.Join(filepath.Dir(dir), "self")
	b, err := os.ReadFile(cmd.Path)
	if err == nil {
		err = os.WriteFile(self, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path = self
	cmd.Dir = filepath.Dir(dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

// unwritable takes the right to write a directory, and all below it, away.
func unwritable(t *testing.T, dir string) (undo func()) {
	t.Helper()
	set := func(mode, file os.FileMode) {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() {
				return os.Chmod(path, mode)
			}
			return os.Chmod(path, file)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	set(0o555, 0o444)
	undo = func() { set(0o755, 0o644) }
	t.Cleanup(undo)
	return undo
}

// A directory that cannot be written is read when it is at rest, and stays as it is to
// the byte. When it is not, the refusal says what to do.
func TestUnwritableDirectory(t *testing.T) {
	path, db := fillProcesses(t)
	mustExec(t, db, "INSERT INTO tidemark_branch_points(name) VALUES('bp')")
	past := answerOf(t, db, allRows)
	changeAll(t, db, "second")
	want := answerOf(t, db, allRows)
	begin := func() (*child, string) {
		t.Helper()
		c := newChild(t, path+"?mode=ro")
		openWay(t, path, c.cmd)
		err := c.cmd.Start()
		if errors.Is(err, os.ErrPermission) {
			t.Skipf("a process cannot be started as another user: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return c, c.answer()
	}

	undo := unwritable(t, path)
	if _, said := begin(); !strings.Contains(said, "has it open for writing") {
		t.Errorf("beside a writer: %s", said)
	}
	undo()
	mustClose(t, db)
	undo = unwritable(t, path)
	before := hashes(t, path)
	c, said := begin()
	if said != "open" {
		t.Fatal(said)
	}
	for query, want := range map[string]string{
		allRows: want,
		"SELECT group_concat(id || ':' || v, ' ') FROM (SELECT id, v FROM a('bp') UNION ALL SELECT id, v FROM k('bp') ORDER BY id)": past,
		"SELECT count(*) FROM tidemark_pins":                          "0",
		"SELECT count(*) FROM catalog.sessions":                       "0",
		"SELECT name FROM tidemark_branch_points":                     "bp",
		"SELECT value FROM tidemark_settings WHERE name = 'mode'":     "ro",
		"SELECT count(*) > 10 FROM tidemark_stats":                    "1",
		"SELECT count(*) > 1 FROM tidemark_generations":               "1",
		"SELECT group_concat(name) FROM tidemark_tables":              "a,k",
		"SELECT count(*) FROM tidemark_jobs WHERE kind = 'compact'":   "0",
		"SELECT count(*) FROM (SELECT v FROM k WHERE v > '' LIMIT 5)": "5",
	} {
		if got := c.run(query); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", query, got, want)
		}
	}
	if got := c.run("DELETE FROM a"); !strings.Contains(got, "attempt to write a readonly database") {
		t.Error(got)
	}
	c.end()
	if after := hashes(t, path); strings.Join(before, "\n") != strings.Join(after, "\n") {
		t.Errorf("files changed:\n%s\nbefore:\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}

	// What the last process left in the log of the catalog is not seen without a lock.
	undo()
	w := startChild(t, path)
	if got := w.run("INSERT INTO a VALUES(99, 'late')"); got != "" {
		t.Fatal(got)
	}
	w.kill()
	undo = unwritable(t, path)
	if _, said := begin(); !strings.Contains(said, "catalog.db-wal") || !strings.Contains(said, "open the store once") {
		t.Errorf("with a log: %s", said)
	}
	undo()
}

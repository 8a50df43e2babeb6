//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// pipeFile makes a named pipe and writes a text into it once it is opened.
func pipeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			_, _ = f.WriteString(text) // a reader that refuses leaves
			_ = f.Close()
		}
	}()
	t.Cleanup(func() {
		// A pipe nobody opened would keep its writer.
		if f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			<-done
			_ = f.Close()
		}
	})
	return path
}

// What can be read only once is imported like a file.
func TestImportOfPipes(t *testing.T) {
	for _, tc := range []struct{ name, text string }{
		{"t.csv", "a,b\n1,x\n2,y\n"},
		{"t.tsv", "a\tb\n1\tx\n2\ty\n"},
		{"t.sql", "CREATE TABLE t(a, b); INSERT INTO t VALUES(1, 'x'), (2, 'y');"},
	} {
		dir := newDir(t)
		must(t, "import", dir, pipeFile(t, tc.name, tc.text))
		if got := must(t, "sql", dir, "SELECT * FROM t"); got != "1|x\n2|y\n" {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
	status, _, stderr := tidemark(t, "", "import", "-format=csv", newDir(t), pipeFile(t, "63", "a,b\n1,2\n"))
	if status != statusRefused || !strings.Contains(stderr, "name a table") {
		t.Errorf("a pipe without a name: status %d, %q", status, stderr)
	}
	dir := newDir(t)
	status, _, stderr = tidemark(t, "", "import", dir, pipeFile(t, "t.db", "SQLite format 3\x00"))
	if status != statusRefused || !strings.Contains(stderr, "regular file") {
		t.Errorf("a .db pipe: status %d, %q", status, stderr)
	}
	if got := shellOutput(t, dir, ".import "+pipeFile(t, "x.csv", "a,b\n1,x\n")+" t\nSELECT * FROM t;\n.read "+pipeFile(t, "x.sql", "SELECT 7;\n")+"\n"); got != "1|x\n7\n" {
		t.Errorf("the shell: %q", got)
	}
}

// A pipe is written to and stays one.
func TestExportToPipe(t *testing.T) {
	dir := newStore(t)
	pipe := filepath.Join(t.TempDir(), "out.csv")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	for _, flags := range [][]string{nil, {"-force"}} {
		read := make(chan string)
		go func() {
			f, err := os.Open(pipe)
			if err != nil {
				t.Error(err)
			}
			b, _ := io.ReadAll(f)
			_ = f.Close()
			read <- string(b)
		}()
		must(t, append(append([]string{"export"}, flags...), dir, pipe, "t")...)
		if got := <-read; got != must(t, "export", dir, "-.csv", "t") {
			t.Errorf("%q", got)
		}
	}
	status, _, stderr := tidemark(t, "", "export", "-force", "-format=db", dir, pipe)
	if info, err := os.Lstat(pipe); status != statusRefused || err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("a .db: status %d, %q, %v", status, stderr, err)
	}
	if status, _, stderr := tidemark(t, "", "export", "-force", "-format=sql", dir, "/dev/null"); status != statusDone {
		t.Errorf("/dev/null: %q", stderr)
	}
}

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The flags of a timeline and of an old state are those of a DSN, and the refusal of a
// DSN names them.
func TestOpenAs(t *testing.T) {
	dir := newStore(t)
	must(t, "sql", dir, "INSERT INTO tidemark_branch_points(name) VALUES('b 1'); DELETE FROM t; INSERT INTO tidemark_timelines(name) VALUES('trial')")
	must(t, "sql", "-timeline", "trial", dir, "INSERT INTO t(a) VALUES('only there')")
	for _, tc := range []struct {
		args   []string
		status int
		out    string
		words  string
	}{
		{[]string{"sql", dir, "SELECT count(*) FROM t"}, statusDone, "0\n", ""},
		{[]string{"sql", "-at", "b 1", dir, "SELECT count(*) FROM t"}, statusDone, "3\n", ""},
		{[]string{"sql", "-timeline=trial", dir, "SELECT a FROM t"}, statusDone, "only there\n", ""},
		{[]string{"export", "-timeline=trial", dir, "-.csv", "t"}, statusDone, "id,a,d\r\n1,\"only there\",\r\n", "1 row"},
		{[]string{"export", "-at=b 1", dir, "-.csv", "t"}, statusDone, "id,a,d\r\n1,x,\"2024-01-01 00:00:00\"\r\n2,,\r\n3,\"z'z\",soon\r\n", "3 rows"},
		{[]string{"sql", "-timeline", "", dir, "SELECT 1"}, statusRefused, "", "the name is empty"},
		{[]string{"sql", "-timeline", "none", dir, "SELECT 1"}, statusRefused, "", "no such timeline: none"},
		{[]string{"sql", "-at", "b", "?", "SELECT 1"}, statusRefused, "", "store in memory"},
		{[]string{"sql", dir + "?timeline=trial&mode=ro", "SELECT 1"}, statusRefused, "", "take -timeline trial -ro " + dir},
		{[]string{"check", dir + "?at=b%201"}, statusRefused, "", "sql, shell, export and inspect take -at 'b 1' " + dir},
	} {
		status, out, stderr := tidemark(t, "", tc.args...)
		if status != tc.status || out != tc.out || !strings.Contains(stderr, tc.words) {
			t.Errorf("%q: status %d, %q, %q", tc.args, status, out, stderr)
		}
	}
}

// A command that is refused because the store is open elsewhere tells how to read it.
func TestOpenElsewhere(t *testing.T) {
	dir := newStore(t)
	other := exec.Command(os.Args[0], "shell", dir)
	other.Env = append(os.Environ(), asCommand+"=1")
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close() // which ends it
		if err := other.Wait(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := io.WriteString(in, "SELECT 'open';\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "open\n" {
		t.Fatalf("%q, %v", line, err)
	}
	for _, args := range [][]string{{"sql", dir, "SELECT 1"}, {"shell", dir}, {"export", dir, "-"}, {"inspect", dir}} {
		status, _, stderr := tidemark(t, "", args...)
		if status != statusRefused || !strings.Contains(stderr, "take -ro") || strings.Contains(stderr, "mode=") {
			t.Errorf("%q: status %d, %q", args, status, stderr)
		}
	}
}

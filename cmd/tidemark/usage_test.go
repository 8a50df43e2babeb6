package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Each command tells its usage.
func TestUsage(t *testing.T) {
	for _, c := range commands {
		for _, flag := range []string{"-h", "-help", "--help"} {
			if out := must(t, c.name, flag); !strings.HasPrefix(out, "usage: tidemark "+c.name) {
				t.Errorf("%s %s prints %q", c.name, flag, out)
			}
		}
		if out := must(t, "help", c.name); !strings.HasPrefix(out, "usage: tidemark "+c.name) {
			t.Errorf("help %s prints %q", c.name, out)
		}
		status, _, stderr := tidemark(t, "", c.name, "-frob")
		if status != statusRefused || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "-frob") {
			t.Errorf("%s -frob: status %d, %q", c.name, status, stderr)
		}
	}
}

// Flags stand anywhere up to a --, and what only looks like one is an argument.
func TestFlagsAnywhere(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"a b", "[a b] false -"},
		{"-force a b", "[a b] true -"},
		{"a -force b", "[a b] true -"},
		{"a b --force", "[a b] true -"},
		{"a b -force=false -name x", "[a b] false x"},
		{"a -name -- b -name=c=d", "[a b] false c=d"},
		{"a -name -force b", "[a b] false -force"},
		{"a -- -force b -h", "[a -force b -h] false -"},
		{"a -- --", "[a --] false -"},
		{"- -.csv -1 -name -", "[- -.csv -1] false -"},
		{"a -frob", "flag provided but not defined: -frob"},
		{"a -name", "flag needs an argument: -name"},
		{"a -force=x", `invalid boolean value "x" for -force: parse error`},
	} {
		flags := newFlags("x")
		force, name := flags.Bool("force", false, ""), flags.String("name", "-", "")
		got := ""
		if err := parseAnywhere(flags, strings.Fields(tc.args)); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(flags.Args(), *force, " ", *name)
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.args, got, tc.want)
		}
	}
	dir, out := newStore(t), filepath.Join(t.TempDir(), "o.db")
	must(t, "export", dir, out)
	must(t, "export", dir, out, "-force")
	if got := must(t, "sql", dir, "-- a comment\nSELECT 1 AS one", "-header"); got != "one\n1\n" {
		t.Errorf("%q", got)
	}
	for _, c := range commands {
		if out := must(t, c.name, "x", "-h"); !strings.HasPrefix(out, "usage: tidemark "+c.name) {
			t.Errorf("%s x -h prints %q", c.name, out)
		}
		status, _, stderr := tidemark(t, "", c.name, "x", "-frob")
		if status != statusRefused || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "-frob") {
			t.Errorf("%s x -frob: status %d, %q", c.name, status, stderr)
		}
	}
}

// What the driver refuses by name is a refusal, whatever its code.
func TestRefusedStatements(t *testing.T) {
	dir := newStore(t)
	for _, statement := range []string{
		"ATTACH '" + dir + "-x.db' AS x; CREATE TABLE x.y(b); BEGIN; INSERT INTO t(a) VALUES('q'); INSERT INTO x.y VALUES(1)",
		"CREATE VIRTUAL TABLE q USING tidemark(a, bogus=true)",
		"CREATE VIRTUAL TABLE q USING tidemark(a, durable=bogus)",
		"CREATE VIRTUAL TABLE q USING fts5(a)",
	} {
		status, _, stderr := tidemark(t, "", "sql", dir, statement)
		if status != statusRefused || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, %q", statement, status, stderr)
		}
	}
}

// A command that a signal ended says that and no more.
func TestInterruptedCommands(t *testing.T) {
	dir := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	script := writeFile(t, "x.sql", "CREATE TABLE x(a);")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"sql", dir, "SELECT 1"}, "tidemark: interrupted\n"},
		{[]string{"check", dir}, "tidemark: interrupted\n"},
		{[]string{"inspect", dir}, "tidemark: interrupted\n"},
		{[]string{"export", dir, "-"}, "tidemark: interrupted\n"},
		{[]string{"shell", dir}, "tidemark: interrupted\n"},
		{[]string{"slt", "-driver=sqlite", writeFile(t, "x.test", "query I nosort\nSELECT 1\n----\n1\n")}, "tidemark: interrupted\n"},
		{[]string{"import", dir, script}, "tidemark: interrupted; nothing was imported\n"},
		{[]string{"import", newDir(t), script}, "tidemark: interrupted; nothing was imported\n"},
	} {
		var out, stderr strings.Builder
		status := run(ctx, tc.args, streams{strings.NewReader("SELECT 1;\n"), &out, &stderr})
		if out.String() != "" || status != statusFailed || stderr.String() != tc.want {
			t.Errorf("%q: status %d, %q", tc.args, status, stderr.String())
		}
	}
	if err := withStore(t.Context(), dir, "rw", func(*sql.DB) error { return nil }); err != nil {
		t.Error(err)
	}
}

// An interrupt at the prompt drops the statement that was begun.
func TestShellDropsStatement(t *testing.T) {
	interrupts := make(chan os.Signal, 1)
	source := chanLines{make(chan bool), make(chan string)}
	e := &endingLines{ctx: t.Context(), source: source, interrupts: interrupts, interrupted: func() {}}
	go func() {
		<-source.asked
		source.lines <- "SELECT 1,"
	}()
	if line, err := e.readLine(""); line != "SELECT 1," || err != nil {
		t.Fatal(line, err)
	}
	go func() {
		<-source.asked
		interrupts <- syscall.SIGINT
	}()
	if _, err := e.readLine(""); err != errInterrupted {
		t.Fatal(err)
	}
	interrupts <- syscall.SIGINT // of a statement that is over
	go func() { source.lines <- "SELECT 2;" }()
	if line, err := e.readLine(""); line != "SELECT 2;" || err != nil {
		t.Fatal(line, err)
	}
}

type chanLines struct {
	asked chan bool
	lines chan string
}

func (c chanLines) readLine(string) (string, error) {
	c.asked <- true
	return <-c.lines, nil
}

// A session that was interrupted once and failed later tells of the failure.
func TestReportOfSession(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for err, want := range map[error]string{
		&sessionError{errors.New("no space")}: "tidemark: no space\n",
		errors.New("no space"):                "tidemark: interrupted\n",
	} {
		var stderr strings.Builder
		if status := report(ctx, err, streams{err: &stderr}); status != statusFailed || stderr.String() != want {
			t.Errorf("status %d, %q, want %q", status, stderr.String(), want)
		}
	}
}

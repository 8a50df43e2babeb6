package vfs

import (
	"errors"
	"flag"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

// TestTraceGolden compares the trace of a program with the committed one, on
// disk and in memory.
func TestTraceGolden(t *testing.T) {
	run := func(inner FS) string {
		tr := NewTrace(inner)
		ok(t, program(tr))
		// And what goes wrong.
		_, err := tr.Open("none")
		wantErr(t, err, os.ErrNotExist)
		_, err = tr.Create("b")
		wantErr(t, err, os.ErrExist)
		_, err = tr.Stat("../x")
		wantErr(t, err, os.ErrInvalid)
		l, err := tr.Lock("LOCK")
		ok(t, err)
		_, err = tr.Lock("LOCK")
		wantErr(t, err, ErrLocked)
		ok(t, l.Close())
		f, err := tr.OpenRead("b")
		ok(t, err)
		_, err = f.ReadAt(make([]byte, 4), 100)
		wantErr(t, err, io.EOF)
		ok(t, f.Close())
		wantErr(t, f.Sync(), os.ErrClosed)
		put(t, tr, "d/x", "")
		if tr.Remove("d") == nil {
			t.Fatal("removed a directory that is not empty")
		}
		return tr.String()
	}
	const golden = "testdata/trace.golden"
	got := run(NewMem())
	if *update {
		ok(t, os.MkdirAll("testdata", 0o755))
		ok(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	ok(t, err)
	if got != string(want) {
		t.Errorf("trace\n%swant\n%s", got, want)
	}
	if runtime.GOOS != "windows" { // ENOTEMPTY has another number there
		if disk := run(OS(t.TempDir())); disk != string(want) {
			t.Errorf("trace on disk\n%swant\n%s", disk, want)
		}
	}
}

// TestTraceKinds checks the filter, Take, and errors without a text of ours.
func TestTraceKinds(t *testing.T) {
	f := NewFault(NewMem())
	tr := NewTrace(f, OpWrite, SyncOps)
	file := create(t, tr, "a", "abc")
	f.Fail(Rule{Kinds: OpSync, Err: errors.New("the disk is tired")})
	f.Fail(Rule{Kinds: OpSyncData})
	f.SetSpace(0)
	if file.Sync() == nil || file.SyncData() == nil {
		t.Fatal("no error")
	}
	if _, err := file.WriteAt([]byte("x"), 3); err == nil {
		t.Fatal("no error")
	}
	ok(t, file.Close())
	want := "write a off=0 len=3\nsync a = the disk is tired\nsyncdata a = input/output error\nwrite a off=3 len=1 = no space\n"
	if tr.String() != want {
		t.Errorf("trace\n%swant\n%s", tr, want)
	}
	if got := strings.Join(tr.Take(), "\n") + "\n"; got != want {
		t.Errorf("taken\n%s", got)
	}
	if len(tr.Lines()) != 0 || tr.String() != "" {
		t.Errorf("left after Take: %q", tr.Lines())
	}
	if got := (OpRead | OpSync).String(); got != "read|sync" {
		t.Errorf("a set of kinds reads %q", got)
	}
}

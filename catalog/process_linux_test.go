package catalog

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary be the other process.
func TestMain(m *testing.M) {
	if os.Getenv("CATALOG_TEST_IDLE") != "" {
		os.Stdout.WriteString("idle\n")
		bufio.NewReader(os.Stdin).ReadByte() // until the pipe closes
		return
	}
	if dir := os.Getenv("CATALOG_TEST_PINNER"); dir != "" {
		if err := pinner(dir); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// idle starts a process that does nothing.
func idle(t *testing.T) (*exec.Cmd, Process) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "CATALOG_TEST_IDLE=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	p, err := ThisProcess()
	if err != nil {
		t.Fatal(err)
	}
	there, exited, found, err := processAt(int64(cmd.Process.Pid))
	if err != nil || !found || exited {
		t.Fatal(there, exited, found, err)
	}
	p.PID, p.StartTicks = there.PID, there.StartTicks
	return cmd, p
}

// TestProbe asks about processes of this machine: this one, one that is stopped,
// one that was killed, before and after somebody waited for it.
func TestProbe(t *testing.T) {
	self, err := ThisProcess()
	if err != nil {
		t.Fatal(err)
	}
	if len(self.BootID) != 36 || self.PID != int64(os.Getpid()) || self.PIDNamespace == 0 || self.StartTicks == 0 {
		t.Errorf("%+v", self)
	}
	check := func(what string, p Process, alive bool, evidence string, certain bool) {
		t.Helper()
		if a, e, c := Probe(p); a != alive || e != evidence || c != certain {
			t.Errorf("%s: alive %v, evidence %q, certain %v", what, a, e, c)
		}
	}
	check("this process", self, true, "", true)
	cmd, p := idle(t)
	check("another process", p, true, "", true)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	check("stopped", p, true, "", true)
	later := p
	later.StartTicks--
	check("another start", later, false, EvidenceStart, true)
	elsewhere := p
	elsewhere.PIDNamespace++
	check("another namespace", elsewhere, false, "", false)
	before := elsewhere
	before.BootID = "00000000-0000-4000-8000-000000000000"
	check("another boot", before, false, EvidenceBoot, true)

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The state is there once the pipe has ended, and a wait that leaves it so returned.
	if err := waitExited(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	check("killed", p, false, EvidenceExit, true)
	if err := cmd.Wait(); err == nil {
		t.Error("killed without a sign")
	}
	check("gone", p, false, EvidenceGone, true)
}

// TestReapOfProcesses reaps the session of a process that was stopped for longer
// than its heartbeat lasts, and then killed before it opened a file.
func TestReapOfProcesses(t *testing.T) {
	ctx := t.Context()
	c, l, _, _ := pinned(t)
	cmd, p := idle(t)
	session, err := c.OpenSession(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	pin, err := c.Pin(ctx, session.ID, l.stateNow().Timeline.RepresentationID, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.publish(l.rotate()...)
	l.publishBase(l.stateNow().Timeline, l.compact(3, 1))
	edit(t, c.options.Dir, `UPDATE sessions SET observed_heartbeat = '1970-01-01T00:00:00Z', revision = revision + 1`)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if dead, err := c.Reap(ctx, nil); err != nil || len(dead) != 1 || dead[0].Evidence != EvidenceBoot {
			// someProcess is of another boot; it dies the first time.
			if err != nil || len(dead) != 0 {
				t.Fatalf("%+v, %v", dead, err)
			}
		}
		collectAll(t, c)
		if _, err := c.HistoryOf(ctx, pin.RepresentationID); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("killed without a sign")
	}
	if dead, err := c.Reap(ctx, nil); err != nil || len(dead) != 1 || dead[0].ID != session.ID || dead[0].Evidence != EvidenceGone {
		t.Errorf("%+v, %v", dead, err)
	}
	if n := collectAll(t, c); n != 1 {
		t.Errorf("%d collected", n)
	}
	if list, err := c.Pins(ctx); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestParseStat(t *testing.T) {
	const text = "42 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21\n"
	if s, err := parseStat(text); err != nil || s != (stat{42, "S", 4711}) {
		t.Errorf("%+v, %v", s, err)
	}
	for _, text := range []string{"", "42 (a) S 1 2", "x (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711", "42 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x"} {
		if s, err := parseStat(text); err == nil {
			t.Errorf("%q: %+v", text, s)
		}
	}
}

// waitExited waits for the end of a child and leaves it to be waited for.
func waitExited(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

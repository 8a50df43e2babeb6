package catalog

import (
	"errors"
	"fmt"
	"testing"
)

// someProcess is a process that no test asks the system about.
var someProcess = Process{BootID: "00000000-0000-4000-8000-000000000001", PID: 7, PIDNamespace: 8, StartTicks: 9}

// pinned is a store with a superseded representation that a session has pinned.
func pinned(t *testing.T) (c *Catalog, l *log, s Session, p Pin) {
	t.Helper()
	ctx := t.Context()
	c, _ = newStore(t, Creation{})
	l = newLog(t, c)
	head := l.publish(l.rotate()...).Head
	s, err := c.OpenSession(ctx, someProcess)
	if err != nil {
		t.Fatal(err)
	}
	now := l.stateNow()
	open := now.Generations[len(now.Generations)-1].ObjectID
	if p, err = c.Pin(ctx, s.ID, head.RepresentationID, []int64{open, open}); err != nil {
		t.Fatal(err)
	}
	if len(p.Objects) != 1 || p.SessionID != s.ID || p.RepresentationID != head.RepresentationID {
		t.Fatalf("%+v", p)
	}
	l.publish(l.rotate()...)
	l.publishBase(l.stateNow().Timeline, l.compact(2, 1))
	return c, l, s, p
}

// TestPin: what a reader pinned stays while the writer goes on, and leaves with the pin.
func TestPin(t *testing.T) {
	ctx := t.Context()
	for _, how := range []string{"unpin", "close"} {
		c, _, s, p := pinned(t)
		if n := collectAll(t, c); n != 0 {
			t.Errorf("%d collected under the pin", n)
		}
		if h, err := c.HistoryOf(ctx, p.RepresentationID); err != nil || len(h.Generations) != 1 {
			t.Errorf("%+v, %v", h, err)
		}
		list, err := c.Pins(ctx)
		if err != nil || len(list) != 1 || fmt.Sprint(list[0]) != fmt.Sprint(p) {
			t.Errorf("%+v, %v", list, err)
		}
		if how == "unpin" {
			err = c.Unpin(ctx, p.OwnerID)
		} else {
			err = c.CloseSession(ctx, s.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		if list, err := c.Pins(ctx); err != nil || len(list) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		if n := collectAll(t, c); n != 2 {
			t.Errorf("%d collected after %s", n, how)
		}
		if n := one64(t, c, `SELECT count(*) FROM owners WHERE kind = 'reader'`); n != 0 {
			t.Errorf("%d owners are left", n)
		}
		if err := c.Unpin(ctx, p.OwnerID); !errors.Is(err, ErrNotFound) {
			t.Errorf("unpin again: %v", err)
		}
		if err := c.CloseSession(ctx, s.ID); err != nil {
			t.Errorf("close again: %v", err)
		}
		if list, err := c.Sessions(ctx); err != nil || len(list) != 1 || list[0].State != SessionClosed || list[0].EndedAt == "" || list[0].Process != someProcess {
			t.Errorf("%+v, %v", list, err)
		}
		_, err = c.Pin(ctx, s.ID, p.RepresentationID, nil)
		wantCode(t, err, CodeSession)
	}
}

// TestPinRefusals: a pin of what is on its way out, or damaged, is none.
func TestPinRefusals(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{})
	session, err := c.OpenSession(ctx, someProcess)
	if err != nil {
		t.Fatal(err)
	}
	rep := s.Timeline.RepresentationID
	for what, pin := range map[string]func() error{
		"session":        func() error { _, err := c.Pin(ctx, session.ID+1000, rep, nil); return err },
		"representation": func() error { _, err := c.Pin(ctx, session.ID, rep+1000, nil); return err },
		"owner":          func() error { return c.Unpin(ctx, s.Timeline.OwnerID) },
		"closed":         func() error { return c.CloseSession(ctx, 4711) },
	} {
		if err := pin(); !errors.Is(err, ErrNotFound) {
			t.Errorf("unknown %s: %v", what, err)
		}
	}
	_, err = c.Pin(ctx, session.ID, rep, []int64{1 << 40})
	wantCode(t, err, CodeForeignKey)
	if _, err := c.OpenSession(ctx, Process{BootID: "x", PID: 1}); !errors.Is(err, CodeCheck) {
		t.Errorf("no boot id: %v", err)
	}
	if list, err := c.Pins(ctx); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestPinFrozen: while outcomes are being established, readers come and none goes.
func TestPinFrozen(t *testing.T) {
	ctx := t.Context()
	c, l, s, p := pinned(t)
	db := shell(t, c.options.Dir)
	if _, err := db.ExecContext(ctx, freeze); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Pin(ctx, s.ID, l.stateNow().Timeline.RepresentationID, nil); err != nil {
		t.Errorf("pin: %v", err)
	}
	if _, err := c.HistoryOf(ctx, p.RepresentationID); err != nil {
		t.Errorf("read: %v", err)
	}
	wantCode(t, c.Unpin(ctx, p.OwnerID), CodeRetire)
	wantCode(t, c.CloseSession(ctx, s.ID), CodeRetire)
	_, err := c.Claim(ctx, []int64{p.Objects[0]})
	wantCode(t, err, CodeGC)
	// A death is recorded, and the pins wait.
	gone := func(Process) (bool, string, bool) { return false, EvidenceGone, true }
	if dead, err := c.Reap(ctx, gone); err != nil || len(dead) != 1 || dead[0].Evidence != EvidenceGone {
		t.Errorf("%+v, %v", dead, err)
	}
	if list, err := c.Pins(ctx); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := db.ExecContext(ctx, `UPDATE storage_domain SET state = 'normal', reason = NULL, revision = revision + 1`); err != nil {
		t.Fatal(err)
	}
	if dead, err := c.Reap(ctx, gone); err != nil || len(dead) != 0 {
		t.Errorf("died again: %+v, %v", dead, err)
	}
	if list, err := c.Pins(ctx); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestReap ends a session only by proof, whatever its heartbeat says.
func TestReap(t *testing.T) {
	ctx := t.Context()
	for _, x := range []struct {
		name     string
		self     Process
		at       func(pid int64) (Process, bool, bool, error)
		state    string
		evidence string
	}{
		{"lives", someProcess, func(int64) (Process, bool, bool, error) { return someProcess, false, true, nil }, SessionLive, ""},
		{"absent", someProcess, func(int64) (Process, bool, bool, error) { return Process{}, false, false, nil }, SessionDead, EvidenceGone},
		{"pid reused", someProcess, func(int64) (Process, bool, bool, error) { return Process{PID: 7, StartTicks: 10}, false, true, nil }, SessionDead, EvidenceStart},
		{"exited", someProcess, func(int64) (Process, bool, bool, error) { return someProcess, true, true, nil }, SessionDead, EvidenceExit},
		{"booted", Process{BootID: "00000000-0000-4000-8000-000000000002", PIDNamespace: 8}, nil, SessionDead, EvidenceBoot},
		{"other namespace", Process{BootID: someProcess.BootID, PIDNamespace: 9}, nil, SessionUncertain, ""},
		{"unreadable", someProcess, func(int64) (Process, bool, bool, error) { return Process{}, false, false, errors.New("no") }, SessionUncertain, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, _, s, p := pinned(t)
			edit(t, c.options.Dir, `UPDATE sessions SET observed_heartbeat = '1970-01-01T00:00:00Z', revision = revision + 1`)
			dead, err := c.Reap(ctx, func(q Process) (bool, string, bool) { return judge(q, x.self, x.at) })
			if err != nil || (len(dead) == 1) != (x.state == SessionDead) {
				t.Fatalf("%+v, %v", dead, err)
			}
			if len(dead) == 1 && (dead[0].ID != s.ID || dead[0].Evidence != x.evidence || dead[0].EndedAt == "" || dead[0].Process != someProcess) {
				t.Errorf("%+v", dead[0])
			}
			list, err := c.Sessions(ctx)
			if err != nil || len(list) != 1 || list[0].State != x.state || list[0].Evidence != x.evidence || list[0].Heartbeat == "" {
				t.Errorf("%+v, %v", list, err)
			}
			want := 0
			if x.state == SessionDead {
				want = 2
			}
			if n := collectAll(t, c); n != want {
				t.Errorf("%d collected", n)
			}
			// Whoever is uncertain and acts lives.
			_, err = c.Pin(ctx, s.ID, c.mustState(t).Timeline.RepresentationID, nil)
			if x.state == SessionDead {
				wantCode(t, err, CodeSession)
				if err := c.Unpin(ctx, p.OwnerID); !errors.Is(err, ErrNotFound) {
					t.Errorf("the pin is there: %v", err)
				}
				return
			}
			if err != nil {
				t.Error(err)
			}
			if list, err := c.Sessions(ctx); err != nil || list[0].State != SessionLive {
				t.Errorf("%+v, %v", list, err)
			}
		})
	}
}

// mustState is the state of the main timeline.
func (c *Catalog) mustState(t *testing.T) State {
	t.Helper()
	s, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReapUncertainAgain: later evidence decides, and a session that changed while
// it was looked at is left alone.
func TestReapUncertainAgain(t *testing.T) {
	ctx := t.Context()
	c, _, s, _ := pinned(t)
	state := func() string {
		list, err := c.Sessions(ctx)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0].State
	}
	for _, x := range []struct {
		alive, certain bool
		want           string
	}{{false, false, SessionUncertain}, {false, false, SessionUncertain}, {true, true, SessionLive}, {false, false, SessionUncertain}} {
		if _, err := c.Reap(ctx, func(Process) (bool, string, bool) { return x.alive, "", x.certain }); err != nil || state() != x.want {
			t.Errorf("%+v: %s, %v", x, state(), err)
		}
	}
	dead, err := c.Reap(ctx, func(Process) (bool, string, bool) {
		if _, err := c.Pin(ctx, s.ID, c.mustState(t).Timeline.RepresentationID, nil); err != nil {
			t.Error(err)
		}
		return false, EvidenceGone, true
	})
	if err != nil || len(dead) != 0 || state() != SessionLive {
		t.Errorf("%+v, %s, %v", dead, state(), err)
	}
	if dead, err := c.Reap(ctx, func(Process) (bool, string, bool) { return false, EvidenceGone, true }); err != nil || len(dead) != 1 {
		t.Errorf("%+v, %v", dead, err)
	}
	if list, err := c.Pins(ctx); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestReapWritesNothing without a session, or for one that lives.
func TestReapWritesNothing(t *testing.T) {
	ctx := t.Context()
	watch := &seamAt{}
	c := openStore(t, Options{Dir: makeStore(t, Options{}), Fault: watch.seam()})
	self, err := ThisProcess()
	if err != nil {
		t.Skip(err)
	}
	if _, err := c.OpenSession(ctx, self); err != nil {
		t.Fatal(err)
	}
	n := len(watch.seen)
	if dead, err := c.Reap(ctx, nil); err != nil || len(dead) != 0 || len(watch.seen) != n {
		t.Errorf("%+v, %v, commits %v", dead, err, watch.seen[n:])
	}
}

// TestSessionsAreNotKeptForEver and pins neither.
func TestSessionsAreNotKeptForEver(t *testing.T) {
	ctx := t.Context()
	c, st := newStore(t, Creation{})
	for range keptSessions + 20 {
		s, err := c.OpenSession(ctx, someProcess)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Pin(ctx, s.ID, st.Timeline.RepresentationID, nil); err != nil {
			t.Fatal(err)
		}
		if err := c.CloseSession(ctx, s.ID); err != nil {
			t.Fatal(err)
		}
	}
	if n := one64(t, c, `SELECT count(*) FROM sessions`); n > keptSessions+1 || n < keptSessions {
		t.Errorf("%d sessions", n)
	}
}

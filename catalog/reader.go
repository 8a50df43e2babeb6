package catalog

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// readersOps are the transactions of a handle that reads and pins.
var readersOps = map[string]bool{
	"open-session": true, "close-session": true, "pin": true, "unpin": true, "acquire": true, "acquire-branch": true,
}

// Reading is what a process reads that does not write: the state of a timeline with
// the pin that keeps its files.
type Reading struct {
	Session Session
	Pin     Pin
	State   State
}

// heartbeatEvery is how old the heartbeat of a session gets before the next pin
// renews it. It is for a person to read; nothing depends on it.
const heartbeatEvery = 5 * time.Second

// Acquire retains the present state of a timeline for a session, which it opens for
// p when sessionID is 0. In one BEGIN IMMEDIATE it reads the head and the log behind
// it and roots both: the representation, and the object of every generation that it
// does not contain, those included that are written to or have no file yet. What it
// returns are exactly the files that may be read.
//
// An unknown timeline or session is an [ErrNotFound], a session that is over a
// CodeSession, and files on their way out an [ErrNotAcquirable].
func (c *Catalog) Acquire(ctx context.Context, sessionID int64, p Process, timeline string) (Reading, error) {
	var r Reading
	err := c.write(ctx, "acquire", func(ctx context.Context, tx *writeTx) (err error) {
		r = Reading{}
		if r.Session, err = c.enter(ctx, tx, sessionID, p); err != nil {
			return err
		}
		if r.State, err = readState(ctx, tx, timeline); err != nil {
			return err
		}
		r.Pin = Pin{SessionID: r.Session.ID, RepresentationID: r.State.Timeline.RepresentationID, Objects: r.State.behindHead()}
		return r.Pin.insert(ctx, tx)
	})
	if err != nil {
		return Reading{}, err
	}
	return r, nil
}

// AcquireBranchPoint retains the state of a branch point for a session, as Acquire
// does. An unknown one is an [ErrNotFound].
func (c *Catalog) AcquireBranchPoint(ctx context.Context, sessionID int64, name string) (BranchPoint, Pin, error) {
	var b BranchPoint
	var pin Pin
	err := c.write(ctx, "acquire-branch", func(ctx context.Context, tx *writeTx) error {
		s, err := c.enter(ctx, tx, sessionID, Process{})
		if err != nil {
			return err
		}
		row, err := readBranchPoint(ctx, tx, name, c.identity())
		if err != nil {
			return err
		}
		b = row.branchPoint()
		pin = Pin{SessionID: s.ID, RepresentationID: b.RepresentationID}
		return pin.insert(ctx, tx)
	})
	if err != nil {
		return BranchPoint{}, Pin{}, err
	}
	return b, pin, nil
}

// enter returns the session that a transaction acts for, opening one for p when id
// is 0. Whoever acts in a session lives.
func (c *Catalog) enter(ctx context.Context, tx *writeTx, id int64, p Process) (Session, error) {
	now := c.options.Now()
	if id == 0 {
		s := Session{Process: p, State: SessionLive, StartedAt: timestamp(now)}
		if err := s.insert(ctx, tx); err != nil {
			return Session{}, err
		}
		return s, prune(ctx, tx, []byte("open-session"), func() error { return pruneSessions(ctx, tx) })
	}
	s, err := getSession(ctx, tx, id)
	if err != nil {
		return Session{}, err
	}
	if s.over() {
		return Session{}, refuse(CodeSession, "", "session %d is %s", id, s.State)
	}
	seen, err := time.Parse(time.RFC3339Nano, s.Heartbeat)
	if err != nil { // there was none yet
		seen, _ = time.Parse(time.RFC3339Nano, s.StartedAt)
	}
	if age := now.Sub(seen); s.State == SessionLive && age >= 0 && age < heartbeatEvery {
		return *s, nil
	}
	s.Heartbeat = timestamp(now)
	result, err := tx.ExecContext(ctx, `UPDATE sessions SET state = 'live', observed_heartbeat = ?, revision = revision + 1 WHERE session_id = ? AND revision = ?`,
		s.Heartbeat, s.ID, s.revision)
	if err := expectOneRow(result, err); err != nil {
		return Session{}, fmt.Errorf("sessions: %w", err)
	}
	s.State, s.revision = SessionLive, s.revision+1
	return *s, nil
}

// behindHead lists the objects of the generations behind the head, by id.
func (s *State) behindHead() []int64 {
	var list []int64
	for i := range s.Generations {
		if g := &s.Generations[i]; !g.InHead && s.Replayed(g) {
			list = append(list, g.ObjectID)
		}
	}
	slices.Sort(list)
	return list
}

// Replayed reports whether a generation of the timeline's shards is part of its state:
// the head contains it, or it is behind the head.
func (s *State) Replayed(g *Generation) bool {
	if g.State == GenerationCollected || g.InHead {
		return g.State != GenerationCollected
	}
	for i := range s.Shards {
		if s.Shards[i].ID == g.ShardID {
			return g.Generation >= s.Shards[i].ReplayFrom
		}
	}
	return false
}

package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// Session is a process that may hold pins. Times are RFC 3339 in UTC with
// nanoseconds, "" when there is none.
type Session struct {
	ID        int64
	Process   Process
	State     string // live, uncertain, closed or dead
	Evidence  string // of a dead one
	Heartbeat string // for a person to read; nothing depends on it
	StartedAt string
	EndedAt   string

	revision int64
}

// States of a session. Closed and dead ones are over and hold no pin, but for
// those of dead ones while the storage domain is reconciling.
const (
	SessionLive      = "live"
	SessionUncertain = "uncertain" // nobody who looked could tell
	SessionClosed    = "closed"
	SessionDead      = "dead"
)

// keptSessions is how many sessions that are over stay for a person to read.
const keptSessions = 100

type sessionRow struct {
	ID           int64  `db:"session_id"`
	BootID       string `db:"boot_id"`
	PID          int64  `db:"pid"`
	PIDNamespace int64  `db:"pid_namespace"`
	StartTicks   int64  `db:"start_ticks"`
	State        string `db:"state"`
	Evidence     string `db:"death_evidence"`
	Heartbeat    string `db:"observed_heartbeat"`
	StartedAt    string `db:"started_at"`
	EndedAt      string `db:"ended_at"`
	Revision     int64  `db:"revision"`
}

const sessionQuery = `SELECT session_id, boot_id, pid, pid_namespace, start_ticks, state, coalesce(death_evidence, '') AS death_evidence,
	coalesce(observed_heartbeat, '') AS observed_heartbeat, started_at, coalesce(ended_at, '') AS ended_at, revision FROM sessions`

func (r *sessionRow) session() Session {
	return Session{ID: r.ID, Process: Process{BootID: r.BootID, PID: r.PID, PIDNamespace: r.PIDNamespace, StartTicks: r.StartTicks}, State: r.State,
		Evidence: r.Evidence, Heartbeat: r.Heartbeat, StartedAt: r.StartedAt, EndedAt: r.EndedAt, revision: r.Revision}
}

// over tells whether a session is closed or dead.
func (s *Session) over() bool { return s.State == SessionClosed || s.State == SessionDead }

// OpenSession records a process that is going to pin. Its id is never used again.
func (c *Catalog) OpenSession(ctx context.Context, p Process) (Session, error) {
	s := Session{Process: p, State: SessionLive, StartedAt: timestamp(c.options.Now())}
	err := c.write(ctx, "open-session", func(ctx context.Context, tx *writeTx) error {
		if err := s.insert(ctx, tx); err != nil {
			return err
		}
		return prune(ctx, tx, []byte("open-session"), func() error { return pruneSessions(ctx, tx) })
	})
	if err != nil {
		return Session{}, err
	}
	return s, nil
}

// insert gives a session its id and writes it.
func (s *Session) insert(ctx context.Context, tx *writeTx) (err error) {
	if s.ID, err = tx.newID(ctx); err != nil {
		return err
	}
	p := &s.Process
	if _, err := tx.ExecContext(ctx, `INSERT INTO sessions(session_id, boot_id, pid, pid_namespace, start_ticks, started_at) VALUES (?, ?, ?, ?, ?, ?)`,
		s.ID, p.BootID, p.PID, p.PIDNamespace, p.StartTicks, s.StartedAt); err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	return nil
}

// pruneSessions removes the oldest sessions that are over beyond those kept.
func pruneSessions(ctx context.Context, tx *writeTx) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE session_id IN (
		SELECT s.session_id FROM sessions s WHERE s.state IN ('closed','dead') AND NOT EXISTS (SELECT 1 FROM owners o WHERE o.session_id = s.session_id)
		ORDER BY s.session_id DESC LIMIT ? OFFSET ?)`, pruneLimit, keptSessions)
	return err
}

// CloseSession releases the pins of a session and closes it. One that is over
// stays as it is; an unknown one is an [ErrNotFound].
func (c *Catalog) CloseSession(ctx context.Context, id int64) error {
	return c.write(ctx, "close-session", func(ctx context.Context, tx *writeTx) error {
		s, err := getSession(ctx, tx, id)
		if err != nil {
			return err
		}
		if s.over() {
			return errUnchanged
		}
		if err := releasePins(ctx, tx, id); err != nil {
			return err
		}
		return s.step(ctx, tx, SessionClosed, "", timestamp(c.options.Now()))
	})
}

// getSession returns an [ErrNotFound] when there is no such session.
func getSession(ctx context.Context, tx *writeTx, id int64) (*Session, error) {
	var row sessionRow
	err := tx.GetContext(ctx, &row, sessionQuery+` WHERE session_id = ?`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, refuse(CodeUnknown, "", "no session %d", id)
	}
	if err != nil {
		return nil, err
	}
	s := row.session()
	return &s, nil
}

// step takes a session to another state. at is when it ended, for one that is over.
func (s *Session) step(ctx context.Context, tx *writeTx, state, evidence, at string) error {
	if state != SessionClosed && state != SessionDead {
		at = ""
	}
	result, err := tx.ExecContext(ctx, `UPDATE sessions SET state = ?, death_evidence = nullif(?, ''), ended_at = nullif(?, ''), revision = revision + 1
		WHERE session_id = ? AND revision = ?`, state, evidence, at, s.ID, s.revision)
	if err := expectOneRow(result, err); err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	s.State, s.Evidence, s.EndedAt, s.revision = state, evidence, at, s.revision+1
	return nil
}

// Sessions lists the sessions, by id: all that are not over, and the last of those
// that are.
func (c *Catalog) Sessions(ctx context.Context) ([]Session, error) {
	var list []Session
	err := c.read(ctx, "sessions", func(ctx context.Context, tx *sqlx.Tx) error {
		var rows []sessionRow
		if err := tx.SelectContext(ctx, &rows, sessionQuery+` ORDER BY session_id`); err != nil {
			return err
		}
		for i := range rows {
			list = append(list, rows[i].session())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

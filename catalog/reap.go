package catalog

import (
	"context"
	"errors"

	"github.com/jmoiron/sqlx"
)

// Reap looks at every session that is not over and ends those whose process is
// proven dead, with their pins; it returns them. probe, by default [Probe], says
// whether a process lives, what proves it if not, and whether it can tell: without
// certainty a session is uncertain and keeps its pins, as one that lives does,
// however long it has been silent. A stopped process keeps its pins for ever.
//
// While the storage domain is reconciling pins stay; the next call takes them.
func (c *Catalog) Reap(ctx context.Context, probe func(Process) (alive bool, evidence string, certain bool)) (dead []Session, err error) {
	const op = "reap"
	if probe == nil {
		probe = Probe
	}
	var rows []sessionRow
	err = c.read(ctx, op, func(ctx context.Context, tx *sqlx.Tx) error {
		return tx.SelectContext(ctx, &rows, sessionQuery+` s WHERE state IN ('live','uncertain')
			OR state = 'dead' AND EXISTS (SELECT 1 FROM owners o WHERE o.session_id = s.session_id AND o.state <> 'released') ORDER BY session_id`)
	})
	if err != nil {
		return nil, err
	}
	// Processes are looked at outside of the transaction; the revision tells
	// whether a session changed meanwhile.
	var found []verdict
	for i := range rows {
		if v := judgeSession(rows[i].session(), probe); v.state != v.State || v.State == SessionDead {
			found = append(found, v)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	err = c.write(ctx, op, func(ctx context.Context, tx *writeTx) error {
		dead = nil
		frozen := unfrozen(ctx, tx)
		if frozen != nil && !isFinding(frozen) {
			return frozen
		}
		for _, v := range found {
			if err := v.record(ctx, tx, timestamp(c.options.Now()), frozen == nil); err != nil {
				return err
			}
			if v.state == SessionDead && v.before != SessionDead && v.State == SessionDead {
				dead = append(dead, v.Session)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return dead, nil
}

// verdict is a session with what was found out about it.
type verdict struct {
	Session
	before, state, evidence string
}

func judgeSession(s Session, probe func(Process) (bool, string, bool)) verdict {
	v := verdict{Session: s, before: s.State, state: s.State, evidence: s.Evidence}
	if s.State == SessionDead {
		return v
	}
	alive, evidence, certain := probe(s.Process)
	switch {
	case !certain:
		v.state = SessionUncertain
	case alive:
		v.state = SessionLive
	default:
		v.state, v.evidence = SessionDead, evidence
	}
	return v
}

// record writes a verdict, unless the session changed since it was looked at.
func (v *verdict) record(ctx context.Context, tx *writeTx, at string, release bool) error {
	now, err := getSession(ctx, tx, v.ID)
	if errors.Is(err, ErrNotFound) || err == nil && now.revision != v.revision {
		return nil
	}
	if err != nil {
		return err
	}
	if v.state != v.before {
		if err := v.step(ctx, tx, v.state, v.evidence, at); err != nil {
			return err
		}
	}
	if v.state != SessionDead || !release {
		return nil
	}
	return releasePins(ctx, tx, v.ID)
}

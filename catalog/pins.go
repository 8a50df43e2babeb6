package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"
)

// Pin is what a reader retains: one representation, and files of the log behind
// it. It lasts until it is released or the session's process is proven dead.
type Pin struct {
	OwnerID          int64
	SessionID        int64
	RepresentationID int64   // 0: none
	Objects          []int64 // by id
}

// Pin retains a representation and objects for a session, in one BEGIN IMMEDIATE.
// Only then may files be opened. One of which any object, down to the last
// dependency, is on its way out or in quarantine is refused with a CodeAcquire, an
// [ErrNotAcquirable]: the reader looks for a newer one and tries again. A session
// that is over is refused with a CodeSession, an unknown representation or session
// with an [ErrNotFound].
func (c *Catalog) Pin(ctx context.Context, sessionID, representationID int64, objects []int64) (Pin, error) {
	pin := Pin{SessionID: sessionID, RepresentationID: representationID, Objects: slices.Clone(objects)}
	slices.Sort(pin.Objects)
	pin.Objects = slices.Compact(pin.Objects)
	err := c.write(ctx, "pin", func(ctx context.Context, tx *writeTx) error {
		s, err := getSession(ctx, tx, sessionID)
		if err != nil {
			return err
		}
		switch {
		case s.over():
			return refuse(CodeSession, "", "session %d is %s", sessionID, s.State)
		case s.State == SessionUncertain:
			// Whoever acts in it lives.
			if err := s.step(ctx, tx, SessionLive, "", ""); err != nil {
				return err
			}
		}
		return pin.insert(ctx, tx)
	})
	if err != nil {
		return Pin{}, err
	}
	return pin, nil
}

// insert writes owner and roots. The guards look at everything that they reach.
func (p *Pin) insert(ctx context.Context, tx *writeTx) (err error) {
	var known bool
	if err := tx.GetContext(ctx, &known, `SELECT EXISTS (SELECT 1 FROM representations WHERE representation_id = ?)`, p.RepresentationID); err != nil {
		return err
	}
	if !known {
		return refuse(CodeUnknown, "", "no representation %d", p.RepresentationID)
	}
	if p.OwnerID, err = tx.newID(ctx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO owners(owner_id, kind, session_id) VALUES (?, 'reader', ?)`, p.OwnerID, p.SessionID); err != nil {
		return fmt.Errorf("owners: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO owner_representations(owner_id, representation_id) VALUES (?, ?)`, p.OwnerID, p.RepresentationID); err != nil {
		return fmt.Errorf("owner_representations: %w", err)
	}
	if len(p.Objects) == 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO owner_objects(owner_id, object_id, purpose) SELECT ?, value, 'active' FROM json_each(?)`, p.OwnerID, idText(p.Objects)); err != nil {
		return fmt.Errorf("owner_objects: %w", err)
	}
	return nil
}

// Unpin releases a pin, by its owner. One that is gone is an [ErrNotFound].
func (c *Catalog) Unpin(ctx context.Context, ownerID int64) error {
	return c.write(ctx, "unpin", func(ctx context.Context, tx *writeTx) error {
		var kind string
		err := tx.GetContext(ctx, &kind, `SELECT kind FROM owners WHERE owner_id = ?`, ownerID)
		if errors.Is(err, sql.ErrNoRows) || err == nil && kind != "reader" {
			return refuse(CodeUnknown, "", "no pin of owner %d", ownerID)
		}
		if err != nil {
			return err
		}
		return dissolveOwner(ctx, tx, ownerID, fmt.Appendf(nil, "pin/%d", ownerID))
	})
}

// releasePins releases what a session retains.
func releasePins(ctx context.Context, tx *writeTx, sessionID int64) error {
	var owners []int64
	if err := tx.SelectContext(ctx, &owners, `SELECT owner_id FROM owners WHERE session_id = ? AND state <> 'released' ORDER BY owner_id`, sessionID); err != nil {
		return err
	}
	for _, id := range owners {
		if err := dissolveOwner(ctx, tx, id, fmt.Appendf(nil, "pin/%d", id)); err != nil {
			return err
		}
	}
	return nil
}

// Pins lists what readers retain, by owner.
func (c *Catalog) Pins(ctx context.Context) ([]Pin, error) {
	var list []Pin
	err := c.read(ctx, "pins", func(ctx context.Context, tx *sqlx.Tx) error {
		var rows []struct {
			OwnerID          int64  `db:"owner_id"`
			SessionID        int64  `db:"session_id"`
			RepresentationID int64  `db:"representation_id"`
			Objects          string `db:"objects"`
		}
		if err := tx.SelectContext(ctx, &rows, `
			SELECT o.owner_id, o.session_id, coalesce((SELECT x.representation_id FROM owner_representations x WHERE x.owner_id = o.owner_id), 0) AS representation_id,
				(SELECT json_group_array(object_id) FROM (SELECT object_id FROM owner_objects x WHERE x.owner_id = o.owner_id ORDER BY object_id)) AS objects
			FROM owners o WHERE o.kind = 'reader' AND o.state <> 'released' ORDER BY o.owner_id`); err != nil {
			return err
		}
		for _, r := range rows {
			list = append(list, Pin{r.OwnerID, r.SessionID, r.RepresentationID, parseIDs(r.Objects)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

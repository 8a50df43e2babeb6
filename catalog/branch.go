package catalog

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"
)

// BranchPoint is a name for one exact representation, which it retains.
type BranchPoint struct {
	ID, OwnerID, TimelineID, WorldID, RepresentationID int64

	Name      string
	Timeline  string // name of the timeline it was made on, which may be gone by now
	LSN       int64  // last commit of the world, 0: none
	LiveCount int64  // rows
	CreatedAt string // RFC 3339 in UTC with nanoseconds
}

// maxNameLength of branch points and timelines, in characters.
const maxNameLength = 255

// checkName refuses what cannot name a branch point or a timeline: SQLite counts
// the characters of a text up to the first NUL.
func checkName(what, name string) error {
	switch n := utf8.RuneCountInString(name); {
	case !utf8.ValidString(name):
		return refuse(CodeEncoding, "", "the name of a %s must be UTF-8, %q is not", what, name)
	case n < 1 || n > maxNameLength:
		return refuse(CodeEncoding, "", "the name of a %s has 1 to %d characters, not %d", what, maxNameLength, n)
	case strings.ContainsRune(name, 0):
		return refuse(CodeEncoding, "", "the name of a %s has no NUL, %q has", what, name)
	}
	return nil
}

type branchRow struct {
	BranchID         int64  `db:"branch_id"`
	Name             string `db:"name"`
	OwnerID          int64  `db:"owner_id"`
	TimelineID       int64  `db:"timeline_id"`
	Timeline         string `db:"timeline"`
	WorldID          int64  `db:"world_id"`
	RepresentationID int64  `db:"representation_id"`
	CreatedAt        string `db:"created_at"`
	Digest           []byte `db:"digest"`
	Rooted           bool   `db:"rooted"`
	worldRow
}

// branchQuery keeps branch points whose world or representation is missing: their
// columns are zero then, and the digest tells.
const branchQuery = `
	SELECT b.branch_id, b.name, b.owner_id, b.timeline_id, b.timeline, b.world_id, b.representation_id, b.created_at, b.digest,
	       coalesce(w.lsn, 0) AS lsn, coalesce(w.schema_id, 0) AS schema_id, coalesce(c.schema_version, 0) AS schema_version, coalesce(w.live_count, 0) AS live_count,
	       coalesce(w.composite_fingerprint, x'') AS composite_fingerprint, coalesce(r.index_state_id, 0) AS index_state_id,
	       coalesce(r.layout_version, 0) AS layout_version, coalesce(r.entry_count, 0) AS entry_count, coalesce(r.contribution_sum, x'') AS contribution_sum,
	       EXISTS (SELECT 1 FROM owner_representations o WHERE o.owner_id = b.owner_id AND o.representation_id = b.representation_id) AS rooted
	FROM branch_points b
	LEFT JOIN representations r ON r.representation_id = b.representation_id AND r.world_id = b.world_id
	LEFT JOIN worlds w ON w.world_id = r.world_id
	LEFT JOIN schema_contexts c ON c.schema_id = w.schema_id`

func (r *branchRow) digest(identity [16]byte) [32]byte {
	d := newDigest("branch-point", identity)
	d.int(r.BranchID)
	d.text(r.Name)
	d.int(r.OwnerID)
	d.int(r.TimelineID)
	d.text(r.Timeline)
	d.int(r.WorldID)
	d.int(r.RepresentationID)
	d.text(r.CreatedAt)
	r.worldRow.addTo(d)
	return d.sum()
}

func (r *branchRow) branchPoint() BranchPoint {
	return BranchPoint{ID: r.BranchID, OwnerID: r.OwnerID, TimelineID: r.TimelineID, WorldID: r.WorldID, RepresentationID: r.RepresentationID,
		Name: r.Name, Timeline: r.Timeline, LSN: r.LSN, LiveCount: r.LiveCount, CreatedAt: r.CreatedAt}
}

// verify compares a branch point with its digest and looks for its root.
func (r *branchRow) verify(identity [16]byte) error {
	if err := checkDigest("branch point", r.BranchID, r.Digest, r.digest(identity)); err != nil {
		return err
	}
	if !r.Rooted {
		return refuse(CodeCorrupt, "", "the representation of branch point %q is not rooted by its owner %d", r.Name, r.OwnerID)
	}
	return nil
}

// readBranchPoint returns an [ErrNotFound] when there is none of the name.
func readBranchPoint(ctx context.Context, q sqlx.QueryerContext, name string, identity [16]byte) (*branchRow, error) {
	var rows []branchRow
	if err := sqlx.SelectContext(ctx, q, &rows, branchQuery+` WHERE b.name = ?`, name); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, refuse(CodeUnknown, "", "no branch point %q", name)
	}
	return &rows[0], rows[0].verify(identity)
}

// CreateBranchPoint names the head of a timeline, in one small transaction that
// touches no file. A head that is not the expected one any more (ID, Revision and
// RepresentationID count) is refused with an [ErrConflict], a name that is taken
// with an [ErrExists].
func (c *Catalog) CreateBranchPoint(ctx context.Context, name string, head Timeline) (BranchPoint, error) {
	var created BranchPoint
	err := c.write(ctx, "create-branch-point", func(ctx context.Context, tx *writeTx) error {
		if err := checkName("branch point", name); err != nil {
			return err
		}
		identity := c.identity()
		h, err := expectHead(ctx, tx, head, identity)
		if err != nil {
			return err
		}
		var taken bool
		if err := tx.GetContext(ctx, &taken, `SELECT EXISTS (SELECT 1 FROM branch_points WHERE name = ?)`, name); err != nil {
			return err
		}
		if taken {
			return refuse(CodeExists, "", "there is a branch point %q already", name)
		}
		// One run of ids: branch point, owner.
		first, err := tx.newIDs(ctx, 2)
		if err != nil {
			return err
		}
		row := branchRow{BranchID: first, OwnerID: first + 1, Name: name, TimelineID: h.TimelineID, Timeline: h.Name, WorldID: h.WorldID,
			RepresentationID: h.RepresentationID, CreatedAt: timestamp(c.options.Now()), worldRow: h.worldRow}
		created = row.branchPoint()
		return row.insert(ctx, tx, identity)
	})
	if err != nil {
		return BranchPoint{}, err
	}
	return created, nil
}

// expectHead reads the head of a timeline, which must be the expected one: its ID,
// Revision and RepresentationID count.
func expectHead(ctx context.Context, tx *writeTx, expected Timeline, identity [16]byte) (*headRow, error) {
	h, err := readHead(ctx, tx, expected.ID, identity)
	if err != nil {
		return nil, err
	}
	if conflict := (&Publication{ExpectedRevision: expected.Revision, ExpectedRepresentation: expected.RepresentationID}).conflict(h); conflict != nil {
		return nil, &Error{Code: CodeConflict, Err: conflict}
	}
	return h, nil
}

// insert writes owner, root and row, in the order the guards want them.
func (r *branchRow) insert(ctx context.Context, tx *writeTx, identity [16]byte) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO owners(owner_id, kind) VALUES (?, 'branch_point')`, r.OwnerID); err != nil {
		return fmt.Errorf("owners: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO owner_representations(owner_id, representation_id) VALUES (?, ?)`, r.OwnerID, r.RepresentationID); err != nil {
		return fmt.Errorf("owner_representations: %w", err)
	}
	digest := r.digest(identity)
	if _, err := tx.ExecContext(ctx, `INSERT INTO branch_points(branch_id, name, owner_id, timeline_id, timeline, world_id, representation_id, created_at, digest)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, r.BranchID, r.Name, r.OwnerID, r.TimelineID, r.Timeline, r.WorldID, r.RepresentationID, r.CreatedAt, digest[:]); err != nil {
		return fmt.Errorf("branch_points: %w", err)
	}
	return nil
}

// DeleteBranchPoint removes a branch point and releases its owner, in one
// transaction. The rows of its representation go as well, unless something else
// retains it; files are left to collection. An unknown name is an [ErrNotFound].
func (c *Catalog) DeleteBranchPoint(ctx context.Context, name string) error {
	return c.write(ctx, "delete-branch-point", func(ctx context.Context, tx *writeTx) error {
		row, err := readBranchPoint(ctx, tx, name, c.identity())
		if err != nil {
			return err
		}
		// The row selects the owner, so it goes first.
		if _, err := tx.ExecContext(ctx, `DELETE FROM branch_points WHERE branch_id = ?`, row.BranchID); err != nil {
			return fmt.Errorf("branch_points: %w", err)
		}
		return dissolveOwner(ctx, tx, row.OwnerID, fmt.Appendf(nil, "branch-point/%d", row.BranchID))
	})
}

// dissolveOwner drops the roots of an owner that nothing selects, releases it and
// removes its row and the representations that it was the last one to retain.
func dissolveOwner(ctx context.Context, tx *writeTx, owner int64, operation []byte) error {
	var representations []int64
	if err := tx.SelectContext(ctx, &representations, `SELECT representation_id FROM owner_representations WHERE owner_id = ?`, owner); err != nil {
		return err
	}
	if err := dropAllRoots(ctx, tx, owner); err != nil {
		return err
	}
	if err := releaseOwner(ctx, tx, owner); err != nil {
		return err
	}
	return prune(ctx, tx, operation, func() error {
		for _, id := range representations {
			if err := pruneRepresentation(ctx, tx, id); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM owners WHERE owner_id = ?`, owner)
		return err
	})
}

// BranchPoints lists the branch points, by name. Each has its digest.
func (c *Catalog) BranchPoints(ctx context.Context) ([]BranchPoint, error) {
	var list []BranchPoint
	err := c.read(ctx, "branch-points", func(ctx context.Context, tx *sqlx.Tx) error {
		var rows []branchRow
		if err := tx.SelectContext(ctx, &rows, branchQuery+` ORDER BY b.name`); err != nil {
			return err
		}
		for i := range rows {
			if err := rows[i].verify(c.identity()); err != nil {
				return err
			}
			list = append(list, rows[i].branchPoint())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// BranchPoint reads one branch point. An unknown name is an [ErrNotFound].
func (c *Catalog) BranchPoint(ctx context.Context, name string) (BranchPoint, error) {
	var found BranchPoint
	err := c.read(ctx, "branch-point", func(ctx context.Context, tx *sqlx.Tx) error {
		row, err := readBranchPoint(ctx, tx, name, c.identity())
		if err != nil {
			return err
		}
		found = row.branchPoint()
		return nil
	})
	if err != nil {
		return BranchPoint{}, err
	}
	return found, nil
}

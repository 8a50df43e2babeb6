package catalog

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jmoiron/sqlx"
)

// Info says what kind of catalog is open.
type Info struct {
	Identity      [16]byte // zero until the store is initialised
	Policy        Policy
	Version       int64 // catalog version, equal to user_version
	Initialized   bool
	Created       bool   // this handle finished the creation
	SQLiteVersion string // of the linked library
}

// infoRow is the one row of catalog_info.
type infoRow struct {
	Identity       []byte `db:"catalog_identity"`
	CreatedAt      string `db:"created_at"`
	Policy         []byte `db:"policy"`
	Unit           string `db:"policy_unit"`
	GroupSize      int64  `db:"policy_group_size"`
	BlockSize      int64  `db:"policy_block_size"`
	ValueLayout    string `db:"policy_value_layout"`
	Interpretation int64  `db:"policy_interpretation"`
	Algebra        string `db:"algebra"`
	Shards         int64  `db:"shards"`
	IndexCatchup   string `db:"index_catchup"`
	GenerationSize int64  `db:"generation_size"`
}

// readInfo returns nil while the store's creation is unfinished.
func readInfo(ctx context.Context, q sqlx.QueryerContext) (*infoRow, error) {
	var row infoRow
	err := sqlx.GetContext(ctx, q, &row, `
		SELECT catalog_identity, created_at, policy, policy_unit, policy_group_size, policy_block_size, policy_value_layout,
		       policy_interpretation, algebra, shards, index_catchup, generation_size
		FROM catalog_info`)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &row, nil
}

func (i *infoRow) identity() (id [16]byte) {
	copy(id[:], i.Identity)
	return id
}

// checkPolicy compares the stored policy, its exact bytes and its columns, with
// the program's. Changing it means a new catalog.
func (i *infoRow) checkPolicy(want Policy) error {
	columns := Policy{Unit: i.Unit, GroupSize: i.GroupSize, BlockSize: i.BlockSize, ValueLayout: i.ValueLayout, Interpretation: i.Interpretation}
	if string(i.Policy) != want.String() || columns != want {
		return refuse(CodePolicy, "open", "the store has policy %q (columns %q), this program needs %q", i.Policy, columns, want)
	}
	if i.Algebra != algebra {
		return refuse(CodePolicy, "open", "the store adds fingerprints by %q, this program by %q", i.Algebra, algebra)
	}
	return nil
}

package driver

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// branchPointsTable lists branch points, makes one for a row inserted and removes
// one for a row deleted.
const branchPointsTable = "tidemark_branch_points"

const branchPointColumns = "name TEXT, timeline TEXT, world_id INT, representation_id INT, created_at DATETIME, lsn INT"

// branchPointRows are the rows of tidemark_branch_points, by name. Their rowids are
// the branch points' ids, which are never used again.
func branchPointRows(c *conn) ([][]row.Value, error) {
	list, err := c.store.BranchPoints(context.Background())
	if err != nil {
		return nil, err
	}
	rows := make([][]row.Value, len(list))
	for i, b := range list {
		rows[i] = []row.Value{
			row.TextValue(b.Name), row.TextValue(b.Timeline), row.IntValue(b.WorldID), row.IntValue(b.RepresentationID),
			row.TextValue(b.CreatedAt), row.IntValue(b.LSN), row.IntValue(b.ID),
		}
	}
	return rows, nil
}

// orderBranchPoint notes a row inserted into tidemark_branch_points.
func (c *conn) orderBranchPoint(vals []row.Value) error {
	if err := c.onlyOrder(branchPointsTable); err != nil {
		return err
	}
	for _, v := range vals[2:] {
		if !v.IsNull() {
			return branchPointError("%s takes name and timeline; the store fills in the rest", branchPointsTable)
		}
	}
	name, timeline := vals[0], vals[1]
	switch {
	case name.IsNull():
		return newError("", ErrConstraintNotNull, "NOT NULL constraint failed: %s.name", branchPointsTable)
	case name.Kind() != row.Text:
		return branchPointError("the name of a branch point must be text")
	case timeline.IsNull():
	case timeline.Kind() != row.Text || timeline.Bytes() != c.store.Timeline():
		return branchPointError("the connection works on timeline %s, and names branch points of that one only", c.store.Timeline())
	}
	text := strings.Clone(name.Bytes())
	if err := checkBranchPointName(text); err != nil {
		return err
	}
	c.order = func(ctx context.Context) error {
		b, err := c.store.CreateBranchPointWithin(ctx, text, c.lockTimeout())
		if errors.Is(err, catalog.ErrExists) {
			e := newError("", ErrConstraintUnique, "UNIQUE constraint failed: %s.name", branchPointsTable)
			e.Table = branchPointsTable
			return e
		}
		if b.ID != 0 {
			c.db.SetLastInsertRowid(b.ID)
		}
		return err
	}
	return nil
}

// mostNameLength of a branch point, in characters.
const mostNameLength = 255

// checkBranchPointName refuses what the catalog does not take for a name.
func checkBranchPointName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return branchPointError("the name of a branch point must be UTF-8 without a NUL, %q is not", name)
	case n < 1 || n > mostNameLength:
		return branchPointError("the name of a branch point has 1 to %d characters, not %d", mostNameLength, n)
	}
	return nil
}

// orderBranchPointGone notes a row deleted from tidemark_branch_points.
func (c *conn) orderBranchPointGone(id int64) error {
	if err := c.onlyOrder(branchPointsTable); err != nil {
		return err
	}
	c.order = func(ctx context.Context) error {
		list, err := c.store.BranchPoints(ctx)
		if err != nil {
			return err
		}
		for _, b := range list {
			if b.ID == id {
				err = c.store.DeleteBranchPoint(ctx, b.Name)
			}
		}
		if errors.Is(err, catalog.ErrNotFound) { // another deleted it meanwhile
			return nil
		}
		return err
	}
	return nil
}

// noBranchPointUpdate refuses UPDATE.
func noBranchPointUpdate(s *sqltext.Stmt) error {
	if s.Kind != sqltext.Update {
		return nil
	}
	e := branchPointError("%s takes no UPDATE: a branch point never changes", branchPointsTable)
	e.Hint = "DELETE it, and INSERT another"
	return e
}

func branchPointError(format string, args ...any) *Error {
	e := newError("", ErrGeneric, format, args...)
	e.Table = branchPointsTable
	return e
}

// past opens the state that a branch point names, for the statement being stepped.
func (c *conn) past(name string) (*engine.Snapshot, error) {
	snap, err := openPast(c.stepping, c.store, name)
	return snap, wrapError("", err)
}

// use loads a table of an old state for the statement being compiled or stepped.
func (c *conn) use(t *engine.Table) error {
	ctx := c.stepping
	if ctx == nil { // one of the driver's own
		ctx = context.Background()
	}
	return wrapError("", t.Load(ctx))
}

// openPast opens the state that a branch point of a store names.
func openPast(ctx context.Context, store *engine.Store, name string) (*engine.Snapshot, error) {
	snap, err := store.At(ctx, name)
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, noBranchPoint(name)
	}
	return snap, err
}

func noBranchPoint(name string) *Error {
	if name == "" {
		name = "''"
	}
	e := newError("", ErrGeneric, "no such branch point: %s", name)
	e.Hint = "SELECT name FROM " + branchPointsTable + " lists them"
	return e
}

package driver

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// timelinesTable lists timelines, forks one for a row inserted, restores one for a row
// whose restore_to is set, and drops one for a row deleted.
const timelinesTable = "tidemark_timelines"

// timelineColumns end with the two that are only written.
const timelineColumns = "name TEXT, revision INT, world_id INT, representation_id INT, created_at DATETIME, source TEXT HIDDEN, restore_to TEXT HIDDEN"

// Places of columns.
const (
	timelineName      = 0
	timelineSource    = 5
	timelineRestoreTo = 6
)

// timelineRows are the rows of tidemark_timelines, by name. Their rowids are the
// timelines' ids, which are never used again.
func timelineRows(c *conn) ([][]row.Value, error) {
	list, err := c.store.Timelines(context.Background())
	if err != nil {
		return nil, err
	}
	rows := make([][]row.Value, len(list))
	for i, l := range list {
		rows[i] = []row.Value{
			row.TextValue(l.Name), row.IntValue(l.Revision), row.IntValue(l.WorldID), row.IntValue(l.RepresentationID), row.TextValue(l.CreatedAt),
			{}, {}, row.IntValue(l.ID),
		}
	}
	return rows, nil
}

// orderTimeline notes a row inserted into tidemark_timelines.
func (c *conn) orderTimeline(vals []row.Value) error {
	if err := c.onlyOrder(timelinesTable); err != nil {
		return err
	}
	for i, v := range vals {
		if i != timelineName && i != timelineSource && !v.IsNull() {
			return timelineError("%s takes name and source; the store fills in the rest", timelinesTable)
		}
	}
	if vals[timelineName].IsNull() {
		return newError("", ErrConstraintNotNull, "NOT NULL constraint failed: %s.name", timelinesTable)
	}
	name, err := timelineText(vals[timelineName], "the name of a timeline")
	if err != nil {
		return err
	}
	source := "" // the connection's own timeline
	if v := vals[timelineSource]; !v.IsNull() {
		if source, err = timelineText(v, "the source of a timeline"); err != nil {
			return err
		}
	}
	c.order = func(ctx context.Context) error {
		made, err := c.store.ForkFrom(ctx, name, source, c.lockTimeout())
		switch {
		case errors.Is(err, catalog.ErrExists):
			e := newError("", ErrConstraintUnique, "UNIQUE constraint failed: %s.name", timelinesTable)
			e.Table = timelinesTable
			return e
		case errors.Is(err, catalog.ErrNotFound):
			return noSource(source)
		case errors.Is(err, engine.ErrAmbiguous):
			e := timelineError("%s is the name of a timeline and of a branch point", source)
			e.Hint = "make a branch point with another name on the timeline and name that, or delete the branch point " + source +
				"; a connection's own timeline is the source when none is given"
			return e
		}
		if made.ID != 0 {
			c.db.SetLastInsertRowid(made.ID)
		}
		return err
	}
	return nil
}

// orderRestore notes a row of tidemark_timelines that is updated.
func (c *conn) orderRestore(id int64, vals []row.Value) error {
	if err := c.onlyOrder(timelinesTable); err != nil {
		return err
	}
	list, err := c.store.Timelines(context.Background())
	if err != nil {
		return err
	}
	for _, l := range list {
		if l.ID != id {
			continue
		}
		if vals[timelineRestoreTo].IsNull() || !vals[timelineSource].IsNull() || vals[timelineName].Kind() != row.Text || vals[timelineName].Bytes() != l.Name {
			e := timelineError("of %s only restore_to is updated, to the name of a branch point", timelinesTable)
			return e
		}
		point, err := timelineText(vals[timelineRestoreTo], "restore_to")
		if err != nil {
			return err
		}
		c.order = func(ctx context.Context) error {
			err := c.store.WithTimeline(ctx, l.Name, func(s *engine.Store) error {
				_, err := s.RestoreToWithin(ctx, point, c.lockTimeout())
				return err
			})
			if errors.Is(err, catalog.ErrNotFound) {
				return noBranchPoint(point)
			}
			return err
		}
	}
	return nil
}

// orderTimelineGone notes a row deleted from tidemark_timelines.
func (c *conn) orderTimelineGone(id int64) error {
	if err := c.onlyOrder(timelinesTable); err != nil {
		return err
	}
	list, err := c.store.Timelines(context.Background())
	if err != nil {
		return err
	}
	for _, l := range list {
		if l.ID != id {
			continue
		}
		if l.Name == catalog.MainTimeline {
			return timelineError("the timeline %s stays", l.Name)
		}
		c.order = func(ctx context.Context) error {
			err := c.store.DropTimeline(ctx, l.Name)
			var used *catalog.InUseError
			switch {
			case errors.Is(err, engine.ErrTimelineOpen):
				e := newError("", ErrBusy, "timeline %s is open in this process", l.Name)
				e.Table, e.Hint = timelinesTable, "close what was opened with timeline="+l.Name
				return e
			case errors.As(err, &used):
				return timelineNeeded(l.Name, used)
			case errors.Is(err, catalog.ErrNotFound): // another dropped it meanwhile
				return nil
			}
			return err
		}
	}
	return nil
}

// timelineNeeded refuses to drop a timeline, with what has to be done first.
func timelineNeeded(name string, used *catalog.InUseError) *Error {
	e := timelineError("timeline %s is needed: %s", name, used.By)
	switch used.Kind {
	case catalog.UserFork:
		e.Hint = "drop " + used.Name + " first"
	case "timeline":
		e.Hint = "compact " + used.Name + ", with a job of kind compact on a connection with timeline=" + used.Name + ", and drop " + name + " then"
	case "branch_point":
		e.Hint = "DELETE FROM " + branchPointsTable + " WHERE name = " + quoted(used.Name) + ", and drop " + name + " then"
	case "reader":
		e.Hint = "close what that process reads with mode=ro, or end the process, and drop " + name + " then"
	default: // a job, a publication
		e.Hint = "it ends by itself: drop " + name + " then"
	}
	return e
}

// quoted spells a text in SQL.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// timelineText is a name that an order gives.
func timelineText(v row.Value, what string) (string, error) {
	if v.Kind() != row.Text {
		return "", timelineError("%s must be text", what)
	}
	text := strings.Clone(v.Bytes())
	switch n := utf8.RuneCountInString(text); {
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", timelineError("%s must be UTF-8 without a NUL, %q is not", what, text)
	case n < 1 || n > mostNameLength:
		return "", timelineError("%s has 1 to %d characters, not %d", what, mostNameLength, n)
	}
	return text, nil
}

func noSource(name string) *Error {
	e := timelineError("no such timeline or branch point: %s", name)
	e.Hint = "SELECT name FROM " + timelinesTable + " and " + branchPointsTable + " list them"
	return e
}

func timelineError(format string, args ...any) *Error {
	e := newError("", ErrGeneric, format, args...)
	e.Table = timelinesTable
	return e
}

package driver

import (
	"context"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// answer is what a statement that the driver runs itself returns.
type answer struct {
	labels []string
	rows   [][]row.Value
}

// execPiece runs one statement to its end.
func (c *conn) execPiece(ctx context.Context, p *piece, b *binder) error {
	if done, _, err := c.runSpecial(ctx, p, b); done || err != nil {
		return err
	}
	p, copied := p.free()
	if copied {
		defer p.finalize()
	}
	w, err := c.start(ctx, p, b, false)
	if err == nil {
		err = c.endStatement(p, c.drain(ctx, p, w))
	}
	err = c.settle(ctx, err, goesOn)
	if err == nil && p.Kind.IsDML() {
		c.affected = c.db.Changes()
	}
	return err
}

// drain steps a started statement to its end, dropping its rows.
func (c *conn) drain(ctx context.Context, p *piece, w *watch) error {
	defer w.end()
	if err := w.enter(); err != nil {
		return err
	}
	defer w.leave()
	c.stepping = ctx
	for {
		more, err := p.st.Step()
		if err != nil {
			err = c.sqliteError(ctx, err)
			_ = p.st.Reset() // repeats the error
			return err
		}
		if !more {
			return p.st.Reset()
		}
	}
}

// queryPiece runs one statement to its first row. That row is handed out only
// when the state it was read from is durable.
func (c *conn) queryPiece(ctx context.Context, p *piece, b *binder) (_ *rows, err error) {
	if done, a, err := c.runSpecial(ctx, p, b); done || err != nil {
		if err != nil {
			return nil, err
		}
		return &rows{c: c, labels: a.labels, given: a.rows}, nil
	}
	p, copied := p.free()
	if copied {
		defer func() {
			if err != nil {
				p.finalize()
			}
		}()
	}
	w, err := c.start(ctx, p, b, true)
	if err != nil {
		return nil, c.settle(ctx, err, goesOn)
	}
	r := &rows{c: c, p: p, ctx: ctx, watch: w, copied: copied, open: true}
	p.busy = true
	c.reads.active++
	if err := p.describe(); err != nil {
		return nil, r.finish(err)
	}
	r.labels = p.labels
	switch {
	case p.ret != nil:
		if err := r.gatherReturned(ctx); err != nil {
			return nil, err
		}
		return r, nil
	case !p.st.ReadOnly():
		if err := r.gather(ctx); err != nil {
			return nil, err
		}
		return r, nil
	}
	more, err := r.step()
	switch {
	case err != nil:
		return nil, r.finish(err)
	case !more:
		if err := r.finish(nil); err != nil {
			return nil, err
		}
	default:
		r.first = true
		if c.reads.base != 0 {
			if err := c.awaitBase(ctx); err != nil {
				return nil, r.finish(err)
			}
		}
	}
	return r, nil
}

// start fixes what the statement reads and writes, compiles it and binds its
// parameters. It must be followed by settle, whatever it returns. read says that
// its rows will be read.
func (c *conn) start(ctx context.Context, p *piece, b *binder, read bool) (*watch, error) {
	if err := c.compile(ctx, p); err != nil {
		return nil, err
	}
	if err := b.bind(p); err != nil {
		return nil, err
	}
	if p.ret != nil {
		if err := b.bindReturning(p); err != nil {
			return nil, err
		}
	}
	if c.reads.base != 0 && (p.to == inTemp || p.to == inFile) {
		// Rows that go to a table beside the store are handed out: no commit of
		// the store holds them back, and none that is lost takes them away.
		if err := c.awaitBase(ctx); err != nil {
			return nil, err
		}
	}
	c.db.ClearError()
	if p.clause {
		c.db.SetClause(vtab.Conflict(p.Or))
	} else {
		c.db.UnsetClause()
	}
	c.db.CountOnce(p.From)
	if err := c.startStatement(p); err != nil {
		return nil, err
	}
	c.startReturning(p, read)
	return c.watchContext(ctx), nil
}

// runSpecial runs the statements that SQLite does not get to see as they are.
func (c *conn) runSpecial(ctx context.Context, p *piece, b *binder) (done bool, a answer, err error) {
	if err := refuseReserved(p.Stmt); err != nil {
		return true, a, err
	}
	switch k := p.Kind; {
	case k == sqltext.Read && p.CountOf == nil, k.IsDML():
		return false, a, nil
	case k == sqltext.Read:
		return c.countRows(ctx, p)
	case k == sqltext.Empty:
		return true, a, nil
	case k.IsTransaction():
		return true, a, c.transact(ctx, p.Stmt)
	case k.IsDDL():
		return c.runDDL(ctx, p, b)
	case k == sqltext.Pragma:
		return c.runPragma(ctx, p)
	}
	return c.runMaintenance(ctx, p, b)
}

// countRows answers SELECT count(*) FROM name from the snapshot, which knows the
// number of rows of a table.
func (c *conn) countRows(ctx context.Context, p *piece) (done bool, a answer, err error) {
	where, err := c.locate(*p.CountOf, c.schema(), "table", "view")
	if err != nil || where != inStore {
		return false, a, err
	}
	if err := c.acquire(ctx, toRead); err != nil {
		return true, a, c.settle(ctx, err, goesOn)
	}
	o := c.schema().Lookup(p.CountOf.Name)
	if o == nil || o.Table == nil {
		return false, a, c.settle(ctx, nil, goesOn)
	}
	n := 0
	switch {
	case p.CountAt != nil:
		c.stepping = ctx
		if n, err = c.db.PastRows(o.Table, *p.CountAt); err != nil {
			return true, a, c.settle(ctx, err, goesOn)
		}
	case c.reads.etx != nil:
		n = c.reads.etx.Len(o.Table.ID)
	default:
		n = c.reads.snap.Table(o.Table.ID).Len()
	}
	err = c.awaitBase(ctx)
	a = answer{labels: []string{p.CountAs}, rows: [][]row.Value{{row.IntValue(int64(n))}}}
	return true, a, c.settle(ctx, err, goesOn)
}

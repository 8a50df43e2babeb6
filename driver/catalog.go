package driver

import (
	"context"
	"net/url"
	"os"
	"path/filepath"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
)

// catalogFile is the name of the catalog in a store's directory.
const catalogFile = "catalog.db"

// attachCatalog makes the catalog readable as schema catalog. SQLite waits up to
// its own busy timeout where the catalog is checkpointed or recovered.
func (c *conn) attachCatalog() error {
	if inst := c.sh.inst; inst.memory {
		return c.ownExec("ATTACH " + sqltext.QuoteText(catalog.MemoryURI(inst.catalogName())+"&mode=ro") + " AS catalog")
	}
	path := filepath.ToSlash(filepath.Join(c.sh.inst.key, catalogFile))
	if filepath.VolumeName(path) != "" {
		path = "/" + path
	}
	uri := "file:" + (&url.URL{Path: path}).EscapedPath() + "?mode=ro"
	if c.store.Immutable() {
		uri += "&immutable=1"
	}
	return c.ownExec("PRAGMA busy_timeout=5000; ATTACH " + sqltext.QuoteText(uri) + " AS catalog")
}

// runMaintenance runs ATTACH, DETACH, VACUUM, ANALYZE and REINDEX; what it does
// not know goes on as an ordinary statement.
func (c *conn) runMaintenance(ctx context.Context, p *piece, b *binder) (done bool, a answer, err error) {
	switch p.Kind {
	case sqltext.Attach:
		return true, a, c.attach(ctx, p, b)
	case sqltext.Detach:
		if fold(p.DetachName()) == "catalog" {
			return true, a, newError("", ErrGeneric, "cannot detach database catalog")
		}
		return true, a, c.attach(ctx, p, b)
	case sqltext.Vacuum:
		return true, a, c.vacuum(ctx, p)
	case sqltext.Analyze, sqltext.Reindex:
		return true, a, c.reorganize(ctx, p)
	case sqltext.Explain:
		if x := p.Explained(); x != nil && (x.Kind.IsDDL() || x.Kind == sqltext.Analyze) {
			if where, err := c.placeDDL(x); err != nil || where == inStore || where == nowhere {
				if err == nil {
					a, err = c.askShadow(p.Text)
				}
				return true, a, err
			}
		}
	}
	return false, a, nil
}

// attach runs ATTACH or DETACH. The store's own catalog must not be attached
// again, where it could be written.
func (c *conn) attach(ctx context.Context, p *piece, b *binder) error {
	if err := c.loadNames(); err != nil {
		return err
	}
	before := c.names.files
	c.db.ClearError()
	st, _, err := c.db.Prepare(p.Text)
	if err != nil {
		return c.sqliteError(ctx, err)
	}
	q := &piece{Stmt: p.Stmt, numbers: p.numbers, st: st, nparams: st.NumParams()}
	defer q.finalize()
	if err := b.bind(q); err != nil {
		return err
	}
	err = c.drain(ctx, q, c.watchContext(ctx))
	c.names.forget()
	if err != nil || p.Kind == sqltext.Detach {
		return err
	}
	return c.refuseOwnCatalog(before)
}

// refuseOwnCatalog detaches what was just attached if it is the store's catalog.
func (c *conn) refuseOwnCatalog(before []string) error {
	if c.sh.inst.memory {
		return nil // it is in no file, and mode=ro keeps it as it is
	}
	own, err := os.Stat(filepath.Join(c.sh.inst.key, catalogFile))
	if err != nil {
		return nil // a store without a catalog in sight has nothing to protect
	}
	list, err := c.db.Query("PRAGMA database_list")
	if err != nil {
		return err
	}
	for _, r := range list {
		name, path := r[1].Bytes(), r[2].Bytes()
		if name == "main" || name == "temp" || name == "catalog" || path == "" || contains(before, name) {
			continue
		}
		if other, err := os.Stat(path); err == nil && os.SameFile(own, other) {
			if err := c.ownExec("DETACH " + sqltext.Quote(name)); err != nil {
				return err
			}
			e := newError("", ErrReadOnly, "the store's catalog cannot be attached")
			e.Hint = "it is readable as schema catalog"
			return e
		}
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// vacuum has nothing to do for the store, whose files are not SQLite's.
func (c *conn) vacuum(ctx context.Context, p *piece) error {
	schema := fold(p.Target.Schema)
	switch {
	case schema != "" && schema != "main":
		_, err := c.direct(ctx, p)
		return err
	case p.Into():
		return refuse("VACUUM INTO", "")
	case c.tx.phase != idle:
		return newError("", ErrGeneric, "cannot VACUUM from within a transaction")
	}
	return c.refuseUpkeep()
}

// refuseUpkeep refuses what would write in SQLite where nothing may be written,
// though it has nothing to do here: a script learns of it in either.
func (c *conn) refuseUpkeep() error {
	if err := c.refuseWrite(); err != nil {
		return err
	}
	if a, err := askNative(c.db, "PRAGMA query_only"); err != nil {
		return err
	} else if len(a.rows) > 0 && a.rows[0][0].Int() != 0 {
		return errReadOnlyTx
	}
	return nil
}

// reorganize checks the names in ANALYZE and REINDEX. The engine's indexes are
// always in order, and its planner keeps no statistics.
func (c *conn) reorganize(ctx context.Context, p *piece) error {
	if p.Target.Name != "" {
		where, err := c.locate(p.Target, c.schema(), "table", "index")
		if err != nil {
			return err
		}
		if where == inTemp || where == inFile {
			_, err := c.direct(ctx, p)
			return err
		}
	}
	s := &c.sh.tables.shadow
	return s.use(c.schema(), func() error {
		st, _, err := s.db.Prepare(p.Text)
		if st != nil {
			st.Finalize()
		}
		if err != nil {
			return err
		}
		return c.refuseUpkeep()
	})
}

// askShadow runs one statement on the shadow.
func (c *conn) askShadow(text string) (a answer, err error) {
	s := &c.sh.tables.shadow
	err = s.use(c.schema(), func() error {
		a, err = askNative(s.db, text)
		return err
	})
	return a, err
}

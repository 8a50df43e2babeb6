package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"

	"github.com/tidemarkdb/tidemark/migrations"
)

// A backup has a copy of the catalog that is nobody's live one: [Copy] makes it,
// [PruneCopy] leaves in it what timelines and branch points need, [RenewCopy] makes
// it a catalog of its own when the files it names have been verified. A restore
// renews it once more, so that two stores of one backup are two. Each step is one
// transaction. The guards of the schema protect a live catalog's history; a copy is
// rewritten without them, and has exactly the same ones again when the step ends.

// Copied is what a copy of a catalog names.
type Copied struct {
	Identity     [16]byte
	Timelines    int
	BranchPoints int
	Objects      []CopiedObject // sealed, by id
	Logs         []CopiedLog    // that go on in files that are to be made
}

// CopiedObject is a sealed object.
type CopiedObject struct {
	ID              int64    `db:"object_id"`
	Kind            string   `db:"kind"`
	Path            string   `db:"relative_path"`
	ByteExtent      int64    `db:"byte_extent"`
	ContentID       [32]byte `db:"-"`
	IntegrityDigest [32]byte `db:"-"`
}

// CopiedLog is the generation that a shard goes on in. In a pruned copy nobody has made
// its file.
type CopiedLog struct {
	Timeline   string `db:"timeline"`
	ShardID    int64  `db:"shard_id"`
	Generation int64  `db:"generation"`
	ObjectID   int64  `db:"object_id"`
	Path       string `db:"relative_path"`
	Epoch      int64  `db:"writer_epoch"`
	LSN        int64  `db:"lsn"`  // last commit of the head
	Born       bool   `db:"born"` // its file was made when the catalog was copied
}

// Bytes is how long the sealed objects are.
func (c *Copied) Bytes() (n int64) {
	for i := range c.Objects {
		n += c.Objects[i].ByteExtent
	}
	return n
}

// Lineage lists the identities, besides its own, under which files of this catalog
// were written.
func (c *Catalog) Lineage(ctx context.Context) (list [][16]byte, err error) {
	err = c.read(ctx, "lineage", func(ctx context.Context, tx *sqlx.Tx) error {
		var rows [][]byte
		if err := tx.SelectContext(ctx, &rows, `SELECT catalog_identity FROM store_lineage ORDER BY catalog_identity`); err != nil {
			return err
		}
		for _, r := range rows {
			list = append(list, [16]byte(r))
		}
		return nil
	})
	return list, err
}

// ReadCopy returns what the copy in file names. A copy of an earlier version of the
// program is migrated first.
func ReadCopy(ctx context.Context, file string) (c Copied, err error) {
	err = onCopy(ctx, "read-copy", file, func(ctx context.Context, tx *sqlx.Tx) error {
		info, err := readInfo(ctx, tx)
		if err != nil {
			return err
		}
		if info == nil {
			return refuse(CodeUnfinished, "", "the copy is of a store that was never finished")
		}
		if err := info.checkPolicy(DefaultPolicy()); err != nil {
			return err
		}
		c.Identity = info.identity()
		return c.read(ctx, tx)
	})
	return c, err
}

func (c *Copied) read(ctx context.Context, tx *sqlx.Tx) error {
	var rows []struct {
		CopiedObject
		Content []byte `db:"content_id"`
		Digest  []byte `db:"integrity_digest"`
	}
	if err := tx.SelectContext(ctx, &rows, `SELECT object_id, kind, relative_path, byte_extent, content_id, integrity_digest FROM objects
		WHERE state = 'sealed' ORDER BY object_id`); err != nil {
		return err
	}
	c.Objects = make([]CopiedObject, len(rows))
	for i, r := range rows {
		c.Objects[i] = r.CopiedObject
		copy(c.Objects[i].ContentID[:], r.Content)
		copy(c.Objects[i].IntegrityDigest[:], r.Digest)
	}
	if err := tx.SelectContext(ctx, &c.Logs, `SELECT t.name AS timeline, s.shard_id, g.generation, g.object_id, o.relative_path, s.writer_epoch, w.lsn,
			s.writer_epoch > 0 AND g.generation <= s.current_generation AS born
		FROM shards s JOIN timelines t ON t.timeline_id = s.timeline_id JOIN worlds w ON w.world_id = t.head_world_id
		JOIN generations g ON g.shard_id = s.shard_id AND g.generation >= s.replay_from JOIN objects o ON o.object_id = g.object_id
		ORDER BY t.name, s.ordinal, g.generation`); err != nil {
		return err
	}
	if err := tx.GetContext(ctx, &c.Timelines, `SELECT count(*) FROM timelines`); err != nil {
		return err
	}
	return tx.GetContext(ctx, &c.BranchPoints, `SELECT count(*) FROM branch_points`)
}

// onCopy runs fn in a write transaction on a file that is nobody's live catalog,
// and has it on disk when it returns.
func onCopy(ctx context.Context, op, file string, fn func(ctx context.Context, tx *sqlx.Tx) error) (err error) {
	defer func() { err = wrap(op, err) }()
	abs, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	path := filepath.ToSlash(abs)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	uri := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"mode": {"rw"}, "_dqs": {"0"}, "_txlock": {"immediate"}}.Encode()}
	connector, err := sqlite.NewConnector(uri.String())
	if err != nil {
		return err
	}
	db := sqlx.NewDb(sql.OpenDB(connector), "sqlite")
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close(), syncFile(err, file)) }()
	// Foreign keys are checked as a whole at the end: rows leave in any order.
	for _, pragma := range []string{"journal_mode = DELETE", "synchronous = FULL", "foreign_keys = OFF", "temp_store = MEMORY", "trusted_schema = OFF"} {
		if _, err := db.ExecContext(ctx, "PRAGMA "+pragma); err != nil {
			return err
		}
	}
	if err := migrateCopy(ctx, db); err != nil {
		return err
	}
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(ctx, tx); err != nil {
		return errors.Join(err, rollback(tx))
	}
	if err := tx.Commit(); err != nil || !shrinks[op] {
		return err
	}
	_, err = db.ExecContext(ctx, `VACUUM`)
	return err
}

// shrinks are the steps that leave much room in the file.
var shrinks = map[string]bool{pruneCopy: true}

const pruneCopy = "prune-copy"

// syncFile syncs a file that SQLite has let go of, and its directory.
func syncFile(failed error, file string) error {
	if failed != nil {
		return nil
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return &Error{Code: CodeIO, Err: err}
	}
	if err := errors.Join(f.Sync(), f.Close(), syncDir(filepath.Dir(file))); err != nil {
		return &Error{Code: CodeIO, Err: err}
	}
	return nil
}

// migrateCopy brings a copy to the version of this program.
func migrateCopy(ctx context.Context, db *sqlx.DB) error {
	var id, version int64
	if err := db.GetContext(ctx, &id, `PRAGMA application_id`); err != nil {
		return err
	}
	if err := db.GetContext(ctx, &version, `PRAGMA user_version`); err != nil {
		return err
	}
	latest, err := migrations.Latest(migrations.Files())
	switch {
	case err != nil:
		return err
	case id != ApplicationID:
		return refuse(CodeNotStore, "", "it has application id %#x, a catalog has %#x", uint32(id), ApplicationID)
	case version > latest:
		return &Error{Code: CodeVersion, Err: fmt.Errorf("%w: it has version %d, this program knows up to %d", ErrNewer, version, latest)}
	case version < latest:
		return migrations.Up(ctx, db.DB, migrations.Files(), nil)
	}
	return nil
}

// rewriteCopy runs fn on a copy without the guards of the schema, which it has
// again afterwards, and checks what fn left.
func rewriteCopy(ctx context.Context, op, file string, fn func(ctx context.Context, tx *sqlx.Tx, info *infoRow) error) error {
	return onCopy(ctx, op, file, func(ctx context.Context, tx *sqlx.Tx) error {
		info, err := readInfo(ctx, tx)
		if err != nil {
			return err
		}
		if info == nil {
			return refuse(CodeUnfinished, "", "the copy is of a store that was never finished")
		}
		stored, err := migrations.Stored(ctx, tx)
		if err != nil {
			return err
		}
		for _, o := range stored {
			if o.Type == "trigger" {
				if _, err := tx.ExecContext(ctx, `DROP TRIGGER "`+strings.ReplaceAll(o.Name, `"`, `""`)+`"`); err != nil {
					return err
				}
			}
		}
		if err := fn(ctx, tx, info); err != nil {
			return err
		}
		for _, o := range stored {
			if o.Type == "trigger" {
				if _, err := tx.ExecContext(ctx, o.SQL); err != nil {
					return fmt.Errorf("trigger %s: %w", o.Name, err)
				}
			}
		}
		if err := checkSchema(ctx, tx, migrations.Files()); err != nil {
			return err
		}
		var found error
		err = checkFile(ctx, tx, func(text string) {
			if found == nil {
				found = refuse(CodeCorrupt, "", "%s", text)
			}
		})
		return errors.Join(err, found)
	})
}

package catalog

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// copied makes a copy of a catalog in a directory of its own.
func copied(t *testing.T, c *Catalog) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := Copy(t.Context(), c.options.Dir, filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A pruned copy has what heads and branch points need, and nothing of what is of the
// live store; renewed it is a catalog of its own, whole, with all guards.
func TestCopyForBackup(t *testing.T) {
	c, _ := newStore(t, Creation{Shards: 2})
	l := newLog(t, c)
	head := l.publish(l.rotate()...).Head
	if _, err := c.CreateBranchPoint(t.Context(), "bp", head); err != nil {
		t.Fatal(err)
	}
	l.publish(l.rotate()...)
	l.rotate() // sealed, and in no head
	job, err := c.StartJob(t.Context(), "backup", "somewhere")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReserveObject(t.Context(), job.ID); err != nil {
		t.Fatal(err)
	}
	failing, broken := startJob(t, c, "compact", 1)
	must(t, c.Quarantine(t.Context(), failing.ID, broken[0].ObjectID, errSync))
	dir := copied(t, c)
	file := filepath.Join(dir, FileName)
	ids, err := RetainedBy(t.Context(), file)
	if err != nil || len(ids) != 2 {
		t.Fatalf("representations %v, %v", ids, err)
	}
	if err := c.RetainForJob(t.Context(), job.ID, ids); err != nil {
		t.Fatal(err)
	}
	if err := c.RetainForJob(t.Context(), job.ID, []int64{ids[0], MaxID}); !errors.Is(err, ErrConflict) {
		t.Errorf("of one that is gone: %v", err)
	}
	kept, behind, err := PruneCopy(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept.Objects) != 4 || len(kept.Logs) != 2 || len(behind) < 4 || kept.Timelines != 1 || kept.BranchPoints != 1 {
		t.Errorf("kept %+v, behind %+v", kept, behind)
	}
	identity, err := RenewCopy(t.Context(), file, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadCopy(t.Context(), file)
	if err != nil || again.Identity != identity || identity == c.Info().Identity || len(again.Objects) != len(kept.Objects) {
		t.Errorf("renewed %+v, %v", again, err)
	}
	own := openStore(t, Options{Dir: dir})
	if lineage, err := own.Lineage(t.Context()); err != nil || len(lineage) != 1 || lineage[0] != c.Info().Identity {
		t.Errorf("lineage %x, %v", lineage, err)
	}
	state, err := own.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range state.Shards {
		if g := state.Generations[len(state.Generations)-1]; s.CurrentGeneration != s.ReplayFrom || i == len(state.Shards)-1 && (g.State != GenerationOpen || g.ObjectID < kept.Objects[3].ID) {
			t.Errorf("shard %+v goes on in %+v", s, g)
		}
	}
	if list, err := own.Garbage(t.Context(), 10); err != nil || len(list) > 0 {
		t.Errorf("nothing needs %+v, %v", list, err)
	}
	for _, table := range []string{"jobs", "publication_attempts", "gc_work", "sessions", "operations"} {
		if n := count(t, own.reads.DB, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("%d rows of %s", n, table)
		}
	}
	if n := count(t, own.reads.DB, "SELECT count(*) FROM objects WHERE state = 'quarantined'"); n != 0 {
		t.Errorf("%d objects are in quarantine", n)
	}
	// The guards are back.
	edited := shell(t, dir)
	if _, err := edited.ExecContext(t.Context(), `UPDATE worlds SET lsn = lsn + 1`); err == nil {
		t.Error("a world can be edited")
	}
}

// A row that does not have its digest is not given another one.
func TestCopyOfDamage(t *testing.T) {
	for _, damage := range []string{
		`UPDATE timelines SET created_at = '2001-01-01T00:00:00.000000000Z'`,
		`UPDATE manifest_entries SET contribution = x'0102'`,
		`UPDATE shards SET writer_epoch = writer_epoch + 1`,
		`UPDATE generations SET records = 7 WHERE state = 'sealed'`,
		`UPDATE index_states SET digest = zeroblob(32)`,
	} {
		c, _ := newStore(t, Creation{})
		l := newLog(t, c)
		l.publish(l.rotate()...)
		dir := copied(t, c)
		file := filepath.Join(dir, FileName)
		db := shell(t, dir)
		for _, table := range []string{"timelines", "manifest_entries", "shards", "generations", "index_states"} {
			triggers, err := db.QueryContext(t.Context(), `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?`, table)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for triggers.Next() {
				var name string
				if err := triggers.Scan(&name); err != nil {
					t.Fatal(err)
				}
				names = append(names, name)
			}
			if err := triggers.Close(); err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if _, err := db.ExecContext(t.Context(), `DROP TRIGGER `+name); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := db.ExecContext(t.Context(), damage); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := PruneCopy(t.Context(), file); !errors.Is(err, CodeDigest) {
			t.Errorf("%s: %v", damage, err)
		}
	}
}

// A copy that others wait for has nothing that is gone, however much is published.
func TestCopyForJob(t *testing.T) {
	c, _ := newStore(t, Creation{Shards: 2})
	l := newLog(t, c)
	l.publish(l.rotate()...)
	job, err := c.StartJob(t.Context(), "backup", "somewhere")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var running sync.WaitGroup
	defer running.Wait()
	defer close(done)
	running.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				l.publish(l.rotate()...)
			}
		}
	})
	for i := range 20 {
		file := filepath.Join(t.TempDir(), FileName)
		if err := c.CopyForJob(t.Context(), job.ID, file); err != nil {
			t.Fatalf("copy %d: %v", i, err)
		}
		ids, err := RetainedBy(t.Context(), file)
		if err != nil || len(ids) == 0 {
			t.Fatalf("copy %d: %v, %v", i, ids, err)
		}
		if err := c.RetainForJob(t.Context(), job.ID, ids); err != nil {
			t.Errorf("copy %d: what it names is gone: %v", i, err)
		}
	}
	if err := c.CopyForJob(t.Context(), job.ID+1, filepath.Join(t.TempDir(), FileName)); !errors.Is(err, ErrNotFound) {
		t.Errorf("for no job: %v", err)
	}
	if err := c.CopyForJob(t.Context(), job.ID, filepath.Join(t.TempDir(), "no", FileName)); err == nil {
		t.Error("to no directory")
	}
	if _, err := c.State(t.Context()); err != nil {
		t.Errorf("after a copy that failed: %v", err)
	}
}

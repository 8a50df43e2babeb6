package catalog

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

var errSync = errors.New("sync of a file: input/output error")

// startJob starts a job and reserves n outputs of it.
func startJob(t *testing.T, c *Catalog, kind string, n int) (Job, []Reservation) {
	t.Helper()
	job, err := c.StartJob(t.Context(), kind, "")
	if err != nil {
		t.Fatal(err)
	}
	list := make([]Reservation, n)
	for i := range list {
		if list[i], err = c.ReserveObject(t.Context(), job.ID); err != nil {
			t.Fatal(err)
		}
	}
	return job, list
}

// stateAndPurpose is the state of an object and the purposes of its roots.
func stateAndPurpose(t *testing.T, c *Catalog, id int64) (text string) {
	t.Helper()
	if err := c.reads.GetContext(t.Context(), &text, `SELECT coalesce((SELECT o.state || ' ' || coalesce((SELECT group_concat(purpose) FROM owner_objects x WHERE x.object_id = o.object_id), 'unrooted')
		FROM objects o WHERE o.object_id = ?), 'gone')`, id); err != nil {
		t.Fatal(err)
	}
	return text
}

// TestQuarantine: which objects can be quarantined, by whom, and what is refused.
func TestQuarantine(t *testing.T) {
	ctx := t.Context()
	for _, x := range []struct {
		name string
		// prepare returns the job and object to quarantine.
		prepare func(t *testing.T, c *Catalog, l *log) (job, object int64)
		code    Code // "": it is quarantined
	}{
		{"reserved", func(t *testing.T, c *Catalog, _ *log) (int64, int64) {
			job, list := startJob(t, c, "compact", 2)
			return job.ID, list[1].ObjectID
		}, ""},
		{"of an index job", func(t *testing.T, c *Catalog, _ *log) (int64, int64) {
			job, list := startJob(t, c, "index", 1)
			return job.ID, list[0].ObjectID
		}, ""},
		{"sealed", func(t *testing.T, c *Catalog, l *log) (int64, int64) {
			b := l.compact(2, 1)
			return b.job.ID, b.reserved[0].ObjectID
		}, ""},
		{"quarantined already", func(t *testing.T, c *Catalog, _ *log) (int64, int64) {
			job, list := startJob(t, c, "compact", 1)
			must(t, c.Quarantine(ctx, job.ID, list[0].ObjectID, errSync))
			return job.ID, list[0].ObjectID
		}, ""},
		{"named by a candidate", func(t *testing.T, c *Catalog, l *log) (int64, int64) {
			b := l.compact(2, 1)
			l.prepare(b.publication(l.stateNow().Timeline))
			return b.job.ID, b.reserved[0].ObjectID
		}, CodeRetire},
		{"named by the head", func(t *testing.T, c *Catalog, l *log) (int64, int64) {
			b := l.compact(2, 1)
			l.adoptAndRetire(b.publication(l.stateNow().Timeline))
			return b.job.ID, b.reserved[0].ObjectID
		}, CodeRetire},
		{"rooted by another owner", func(t *testing.T, c *Catalog, _ *log) (int64, int64) {
			job, list := startJob(t, c, "compact", 1)
			edit(t, c.options.Dir, newOwner("cache"), fmt.Sprintf(`INSERT INTO owner_objects VALUES (%d, %d, 'cache')`, fixFree, list[0].ObjectID))
			return job.ID, list[0].ObjectID
		}, CodeRetire},
		{"kept by its job for another reason", func(t *testing.T, c *Catalog, _ *log) (int64, int64) {
			job, _ := startJob(t, c, "compact", 0)
			object := orphan(t, c, 1)
			edit(t, c.options.Dir, fmt.Sprintf(`INSERT INTO owner_objects VALUES (%d, %d, 'candidate')`, job.owner(t, c), object))
			return job.ID, object
		}, CodeOwner},
		{"of another job", func(t *testing.T, c *Catalog, _ *log) (int64, int64) {
			_, list := startJob(t, c, "compact", 1)
			job, _ := startJob(t, c, "compact", 0)
			return job.ID, list[0].ObjectID
		}, CodeOwner},
		{"of the log", func(t *testing.T, c *Catalog, l *log) (int64, int64) {
			job, _ := startJob(t, c, "compact", 0)
			return job.ID, l.stateNow().Generations[0].ObjectID
		}, CodeOwner},
		{"of a job that is over", func(t *testing.T, c *Catalog, _ *log) (int64, int64) {
			job, list := startJob(t, c, "compact", 1)
			must(t, c.EndJob(ctx, job.ID, 1, 1, nil))
			return job.ID, list[0].ObjectID
		}, CodeState},
		{"claimed", func(t *testing.T, c *Catalog, _ *log) (int64, int64) {
			job, _ := startJob(t, c, "compact", 0)
			object := orphan(t, c, 1)
			if _, err := c.Claim(ctx, []int64{object}); err != nil {
				t.Fatal(err)
			}
			return job.ID, object
		}, CodeState},
		{"no job", func(t *testing.T, c *Catalog, _ *log) (int64, int64) {
			_, list := startJob(t, c, "compact", 1)
			return 4711, list[0].ObjectID
		}, CodeUnknown},
		{"no object", func(t *testing.T, c *Catalog, _ *log) (int64, int64) {
			job, _ := startJob(t, c, "compact", 0)
			return job.ID, 4711
		}, CodeUnknown},
		{"zero", func(*testing.T, *Catalog, *log) (int64, int64) { return 0, 0 }, CodeRange},
		{"frozen", func(t *testing.T, c *Catalog, _ *log) (int64, int64) {
			job, list := startJob(t, c, "compact", 1)
			edit(t, c.options.Dir, freeze)
			return job.ID, list[0].ObjectID
		}, CodeRetire},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := openStore(t, Options{Dir: makeStore(t, Options{})})
			l := newLog(t, c)
			l.publish(l.rotateMany(2)...)
			job, object := x.prepare(t, c, l)
			before := stateAndPurpose(t, c, object)
			err := c.Quarantine(ctx, job, object, errSync)
			if x.code != "" {
				wantCode(t, err, x.code)
				if now := stateAndPurpose(t, c, object); now != before {
					t.Errorf("a refusal made %q of %q", now, before)
				}
				return
			}
			must(t, err)
			must(t, c.Quarantine(ctx, job, object, errors.New("another cause"))) // again
			if now := stateAndPurpose(t, c, object); now != "quarantined quarantine" {
				t.Errorf("%q is %q now", before, now)
			}
			if list, err := c.Reconcilable(ctx, 10); err != nil || len(list) != 0 {
				t.Errorf("its job runs: %+v, %v", list, err)
			}
			must(t, c.EndJob(ctx, job, 0, 0, nil))
			list, err := c.Reconcilable(ctx, 10)
			if err != nil || len(list) != 1 || list[0].ID != object || list[0].JobID != job || list[0].JobState != JobDone ||
				!strings.Contains(list[0].Cause, errSync.Error()) || strings.Contains(list[0].Cause, "another") {
				t.Errorf("%+v, %v", list, err)
			}
			must(t, c.Check(ctx, func(text string) { t.Errorf("check: %s", text) }))
		})
	}
}

// must fails the test for an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// CAT-AT-33, CAT-AT-37: whatever is told of its file later, what was quarantined is
// not sealed, not registered and not named, neither before it is reconciled nor after;
// a fresh object is.
func TestQuarantinedIsNotSealed(t *testing.T) {
	ctx := t.Context()
	c := openStore(t, Options{Dir: makeStore(t, Options{})})
	l := newLog(t, c)
	l.publish(l.rotateMany(2)...)
	head := l.stateNow().Timeline
	sealed := l.compact(2, 1)
	p := sealed.publication(head)
	job, list := startJob(t, c, "compact", 2)
	first, second := list[0], list[1]
	must(t, c.Quarantine(ctx, sealed.job.ID, sealed.reserved[0].ObjectID, errSync))
	must(t, c.Quarantine(ctx, job.ID, first.ObjectID, errSync))
	refused := func() {
		t.Helper()
		for _, r := range []Reservation{first, sealed.reserved[0]} {
			wantCode(t, c.SealBase(ctx, baseSealOf(r, 2, 0)), CodeState)
			if text := stateAndPurpose(t, c, r.ObjectID); !strings.HasPrefix(text, "quarantined ") {
				t.Errorf("object %d is %s", r.ObjectID, text)
			}
		}
		if _, err := c.Prepare(ctx, p); err == nil {
			t.Error("it was prepared for publication")
		}
		if now := l.stateNow().Timeline; fmt.Sprint(now) != fmt.Sprint(head) {
			t.Errorf("head %+v, was %+v", now, head)
		}
	}
	refused()
	must(t, c.SealBase(ctx, baseSealOf(second, 2, 0))) // its neighbour
	must(t, c.EndJob(ctx, job.ID, 0, 1, errSync))
	must(t, c.EndJob(ctx, sealed.job.ID, 0, 1, errSync))
	refused()
	must(t, c.Reconcile(ctx, JobOperation(job.ID), first.ObjectID))
	must(t, c.Reconcile(ctx, JobOperation(sealed.job.ID), sealed.reserved[0].ObjectID))
	refused()
	if n := collectAll(t, c); n != 3 {
		t.Errorf("%d collected", n)
	}
	wantCode(t, c.SealBase(ctx, baseSealOf(first, 2, 0)), CodeUnknown)
	l.publishBase(head, l.compact(2, 1))
	must(t, c.Check(ctx, func(text string) { t.Errorf("check: %s", text) }))
}

// TestQuarantineIsExplained with the job and the cause, before its end and after.
func TestQuarantineIsExplained(t *testing.T) {
	ctx := t.Context()
	c := openStore(t, Options{Dir: makeStore(t, Options{})})
	job, list := startJob(t, c, "compact", 1)
	must(t, c.Quarantine(ctx, job.ID, list[0].ObjectID, errSync))
	explained := func() {
		t.Helper()
		_, kept, err := c.Explain(ctx)
		must(t, err)
		var text string
		for _, k := range kept {
			for _, r := range k.Reasons {
				if k.ID == list[0].ObjectID && r.OwnerKind == ownerQuarantine {
					text = r.String()
				}
			}
		}
		if !strings.Contains(text, fmt.Sprintf("job compact %d", job.ID)) || !strings.Contains(text, errSync.Error()) {
			t.Errorf("it stays: %q", text)
		}
	}
	explained()
	must(t, c.EndJob(ctx, job.ID, 0, 1, nil)) // it wrote another file, and succeeded
	explained()
}

// TestJobsWithQuarantineStay until that is reconciled, however many follow.
func TestJobsWithQuarantineStay(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	c := openStore(t, Options{Dir: dir})
	job, list := startJob(t, c, "compact", 1)
	must(t, c.Quarantine(ctx, job.ID, list[0].ObjectID, errSync))
	must(t, c.EndJob(ctx, job.ID, 0, 1, errSync))
	edit(t, dir, `UPDATE catalog_info SET next_id = 100000`,
		`WITH RECURSIVE n(i) AS (SELECT 10000 UNION ALL SELECT i + 2 FROM n WHERE i < 10000 + 2*(`+fmt.Sprint(keptJobs)+`)) INSERT INTO owners(owner_id, kind) SELECT i, 'job' FROM n`,
		`INSERT INTO jobs(job_id, kind, target, recipe_version, recipe, owner_id) SELECT owner_id + 1, 'gc', '', 1, x'01', owner_id FROM owners WHERE kind = 'job' AND owner_id >= 10000`,
		`UPDATE jobs SET state = 'cancelled', ended_at = '2026-01-01T00:00:00Z', revision = 1 WHERE state = 'ready'`,
		`UPDATE owners SET state = 'retiring', revision = 1 WHERE kind = 'job' AND owner_id >= 10000`,
		`UPDATE owners SET state = 'released', revision = 2 WHERE kind = 'job' AND owner_id >= 10000`)
	stays := func() bool {
		_, err := c.StartJob(ctx, "gc", "")
		must(t, err)
		return one64(t, c, `SELECT count(*) FROM jobs WHERE job_id = ?`, job.ID) == 1
	}
	if !stays() {
		t.Error("it went before its object was reconciled")
	}
	must(t, c.Reconcile(ctx, JobOperation(job.ID), list[0].ObjectID))
	if stays() {
		t.Error("it stays")
	}
}

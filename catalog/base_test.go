package catalog

import (
	"context"
	"fmt"
	"testing"
)

// TestReserveObject: an object is committed with its path and root before its file
// exists, of a job that runs.
func TestReserveObject(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	job, err := c.StartJob(ctx, "compact", "")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[16]byte]bool{}
	for range 3 {
		r, err := c.ReserveObject(ctx, job.ID)
		if err != nil || r.Path != ObjectPath(r.ObjectID, KindKV) || seen[r.Attempt] {
			t.Fatalf("%+v, %v", r, err)
		}
		seen[r.Attempt] = true
		if n := one64(t, c, `SELECT count(*) FROM objects o JOIN owner_objects x ON x.object_id = o.object_id AND x.purpose = 'output' JOIN jobs j ON j.owner_id = x.owner_id
			WHERE o.object_id = ? AND o.state = 'reserved' AND o.relative_path = ? AND o.attempt_id = ? AND j.job_id = ?`, r.ObjectID, r.Path, r.Attempt[:], job.ID); n != 1 {
			t.Errorf("object %+v is not as it should be", r)
		}
	}
	for id, code := range map[int64]Code{0: CodeRange, MaxID + 1: CodeRange, 4711: CodeUnknown} {
		_, err := c.ReserveObject(ctx, id)
		wantCode(t, err, code)
	}
	if list, err := c.Garbage(ctx, 10); err != nil || len(list) != 0 {
		t.Errorf("garbage of a running job: %v, %v", list, err)
	}
	if err := c.EndJob(ctx, job.ID, 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	_, err = c.ReserveObject(ctx, job.ID)
	wantCode(t, err, CodeState)
	if n := collectAll(t, c); n != 3 {
		t.Errorf("%d collected", n)
	}
}

// TestSealBase: a seal is complete or absent, stays what it is, and needs an object
// that is its job's.
func TestSealBase(t *testing.T) {
	ctx := t.Context()
	c, state := newStore(t, Creation{})
	job, err := c.StartJob(ctx, "compact", "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.ReserveObject(ctx, job.ID)
	if err != nil {
		t.Fatal(err)
	}
	good := baseSealOf(r, 7, 0)
	for what, x := range map[string]struct {
		change func(s *BaseSeal)
		code   Code
	}{
		"no object":             {func(s *BaseSeal) { s.ObjectID = 0 }, CodeRange},
		"another object":        {func(s *BaseSeal) { s.ObjectID = 4711 }, CodeUnknown},
		"a generation":          {func(s *BaseSeal) { s.ObjectID = state.Generations[0].ObjectID }, CodeFragment},
		"no LSN":                {func(s *BaseSeal) { s.LSN = 0 }, CodeRange},
		"negative extent":       {func(s *BaseSeal) { s.Extent = -1 }, CodeRange},
		"a short fingerprint":   {func(s *BaseSeal) { s.Fingerprint = s.Fingerprint[:15] }, CodeEncoding},
		"no fragment":           {func(s *BaseSeal) { s.Fragments = nil }, CodeFragment},
		"negative rows":         {func(s *BaseSeal) { s.Fragments[1].Rows = -1 }, CodeRange},
		"too many rows":         {func(s *BaseSeal) { s.Fragments[0].Rows, s.Fragments[1].Rows = MaxID, MaxID }, CodeRange},
		"a negative table":      {func(s *BaseSeal) { s.Fragments[1].TableID = -1 }, CodeRange},
		"two runs of one table": {func(s *BaseSeal) { s.Fragments[2].TableID = s.Fragments[1].TableID }, CodeFragment},
	} {
		t.Run(what, func(t *testing.T) {
			s := good
			s.Fragments = append([]Fragment(nil), good.Fragments...)
			x.change(&s)
			wantCode(t, c.SealBase(ctx, s), x.code)
		})
	}
	for _, table := range []string{"fragments", "seal_receipts", "blob_versions"} {
		if n := one64(t, c, `SELECT count(*) FROM `+table); n != 0 {
			t.Errorf("%d rows of %s before the seal", n, table)
		}
	}
	for range 2 {
		if err := c.SealBase(ctx, good); err != nil {
			t.Fatal(err)
		}
	}
	for what, change := range map[string]func(s *BaseSeal){
		"extent":         func(s *BaseSeal) { s.Extent++ },
		"content":        func(s *BaseSeal) { s.ContentID[31]++ },
		"digest":         func(s *BaseSeal) { s.Digest[31]++ },
		"LSN":            func(s *BaseSeal) { s.LSN++ },
		"fingerprint":    func(s *BaseSeal) { s.Fingerprint = element(99) },
		"rows":           func(s *BaseSeal) { s.Fragments[1].Rows++ },
		"table":          func(s *BaseSeal) { s.Fragments[1].TableID = 4711 },
		"order":          func(s *BaseSeal) { s.Fragments[0], s.Fragments[1] = s.Fragments[1], s.Fragments[0] },
		"fewer":          func(s *BaseSeal) { s.Fragments = s.Fragments[:2] },
		"more fragments": func(s *BaseSeal) { s.Fragments = append(s.Fragments, Fragment{4711, 0}) },
	} {
		t.Run("again with another "+what, func(t *testing.T) {
			s := good
			s.Fragments = append([]Fragment(nil), good.Fragments...)
			change(&s)
			wantCode(t, c.SealBase(ctx, s), CodeImmutable)
		})
	}
	for query, want := range map[string]int64{
		`SELECT count(*) FROM fragments WHERE lsn = 7`:                                                         3,
		`SELECT count(*) FROM seal_receipts WHERE byte_extent = 8192`:                                          1,
		`SELECT count(*) FROM blob_versions WHERE layout = 'native' AND native_count = 9`:                      1,
		`SELECT count(*) FROM objects WHERE state = 'sealed' AND graph_seq IS NOT NULL AND byte_extent = 8192`: 1,
	} {
		if got := one64(t, c, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	// One whose job is over is not its any more.
	late, err := c.ReserveObject(ctx, job.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.EndJob(ctx, job.ID, 1, 1, context.Canceled); err != nil {
		t.Fatal(err)
	}
	wantCode(t, c.SealBase(ctx, baseSealOf(late, 7, 0)), CodeAcquire)
	if _, err := c.Claim(ctx, []int64{late.ObjectID}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, c.SealBase(ctx, baseSealOf(late, 7, 0)), CodeState)
	if n := collectAll(t, c); n != 2 {
		t.Errorf("%d collected", n)
	}
	wantCode(t, c.SealBase(ctx, good), CodeUnknown)
}

// TestFenceBase: a base is complete, of one state that the head has, and adds up to
// what it replaces; in Prepare, and again in Adopt.
func TestFenceBase(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{Shards: 2})
	l := newLog(t, c)
	for range 4 {
		l.publish(l.rotate()...)
	}
	head := l.publishBase(l.stateNow().Timeline, l.compact(2, 2))
	collectAll(t, c)
	job := l.compact(3, 2)
	good := job.publication(head)
	other := l.compact(2, 1)
	gone := l.compact(3, 1)
	if err := c.EndJob(ctx, gone.job.ID, 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	reserved, err := c.ReserveObject(ctx, job.job.ID)
	if err != nil {
		t.Fatal(err)
	}
	withoutSchema := l.compact(3, 2) // its second object
	ahead, behind := l.compact(5, 1), l.compact(1, 1)
	sealed := l.stateNow().Generations
	for what, x := range map[string]struct {
		change func(p *Publication)
		code   Code
	}{
		"no object":                    {func(p *Publication) { p.Base.Objects = nil }, CodeFragment},
		"no LSN":                       {func(p *Publication) { p.Base.LSN = 0 }, CodeRange},
		"generations, too":             {func(p *Publication) { p.Generations = contributions(t, c, l.rotate()) }, CodeGeneration},
		"a short sum":                  {func(p *Publication) { p.Base.Objects[0].Sum = emptySum[:15] }, CodeEncoding},
		"an object twice":              {func(p *Publication) { p.Base.Objects[1] = p.Base.Objects[0] }, CodeFragment},
		"an object that is none":       {func(p *Publication) { p.Base.Objects[1].ObjectID = 0 }, CodeRange},
		"an unknown object":            {func(p *Publication) { p.Base.Objects[1].ObjectID = 4711 }, CodeFragment},
		"an object that is not sealed": {func(p *Publication) { p.Base.Objects[1].ObjectID = reserved.ObjectID }, CodeFragment},
		"a generation as an object":    {func(p *Publication) { p.Base.Objects[1].ObjectID = sealed[0].ObjectID }, CodeFragment},
		"an object that nothing roots": {func(p *Publication) { p.Base.Objects = gone.base.Objects }, CodeFragment},
		"an object of another LSN":     {func(p *Publication) { p.Base.Objects[0].ObjectID = other.base.Objects[0].ObjectID }, CodeFragment},
		"no schema":                    {func(p *Publication) { p.Base.Objects = p.Base.Objects[1:] }, CodeFragment},
		"the schema behind":            {func(p *Publication) { o := p.Base.Objects; o[0], o[1] = o[1], o[0] }, CodeFragment},
		"two without the schema":       {func(p *Publication) { p.Base.Objects[0].ObjectID = withoutSchema.base.Objects[1].ObjectID }, CodeFragment},
		"a later LSN than the head":    {func(p *Publication) { p.Base = &ahead.base }, CodeFragment},
		"an older LSN than the base":   {func(p *Publication) { p.Base = &behind.base }, CodeFragment},
		"another LSN":                  {func(p *Publication) { p.Base.LSN = 4 }, CodeFragment},
		"another sum":                  {func(p *Publication) { p.Base.Objects[0].Sum = element(1) }, CodeSum},
		"an object left out":           {func(p *Publication) { p.Base.Objects = p.Base.Objects[:1] }, CodeSum},
		"another revision":             {func(p *Publication) { p.ExpectedRevision++ }, CodeConflict},
		"another representation":       {func(p *Publication) { p.ExpectedRepresentation++ }, CodeConflict},
		"another timeline":             {func(p *Publication) { p.TimelineID++ }, CodeUnknown},
	} {
		p := good
		p.Base = &Base{LSN: good.Base.LSN, Objects: append([]BaseContribution(nil), good.Base.Objects...)}
		x.change(&p)
		t.Run(what, func(t *testing.T) {
			_, err := c.Prepare(ctx, p)
			wantCode(t, err, x.code)
		})
	}
	// A base of the same LSN as the one before is allowed.
	if err := l.prepare(other.publication(head)).Abandon(ctx); err != nil {
		t.Fatal(err)
	}
	prepared := l.prepare(good)
	for query, want := range map[string]int64{
		`SELECT count(*) FROM owner_representations`: 3,
		`SELECT count(*) FROM owner_blobs`:           2,
		`SELECT count(*) FROM worlds`:                1,
	} {
		if got := one64(t, c, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	a, err := prepared.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	attempt := a.attempt
	a.publication.Base = &Base{LSN: good.Base.LSN, Objects: good.Base.Objects[:1]}
	_, err = a.Adopt(ctx)
	wantCode(t, err, CodeImmutable)
	a.attempt = attempt
	a.candidate = head.RepresentationID
	_, err = a.Adopt(ctx)
	wantCode(t, err, CodeManifest)
	a.attempt = attempt
	// The job may end: the recovery owner retains the objects.
	if err := c.EndJob(ctx, job.job.ID, 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Adopt(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestFenceBaseCut: a generation that has commits on both sides of the base's LSN
// would be lost or read twice.
func TestFenceBaseCut(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{})
	l := newLog(t, c)
	shard := s.Shards[0].ID
	if _, err := c.ReserveGeneration(ctx, shard, 2); err != nil {
		t.Fatal(err)
	}
	if err := c.SetCurrentGeneration(ctx, shard, 2); err != nil {
		t.Fatal(err)
	}
	seal := sealOf(s.Generations[0]) // commits 1 to 10
	if err := c.SealGeneration(ctx, seal); err != nil {
		t.Fatal(err)
	}
	l.reload()
	l.publish(ShardGeneration{shard, 1})
	head := l.stateNow().Timeline
	for _, lsn := range []int64{1, 9} {
		_, err := c.Prepare(ctx, ptr(l.compact(lsn, 1)).publication(head))
		wantCode(t, err, CodeFragment)
	}
	l.publishBase(head, l.compact(10, 1))
}

// TestFenceAdoptBase: what changed since it was prepared is noticed at the adoption.
func TestFenceAdoptBase(t *testing.T) {
	for what, x := range map[string]struct {
		sql  string
		code Code
	}{
		"a fragment":           {`UPDATE fragments SET rows = rows + 1 WHERE ordinal = 1`, CodeDigest},
		"a fragment less":      {`DELETE FROM fragments WHERE ordinal = 2`, CodeDigest},
		"the object's seal":    {`UPDATE objects SET byte_extent = byte_extent + 1 WHERE object_id = (SELECT max(object_id) FROM fragments)`, CodeDigest},
		"the object's state":   {`UPDATE objects SET state = 'quarantined' WHERE object_id = (SELECT max(object_id) FROM fragments)`, CodeFragment},
		"its roots":            {`DELETE FROM owner_objects WHERE purpose = 'output'; DELETE FROM owner_blobs`, CodeFragment},
		"a generation":         {`UPDATE generations SET last_lsn = 1 WHERE generation = 2`, CodeDigest},
		"an entry of the head": {`UPDATE manifest_entries SET contribution = zeroblob(16) WHERE contribution_role = 'update' AND position = 0`, CodeDigest},
		"an entry of the base": {`UPDATE manifest_entries SET contribution = zeroblob(16) WHERE contribution_role = 'base'`, CodeDigest},
		"the candidate":        {`UPDATE representations SET entry_count = 1 WHERE representation_id = (SELECT max(representation_id) FROM representations)`, CodeManifest},
		"the candidate's sum":  {`UPDATE representations SET contribution_sum = zeroblob(16) WHERE representation_id = (SELECT max(representation_id) FROM representations)`, CodeSum},
		"the candidate's world": {`INSERT INTO worlds SELECT world_id + 500, admitted_cut_id, lsn, schema_id, live_count, composite_fingerprint, NULL FROM worlds;
			UPDATE representations SET world_id = world_id + 500 WHERE representation_id = (SELECT max(representation_id) FROM representations)`, CodeCorrupt},
		"the candidate's entries": {`DELETE FROM representation_chunks WHERE representation_id = (SELECT max(representation_id) FROM representations)`, CodeManifest},
		"the candidate's order": {`UPDATE representation_chunks SET chunk_id = (SELECT max(chunk_id) FROM manifest_entries WHERE contribution_role = 'update' AND position = 0), entries = 2
			WHERE representation_id = (SELECT max(representation_id) FROM representations)`, CodeCorrupt},
		"nothing": {`SELECT 1`, ""},
	} {
		t.Run(what, func(t *testing.T) {
			ctx := t.Context()
			c, err := Open(ctx, Options{Dir: makeStore(t, Options{})})
			if err != nil {
				t.Fatal(err)
			}
			l := newLog(t, c)
			l.publish(l.rotateMany(3)...)
			a := l.begin(ptr(l.compact(2, 1)).publication(l.stateNow().Timeline))
			withoutGuards(t, c, func(ctx context.Context, tx *writeTx) error {
				if _, err := tx.ExecContext(ctx, `PRAGMA defer_foreign_keys = ON`); err != nil {
					return err
				}
				_, err := tx.ExecContext(ctx, x.sql)
				return err
			})
			_, err = a.Adopt(ctx)
			if x.code == "" && err != nil || x.code != "" && err == nil {
				t.Errorf("error is %v, want %q", err, x.code)
			}
			if x.code != "" {
				wantCode(t, err, x.code)
			}
			if n := one64(t, c, `SELECT revision FROM timelines`); (n == 2) != (x.code == "") {
				t.Errorf("revision %d", n)
			}
			if err := c.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFenceUnregistered: an object without a blob is in no manifest.
func TestFenceUnregistered(t *testing.T) {
	ctx := t.Context()
	c, err := Open(ctx, Options{Dir: makeStore(t, Options{})})
	if err != nil {
		t.Fatal(err)
	}
	l := newLog(t, c)
	l.publish(l.rotate()...)
	p := ptr(l.compact(1, 1)).publication(l.stateNow().Timeline)
	withoutGuards(t, c, func(ctx context.Context, tx *writeTx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM blob_versions WHERE native_object_id = ?`, p.Base.Objects[0].ObjectID)
		return err
	})
	_, err = c.Prepare(ctx, p)
	wantCode(t, err, CodeFragment)
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
}

// TestCompactionRequests: the operation says what was asked for.
func TestCompactionRequests(t *testing.T) {
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	l.publish(l.rotate()...)
	head := l.stateNow().Timeline
	job := l.compact(1, 2)
	l.publishBase(head, job)
	var request, outcome string
	if err := c.reads.QueryRow(`SELECT request, outcome FROM operations ORDER BY rowid DESC LIMIT 1`).Scan(&request, &outcome); err != nil {
		t.Fatal(err)
	}
	o := job.base.Objects
	want := fmt.Sprintf("compact/1 timeline=%d revision=%d representation=%d lsn=1 objects=%d:%x %d:%x", head.ID, head.Revision, head.RepresentationID, o[0].ObjectID, o[0].Sum, o[1].ObjectID, o[1].Sum)
	if request != want {
		t.Errorf("request %q, want %q", request, want)
	}
	after := l.stateNow().Timeline
	if want := fmt.Sprintf("publish/1 revision=%d representation=%d world=%d", after.Revision, after.RepresentationID, head.WorldID); outcome != want {
		t.Errorf("outcome %q, want %q", outcome, want)
	}
}

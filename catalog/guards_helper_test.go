package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/migrations"
)

// fixture is a catalog with at least one row in every table that can have one.
// Cases run against it in transactions that are rolled back.
type fixture struct {
	dir    string
	db     *sql.DB
	schema []migrations.Object

	messages map[string]bool // texts of RAISE seen
	checks   map[string]bool // texts of CHECK seen
}

// The fixture's ids, as a new store hands them out.
const (
	fixSchema, fixWorld, fixCut, fixIndexState = 1, 2, 3, 4
	fixRepresentation, fixOwner, fixTimeline   = 5, 6, 7
	fixShard, fixSealed                        = 8, 9 // generation 1 of the shard, sealed
	fixOpen                                    = 12   // generation 2, open
	fixFree                                    = 500  // reserved by the block, used by no row
	fixIndexObject, fixIndexBlob               = fixFree - 3, fixFree - 4
	fixBase, fixFragment, fixBaseBlob          = fixFree - 5, fixFree - 7, fixFree - 8 // a base object with two fragments
	fixClaimed                                 = fixFree - 9                           // with an intent
	fixSession, fixReader                      = fixFree - 10, fixFree - 11            // live, and an owner of it
	fixBranch, fixBranchOwner                  = fixFree - 12, fixFree - 13            // of the head
	fixMerge                                   = fixFree - 14                          // owner of a merge that made the base object, for which the timeline waits
	fixSegment, fixState                       = fixFree - 15, fixFree - 16            // a segment, and an index state that no representation has
	fixLive                                    = fixFree - 17                          // a chunk of a base entry that no representation has

	fixUnreserved = int64(1 << 40)
)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	ctx := t.Context()
	dir := t.TempDir()
	c, err := Open(ctx, Options{Dir: dir, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Initialize(ctx, Creation{Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	g, err := c.ReserveGeneration(ctx, fixShard, 2)
	if err != nil {
		t.Fatal(err)
	}
	if s.Timeline.ID != fixTimeline || s.Shards[0].ID != fixShard || s.Generations[0].ObjectID != fixSealed || g.ObjectID != fixOpen {
		t.Fatalf("ids of a new store changed: %+v, generation 2 is object %d", s, g.ObjectID)
	}
	if err := c.SealGeneration(ctx, sealOf(s.Generations[0])); err != nil {
		t.Fatal(err)
	}
	if err := c.ProjectSchema(ctx, Projection{SchemaVersion: 2,
		Tables:  []TableRow{{ID: 20, Version: 1, Name: "t", SQL: "CREATE TABLE t(a)", Columns: 1, Durable: true, Resident: "all"}},
		Indexes: []IndexRow{{ID: 21, TableID: 20, Version: 2, Name: "i", SQL: "CREATE INDEX i ON t(a)", Origin: "c", Columns: "a"}},
	}); err != nil {
		t.Fatal(err)
	}
	// The sealed generation is about to become the head.
	name := ShardGeneration{fixShard, 1}
	if err := c.Register(ctx, name); err != nil {
		t.Fatal(err)
	}
	seal := sealOf(s.Generations[0])
	if _, err := c.Prepare(ctx, Publication{TimelineID: fixTimeline, ExpectedRepresentation: fixRepresentation, LSN: seal.LastLSN,
		Fingerprint: seal.Fingerprint, Generations: []Contribution{{name, seal.Fingerprint}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.StartJob(ctx, "gc", "all"); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	f := &fixture{dir: dir, db: shell(t, dir), messages: map[string]bool{}, checks: map[string]bool{}}
	for _, stmt := range []string{
		object(fixFree-1, "kv", 90, ""),
		fmt.Sprintf(`INSERT INTO identity_tombstones VALUES (%d, '%s', 80, 'kv')`, fixFree-2, ObjectPath(fixFree-2, "kv")),
		object(fixIndexObject, "index", 70, ""), sealing(fixIndexObject)[0], sealing(fixIndexObject)[1],
		objectUpdate(fixIndexObject, "graph_seq = 3"),
		fmt.Sprintf(`INSERT INTO object_edges VALUES (%d, %d, 'own_native')`, fixIndexObject, fixSealed),
		fmt.Sprintf(`INSERT INTO blob_versions(blob_id, layout, native_object_id, index_object_id, native_count, augmented_count, registration_seq)
			VALUES (%d, 'IX02', %d, %d, 10, 10, 4)`, fixIndexBlob, fixSealed, fixIndexObject),
		object(fixBase, "kv", 60, ""), sealing(fixBase)[0], sealing(fixBase)[1],
		fragment(fixFragment, fixBase, 0, 0, 5), fragment(fixFragment+1, fixBase, 1, 20, 5),
		objectUpdate(fixBase, "graph_seq = 2"),
		fmt.Sprintf(`INSERT INTO blob_versions(blob_id, layout, native_object_id, native_count, augmented_count, registration_seq)
			VALUES (%d, 'native', %d, 10, 10, 2)`, fixBaseBlob, fixBase),
		object(fixClaimed, "kv", 61, ""), objectUpdate(fixClaimed, "state = 'gc_claimed'"), intent(fixClaimed, 1),
		session(fixSession), reader(fixReader, fixSession),
		fmt.Sprintf(`INSERT INTO owners(owner_id, kind) VALUES (%d, 'branch_point')`, fixBranchOwner),
		fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, fixBranchOwner, fixRepresentation),
		branch(fixBranch, "before", fixBranchOwner),
		`INSERT INTO store_lineage VALUES (zeroblob(16), '2026-01-01T00:00:00Z')`,
		fmt.Sprintf(`INSERT INTO owners(owner_id, kind) VALUES (%d, 'cache')`, fixMerge),
		fmt.Sprintf(`INSERT INTO owner_blobs VALUES (%d, %d)`, fixMerge, fixBaseBlob),
		`BEGIN; ` + merge(1, fixMerge, 0) + `; ` + addOutput(1, 0, fixMerge, fixBaseBlob) + `; COMMIT`,
		waitingFor(fixTimeline, 1),
		object(fixSegment, "index", 62, ""), sealing(fixSegment)[0], sealing(fixSegment)[1], segmentRowOf(fixSegment, 20),
		fmt.Sprintf(`INSERT INTO index_states VALUES (%d, 128, 128, zeroblob(32))`, fixState),
		stateSegment(fixState, 0, fixSegment), compactedUpTo(fixState, fixShard, 3), caughtUpTo(fixState, 20, fixShard, 2),
		fmt.Sprintf(`INSERT INTO generation_tables VALUES (%d, 20, 3)`, fixOpen),
		fmt.Sprintf(`INSERT INTO manifest_entries VALUES (%d, 0, %d, %d, 'base', zeroblob(16), zeroblob(32))`, fixLive, fixBase, fixBaseBlob),
		liveOf(fixLive, 0, 0, 5),
	} {
		// as many incarnations as the cases use
		if _, err := f.db.ExecContext(ctx, `UPDATE catalog_info SET next_incarnation = 100, next_graph_seq = 10`); err != nil {
			t.Fatal(err)
		}
		if _, err := f.db.ExecContext(ctx, stmt); err != nil {
			t.Fatalf("%s: %v", stmt, err)
		}
	}
	if f.schema, err = migrations.Stored(ctx, f.db); err != nil {
		t.Fatal(err)
	}
	return f
}

// sealOf is a plausible seal of an open generation.
func sealOf(g Generation) Seal {
	s := Seal{ShardID: g.ShardID, Generation: g.Generation, ObjectID: g.ObjectID, Extent: 4096,
		FirstLSN: 10*g.Generation - 9, LastLSN: 10 * g.Generation, Records: 10, Fingerprint: make([]byte, 16)}
	s.ContentID[0], s.Digest[0], s.Fingerprint[0] = 1, 2, 3
	return s
}

// object spells an INSERT into objects with the right path, unless path is given.
func object(id int64, kind string, incarnation int, path string) string {
	if path == "" {
		path = ObjectPath(id, kind)
	}
	return fmt.Sprintf(`INSERT INTO objects(object_id, kind, incarnation, attempt_id, relative_path) VALUES (%d, '%s', %d, zeroblob(16), '%s')`,
		id, kind, incarnation, path)
}

// fragment spells an INSERT into fragments.
func fragment(id, object int64, ordinal, table, lsn int) string {
	return fmt.Sprintf(`INSERT INTO fragments VALUES (%d, %d, %d, %d, %d, 5, zeroblob(32))`, id, object, ordinal, table, lsn)
}

// intent spells an INSERT into gc_work.
func intent(object int64, generation int) string {
	return fmt.Sprintf(`INSERT INTO gc_work(object_id, deletion_generation) VALUES (%d, %d)`, object, generation)
}

// session spells an INSERT into sessions.
func session(id int64) string {
	return fmt.Sprintf(`INSERT INTO sessions(session_id, boot_id, pid, pid_namespace, start_ticks, started_at)
		VALUES (%d, '00000000-0000-4000-8000-000000000000', 7, 8, 9, '2026-01-01T00:00:00Z')`, id)
}

// reader spells an INSERT of an owner of a session.
func reader(id, session int64) string {
	return fmt.Sprintf(`INSERT INTO owners(owner_id, kind, session_id) VALUES (%d, 'reader', %d)`, id, session)
}

// branch spells an INSERT into branch_points, of the head.
func branch(id int64, name string, owner int64) string {
	return fmt.Sprintf(`INSERT INTO branch_points(branch_id, name, owner_id, timeline_id, timeline, world_id, representation_id, created_at, digest)
		VALUES (%d, '%s', %d, %d, 'main', %d, %d, '2026-01-01T00:00:00Z', zeroblob(32))`, id, name, owner, fixTimeline, fixWorld, fixRepresentation)
}

// merge spells an INSERT into completed_merges; key is the first byte of its key.
func merge(key byte, owner int64, last int) string {
	return fmt.Sprintf(`INSERT INTO completed_merges(cache_key, recipe, ordered_inputs, schema_id, owner_id, last_output, digest)
		VALUES (%s, x'01', x'02', %d, %d, %d, zeroblob(32))`, mergeKey(key), fixSchema, owner, last)
}

func mergeKey(key byte) string { return fmt.Sprintf("x'%064x'", key) }

// addOutput spells an INSERT into completed_merge_outputs.
func addOutput(key byte, ordinal int, owner, blob int64) string {
	return fmt.Sprintf(`INSERT INTO completed_merge_outputs VALUES (%s, %d, %d, %d, zeroblob(16))`, mergeKey(key), ordinal, owner, blob)
}

// waitingFor spells an INSERT into completed_merge_waiting.
func waitingFor(timeline int64, key byte) string {
	return fmt.Sprintf(`INSERT INTO completed_merge_waiting VALUES (%d, %s)`, timeline, mergeKey(key))
}

// segmentRowOf spells an INSERT into segments, of the primary index of a table.
func segmentRowOf(object int64, table int) string {
	return fmt.Sprintf(`INSERT INTO segments(object_id, index_id, table_id, fragments, entries, digest) VALUES (%d, %d, %d, x'01', 1, zeroblob(32))`, object, table, table)
}

// stateSegment spells an INSERT into index_state_segments, of the primary index of table 20.
func stateSegment(state int64, ordinal int, object int64) string {
	return fmt.Sprintf(`INSERT INTO index_state_segments VALUES (%d, 20, %d, %d, 20, x'01')`, state, ordinal, object)
}

func compactedUpTo(state, shard int64, generation int) string {
	return fmt.Sprintf(`INSERT INTO index_state_compacted VALUES (%d, %d, %d)`, state, shard, generation)
}

func caughtUpTo(state int64, index int, shard int64, generation int) string {
	return fmt.Sprintf(`INSERT INTO index_state_catchup VALUES (%d, %d, %d, %d)`, state, index, shard, generation)
}

// liveOf spells an INSERT into entry_fragments.
func liveOf(chunk int64, position, ordinal, rows int) string {
	return fmt.Sprintf(`INSERT INTO entry_fragments VALUES (%d, %d, %d, %d, NULL, NULL)`, chunk, position, ordinal, rows)
}

// outcome of one case.
type outcome struct {
	code Code
	text string
}

// run executes statements in a transaction, the last one being the case. With
// commit, COMMIT is part of it; the fixture survives because it must fail.
func (f *fixture) run(t *testing.T, commit bool, statements ...string) outcome {
	t.Helper()
	ctx := t.Context()
	conn, err := f.db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	var failure error
	for i, s := range statements {
		if _, failure = conn.ExecContext(ctx, s); failure != nil {
			if i < len(statements)-1 {
				t.Errorf("setup %s: %v", s, failure)
			}
			break
		}
	}
	if failure == nil && commit {
		if _, failure = conn.ExecContext(ctx, `COMMIT`); failure == nil {
			t.Fatalf("COMMIT took effect after %s", statements[len(statements)-1])
		}
	}
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`); err != nil {
		t.Errorf("rollback: %v", err)
	}
	if failure == nil {
		return outcome{}
	}
	code, _ := classify(failure)
	o := outcome{code, failure.Error()}
	f.observe(o.text)
	return o
}

// inside runs setup and then whatever body asks for in one transaction that is
// rolled back. A refused statement changes nothing, so many fit into one.
func (f *fixture) inside(t *testing.T, setup []string, body func(run func(sql string) outcome)) {
	t.Helper()
	ctx := t.Context()
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tx.Rollback(); err != nil {
			t.Errorf("rollback: %v", err)
		}
	}()
	for _, s := range setup {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	body(func(sql string) outcome {
		_, err := tx.ExecContext(ctx, sql)
		if err == nil {
			return outcome{}
		}
		code, _ := classify(err)
		f.observe(err.Error())
		return outcome{code, err.Error()}
	})
}

var (
	raiseText = regexp.MustCompile(`RAISE\(ABORT,\s*'((?:[^']|'')*)'\)`)
	checkText = regexp.MustCompile(`CHECK constraint failed: (?s:(.*?)) \(\d+\)`)
)

// observe remembers which guard or CHECK an error text came from.
func (f *fixture) observe(text string) {
	for _, message := range f.raises() {
		if strings.Contains(text, message) {
			f.messages[message] = true
		}
	}
	if m := checkText.FindStringSubmatch(text); m != nil {
		f.checks[normalSQL(m[1])] = true
	}
}

// raises lists every text of the schema's triggers.
func (f *fixture) raises() (texts []string) {
	for _, o := range f.schema {
		if o.Type == "trigger" {
			for _, m := range raiseText.FindAllStringSubmatch(o.SQL, -1) {
				texts = append(texts, strings.ReplaceAll(m[1], "''", "'"))
			}
		}
	}
	return texts
}

// withoutTriggers drops the triggers on a table, so that its CHECKs, keys and
// references answer; the transaction's end brings them back.
func (f *fixture) withoutTriggers(tables ...string) (statements []string) {
	for _, o := range f.schema {
		for _, table := range tables {
			if o.Type == "trigger" && o.Table == table {
				statements = append(statements, "DROP TRIGGER "+o.Name)
			}
		}
	}
	return statements
}

// tables lists the tables of the catalog, without the migration library's.
func (f *fixture) tables() (names []string) {
	for _, o := range f.schema {
		if o.Type == "table" && o.Name != migrations.Table {
			names = append(names, o.Name)
		}
	}
	return names
}

// checkExpressions cuts the CHECKs out of a CREATE TABLE.
func checkExpressions(sql string) (list []string) {
	sql = normalSQL(sql)
	for {
		_, rest, found := strings.Cut(sql, "CHECK (")
		if !found {
			return list
		}
		depth, quoted := 1, false
		for i := 0; i < len(rest); i++ {
			switch c := rest[i]; {
			case c == '\'':
				quoted = !quoted
			case quoted:
			case c == '(':
				depth++
			case c == ')':
				depth--
			}
			if depth == 0 {
				list = append(list, rest[:i])
				sql = rest[i:]
				break
			}
		}
	}
}

package catalog

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/jmoiron/sqlx"
)

// log drives the generations of a store as an engine does: one commit in every
// shard's generation, then all are sealed and the next ones are current.
type log struct {
	t     testing.TB
	c     *Catalog
	name  string // of the timeline
	state State
	lsn   int64
	next  map[int64]int64 // generation to seal next, by shard
	sum   []byte
	rows  int64
	// of what is published and sealed: nothing, unless a test is about it
	schema Projection
	tables []TableRecords
	seed   []byte // fingerprint of what rotate seals; nil: one that no other object has
}

func newLog(t testing.TB, c *Catalog) *log {
	t.Helper()
	return newLogOf(t, c, MainTimeline)
}

// newLogOf drives the generations of one timeline.
func newLogOf(t testing.TB, c *Catalog, timeline string) *log {
	t.Helper()
	l := &log{t: t, c: c, name: timeline}
	l.reload()
	return l
}

// reload takes over what the catalog has.
func (l *log) reload() {
	l.t.Helper()
	s, err := l.c.StateOf(context.Background(), l.name)
	if err != nil {
		l.t.Fatal(err)
	}
	l.state, l.lsn, l.sum, l.rows = s, s.Timeline.LSN, s.Timeline.Fingerprint, s.Timeline.LiveCount
	l.next = map[int64]int64{}
	for _, sh := range s.Shards {
		l.next[sh.ID] = sh.ReplayFrom
	}
	for _, g := range s.Generations {
		if g.State == GenerationOpen {
			continue
		}
		l.next[g.ShardID] = g.Generation + 1
		if g.Generation >= s.Shards[indexOf(s.Shards, g.ShardID)].ReplayFrom {
			l.lsn = max(l.lsn, g.LastLSN)
			l.sum = mustAdd(l.t, l.sum, g.Fingerprint)
			l.rows += g.Records
		}
	}
}

func indexOf(shards []Shard, id int64) int {
	for i := range shards {
		if shards[i].ID == id {
			return i
		}
	}
	return -1
}

func mustAdd(t testing.TB, a, b []byte) []byte {
	t.Helper()
	sum, err := addSums(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// element is an element of the algebra that no other seed has.
func element(seed int64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(seed)*0x9e3779b97f4a7c15)
	return binary.LittleEndian.AppendUint64(b, ^uint64(seed)*0xc2b2ae3d27d4eb4f)
}

// contributions are those of generations that lost no table: their fingerprints.
func contributions(t testing.TB, c *Catalog, gens []ShardGeneration) (list []Contribution) {
	t.Helper()
	for _, name := range gens {
		k := Contribution{name, make([]byte, sumBytes)} // one that is not there is refused by its name
		err := c.reads.GetContext(context.Background(), &k.Sum, `SELECT o.native_fingerprint FROM generations g JOIN objects o ON o.object_id = g.object_id
			WHERE g.shard_id = ? AND g.generation = ? AND o.native_fingerprint IS NOT NULL`, name.ShardID, name.Generation)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			t.Fatal(err)
		}
		list = append(list, k)
	}
	return list
}

// rotate writes one commit, seals the current generation of every shard and goes
// on in the next ones. It returns what was sealed.
func (l *log) rotate() []ShardGeneration {
	l.t.Helper()
	ctx := context.Background()
	var sealed, next []ShardGeneration
	l.lsn++
	for _, sh := range l.state.Shards {
		n := l.next[sh.ID]
		l.next[sh.ID]++
		sealed, next = append(sealed, ShardGeneration{sh.ID, n}), append(next, ShardGeneration{sh.ID, n + 1})
	}
	if _, err := l.c.ReserveGenerations(ctx, next...); err != nil {
		l.t.Fatal(err)
	}
	if err := l.c.SetCurrentGenerations(ctx, next...); err != nil {
		l.t.Fatal(err)
	}
	for _, g := range sealed {
		gs, err := l.c.ReserveGenerations(ctx, g)
		if err != nil {
			l.t.Fatal(err)
		}
		s := Seal{ShardID: g.ShardID, Generation: g.Generation, ObjectID: gs[0].ObjectID, Extent: 4096, FirstLSN: l.lsn, LastLSN: l.lsn, Records: 3, Fingerprint: element(gs[0].ObjectID), Tables: l.tables}
		s.ContentID[0], s.Digest[0] = byte(gs[0].ObjectID), byte(g.Generation)
		if l.seed != nil {
			s.Fingerprint = l.seed
		}
		if err := l.c.SealGeneration(ctx, s); err != nil {
			l.t.Fatal(err)
		}
		l.sum = mustAdd(l.t, l.sum, s.Fingerprint)
		l.rows += s.Records
	}
	return sealed
}

// publication is the cut as it is now, of the given generations, on the head.
func (l *log) publication(gens ...ShardGeneration) Publication {
	l.t.Helper()
	s, err := l.c.StateOf(context.Background(), l.name)
	if err != nil {
		l.t.Fatal(err)
	}
	return l.cut(s.Timeline, gens...)
}

func (l *log) cut(head Timeline, gens ...ShardGeneration) Publication {
	return Publication{TimelineID: head.ID, ExpectedRevision: head.Revision, ExpectedRepresentation: head.RepresentationID,
		LSN: l.lsn, LiveCount: l.rows, Fingerprint: l.sum, Schema: l.schema, Generations: contributions(l.t, l.c, gens)}
}

// publish runs all steps of a publication of generations.
func (l *log) publish(gens ...ShardGeneration) *Adopted {
	l.t.Helper()
	ctx := context.Background()
	if err := l.c.Register(ctx, gens...); err != nil {
		l.t.Fatal(err)
	}
	adopted := l.adopt(l.publication(gens...))
	if err := adopted.Retire(ctx); err != nil {
		l.t.Fatal(err)
	}
	return adopted
}

func (l *log) prepare(p Publication) *Prepared {
	l.t.Helper()
	prepared, err := l.c.Prepare(context.Background(), p)
	if err != nil {
		l.t.Fatal(err)
	}
	return prepared
}

func (l *log) begin(p Publication) *Attempting {
	l.t.Helper()
	a, err := l.prepare(p).Begin(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	return a
}

func (l *log) adopt(p Publication) *Adopted {
	l.t.Helper()
	a, err := l.begin(p).Adopt(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	return a
}

// rotateMany is rotate n times of a store of one shard, registered as well, in
// one transaction.
func (l *log) rotateMany(n int) (sealed []ShardGeneration) {
	l.t.Helper()
	shard := l.state.Shards[0].ID
	err := l.c.write(context.Background(), "many", func(ctx context.Context, tx *writeTx) error {
		for range n {
			g := ShardGeneration{shard, l.next[shard]}
			l.next[shard]++
			l.lsn++
			if _, err := reserveGeneration(ctx, tx, l.c.identity(), shard, g.Generation+1); err != nil {
				return err
			}
			row, err := getGeneration(ctx, tx, shard, g.Generation)
			if err != nil {
				return err
			}
			s := Seal{ShardID: shard, Generation: g.Generation, ObjectID: row.ObjectID, Extent: 4096, FirstLSN: l.lsn, LastLSN: l.lsn, Records: 3, Fingerprint: element(row.ObjectID), Tables: l.tables}
			if err := l.c.seal(ctx, tx, row, &s); err != nil {
				return err
			}
			if row, err = getGeneration(ctx, tx, shard, g.Generation); err != nil {
				return err
			}
			if err := register(ctx, tx, row); err != nil {
				return err
			}
			l.sum = mustAdd(l.t, l.sum, s.Fingerprint)
			l.rows += s.Records
			sealed = append(sealed, g)
		}
		return l.c.updateShard(ctx, tx, shard, func(s *shardRow) error { s.CurrentGeneration = l.next[shard]; return nil })
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return sealed
}

// tamper changes rows with every trigger out of the way and without references,
// over a connection of the caller.
func tamper(t *testing.T, c *Catalog, db *sql.DB, fn func(ctx context.Context, tx *writeTx) error) {
	t.Helper()
	ctx := t.Context()
	tx, err := sqlx.NewDb(db, "sqlite").BeginTxx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names, texts []string
	for list, column := range map[*[]string]string{&names: "name", &texts: "sql"} {
		if err := tx.SelectContext(ctx, list, `SELECT `+column+` FROM sqlite_schema WHERE type = 'trigger' ORDER BY name`); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		if _, err := tx.ExecContext(ctx, `DROP TRIGGER `+name); err != nil {
			t.Fatal(err)
		}
	}
	if err := fn(ctx, &writeTx{Tx: tx}); err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

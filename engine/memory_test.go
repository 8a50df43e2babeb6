package engine

import (
	"errors"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/wal"
)

// TestMemoryStore: a store without a directory commits, rolls back, refuses what
// needs a log, and tells once of its first durable table.
func TestMemoryStore(t *testing.T) {
	var events []Event
	s, err := Open(t.Context(), Options{Memory: true, Events: func(e Event) { events = append(events, e) }})
	must(t, err)
	wait(t, s, update(t, s, createVolatile("v")))
	if len(events) != 0 {
		t.Errorf("events of a volatile table: %v", events)
	}
	for _, name := range []string{"t", "u"} {
		wait(t, s, update(t, s, createTable(name)))
	}
	if len(events) != 1 || events[0].Kind != EventEphemeral {
		t.Errorf("events: %v", events)
	}
	old := s.Durable()
	lsn := update(t, s, all(put("t", 1, 1, "one"), put("v", 2, 2, "two")))
	wait(t, s, lsn)
	if lsn != old.LSN()+1 || s.Durable().LSN() != lsn || s.Head().LSN() != lsn || count(old, "t") != 0 || count(s.Durable(), "t") != 1 || text(t, s.Durable(), "v", 2) != "two" {
		t.Errorf("commit %d after %d", lsn, old.LSN())
	}
	tx, err := s.Begin(t.Context())
	must(t, err)
	must(t, put("t", 2, 2, "never")(tx))
	tx.Rollback()
	if count(s.Head(), "t") != 1 {
		t.Error("a rollback left a row")
	}
	checkStore(t, s)
	if err := s.Checkpoint(t.Context(), nil); !errors.Is(err, ErrInMemory) {
		t.Errorf("checkpoint: %v", err)
	}
	if _, err := s.RunJob(t.Context(), JobRequest{Kind: JobCheckpoint}); !errors.Is(err, ErrInMemory) {
		t.Errorf("job: %v", err)
	}
	if list, err := s.Jobs(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("jobs: %v, %v", list, err)
	}
	must(t, s.Close())
	if _, err := s.Begin(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("begin after close: %v", err)
	}
	if _, err := Open(t.Context(), Options{Memory: true, Dir: t.TempDir()}); err == nil {
		t.Error("a store in memory has a directory")
	}
}

// TestNewerSchemaRecord (ENG-AT-40): ENG-15: a record of a later layout is refused with both
// versions, and is no damage.
func TestNewerSchemaRecord(t *testing.T) {
	op, body, err := encodeChange(DropTable{Table: 1}, 1)
	must(t, err)
	body[0] = 9
	err = corruptIn("f.kv", 8, newReplay(emptyRoot(nil)).schema(wal.Schema{Op: op, Body: string(body)}, 8))
	var bad *CorruptError
	if !errors.Is(err, ErrNewer) || errors.As(err, &bad) {
		t.Errorf("%v", err)
	}
	if want := "engine: f.kv at offset 8: wal: file format is newer than this program: schema record of layout 9, known are 1 and 2"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

package catalog

import (
	"database/sql"
	"errors"
	"testing"

	"modernc.org/sqlite"
)

// fullError is what SQLite returns when there is no room.
func fullError(t *testing.T) error {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	defer db.Close()
	for _, text := range []string{"CREATE TABLE t(x)", "PRAGMA max_page_count = 3", "INSERT INTO t VALUES(zeroblob(100000))"} {
		if _, err = db.Exec(text); err != nil {
			break
		}
	}
	var full *sqlite.Error
	if !errors.As(err, &full) || full.Code() != 13 {
		t.Fatalf("a database without room: %v", err)
	}
	return err
}

// TestCommitWithoutRoom: a COMMIT that finds no room has a known outcome, and the
// handle goes on when there is room again.
func TestCommitWithoutRoom(t *testing.T) {
	full := fullError(t)
	dir := makeStore(t, Options{})
	refuse := false
	c, err := Open(t.Context(), Options{Dir: dir, Fault: &Seam{Commit: func(_ string, commit func() error) error {
		if refuse {
			return full
		}
		return commit()
	}}})
	if err != nil {
		t.Fatal(err)
	}
	before, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	name := ShardGeneration{before.Shards[0].ID, 2}
	refuse = true
	for range 2 {
		if _, err := c.ReserveGenerations(t.Context(), name); !errors.Is(err, ErrFull) || errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, ErrPoisoned) {
			t.Errorf("without room: %v", err)
		}
	}
	if after, err := c.State(t.Context()); err != nil || len(after.Generations) != len(before.Generations) {
		t.Errorf("%d generations after %d, %v", len(after.Generations), len(before.Generations), err)
	}
	refuse = false
	if _, err := c.ReserveGenerations(t.Context(), name); err != nil {
		t.Errorf("with room: %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

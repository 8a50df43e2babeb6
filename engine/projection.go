package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/tidemarkdb/tidemark/catalog"
)

// The catalog's tables "tables" and "indexes" show the schema to a person with
// a SQLite shell. They are written after the sync of a schema change and again
// at every open; nothing in the engine reads them. The committer of the change
// waits for the attempt, so that the shell shows the table once CREATE TABLE
// has returned, but a failure is not one of the commit.

// awaitProjection makes the waiter of a schema change's commit wait for the
// projection, too. The caller holds Store.mu.
func (s *Store) awaitProjection(lsn LSN) {
	s.chores.awaiting[lsn] = &awaited{done: make(chan struct{})}
	s.ddls.Add(1)
}

// projectedUpTo lets go of those who wait for changes up to lsn. The caller
// holds Store.mu.
func (s *Store) projectedUpTo(lsn LSN) {
	for at, a := range s.chores.awaiting {
		if at <= lsn {
			a.release()
			delete(s.chores.awaiting, at)
			s.ddls.Add(-1)
		}
	}
}

// abandonProjections lets go of everybody after a poison. The list stays: it
// still tells which of the commits that were never synced are schema changes.
// The caller holds Store.mu.
func (s *Store) abandonProjections() {
	for _, a := range s.chores.awaiting {
		a.release()
	}
}

// isSchemaChange reports whether a commit changed the schema and the catalog was
// not told yet.
func (s *Store) isSchemaChange(lsn LSN) bool {
	if s.ddls.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chores.awaiting[lsn] != nil
}

// awaited is what the committer of a schema change waits for. Guarded by
// Store.mu.
type awaited struct {
	done     chan struct{}
	released bool
}

func (a *awaited) release() {
	if !a.released {
		a.released = true
		close(a.done)
	}
}

// waitProjected waits for the projection of lsn, if it is a schema change's.
// The commit is durable, so the end of ctx only ends the wait.
func (s *Store) waitProjected(ctx context.Context, lsn LSN) error {
	if s.ddls.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	a := s.chores.awaiting[lsn]
	s.mu.Unlock()
	if a != nil {
		select {
		case <-a.done:
		case <-ctx.Done():
		}
	}
	return nil
}

// project tells the catalog the schema that a synced commit left.
func (s *Store) project(ctx context.Context, r *mark) error {
	err := s.cat.ProjectSchema(ctx, s.projection(r.schema))
	s.mu.Lock()
	s.chores.projected = r.schema // also after a failure: the next change or open tries again
	s.projectedUpTo(r.lsn)
	if err == nil {
		s.stats.Projections++
	}
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("engine: showing the schema in the catalog: %w", err)
	}
	s.event(Event{Kind: EventSchemaProjected, LSN: r.lsn})
	return nil
}

// projection writes a schema of the timeline in the catalog's terms.
func (s *Store) projection(schema *Schema) catalog.Projection {
	p := projection(schema)
	p.Timeline = s.opts.Timeline
	return p
}

// projection is a schema of the main timeline in the catalog's terms.
func projection(s *Schema) catalog.Projection {
	p := catalog.Projection{SchemaVersion: int64(s.Version())}
	for _, def := range s.Tables() {
		columns := len(def.Columns)
		if visible := def.Visible(); visible != nil {
			columns = len(visible)
		}
		p.Tables = append(p.Tables, catalog.TableRow{
			ID: int64(def.ID), Version: int64(def.Version), Name: def.Name, SQL: def.SQL, Columns: int64(columns),
			Durable: def.Durable, Resident: def.Resident.String(), Strict: def.Strict,
			WithoutRowid: def.WithoutRowid, AutoIncrement: def.AutoIncrement,
		})
		for _, ix := range def.Indexes {
			p.Indexes = append(p.Indexes, catalog.IndexRow{
				ID: int64(ix.ID), Version: int64(def.Version), TableID: int64(def.ID), Name: ix.Name, SQL: ix.SQL,
				Origin: ix.Origin, Unique: ix.Unique, Columns: indexTerms(def, ix),
			})
		}
	}
	return p
}

// indexTerms spells the columns of an index as a CREATE INDEX does.
func indexTerms(def *TableDef, ix *IndexDef) string {
	terms := make([]string, len(ix.Columns))
	for i, c := range ix.Columns {
		terms[i] = def.Columns[c.Column].Name
		if c.Collation != def.Columns[c.Column].Collation {
			terms[i] += " COLLATE " + c.Collation.String()
		}
		if c.Desc {
			terms[i] += " DESC"
		}
	}
	return strings.Join(terms, ", ")
}

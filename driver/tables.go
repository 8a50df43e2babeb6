package driver

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/vtab"
)

// tableCache holds what follows from table definitions, for all connections of
// an engine: what the bridge must know of a table, the serial that makes a
// changed definition another text in the mirrors, and the shadow.
//
// Definitions are immutable and an unchanged table keeps its pointer from
// schema to schema, so the pointer is the key.
type tableCache struct {
	store  *engine.Store
	shadow shadow

	conflicts conflictTargets
	texts     textCache

	foreign struct {
		sync.Mutex
		kept [keptSchemas]schemaKeys // of the schemas asked about last
		next int
	}

	triggers struct {
		sync.Mutex
		kept [keptSchemas]*schemaTriggers // of the schemas asked about last
		next int
	}

	mu     sync.Mutex
	byDef  map[*engine.TableDef]*tableEntry
	serial uint64
}

// tableEntry belongs to one definition.
type tableEntry struct {
	def    *engine.TableDef
	serial uint64
	load   func() (*vtab.TableInfo, error)
}

var _ vtab.Source = (*tableCache)(nil)

// keptDefinitions is how many outdated definitions are kept before a sweep.
const keptDefinitions = 4096

func newTableCache(store *engine.Store) *tableCache {
	return &tableCache{store: store, byDef: map[*engine.TableDef]*tableEntry{}}
}

// close releases the shadow.
func (t *tableCache) close() error { return errors.Join(t.shadow.close(), t.conflicts.close()) }

// TableInfo describes a table for the bridge.
func (t *tableCache) TableInfo(id engine.TableID, s *engine.Schema) (*vtab.TableInfo, error) {
	def := s.Table(id)
	if def == nil {
		return nil, newError("", ErrInternal, "table %d is not in the schema", id)
	}
	return t.info(def)
}

// info describes the table of a definition.
func (t *tableCache) info(def *engine.TableDef) (*vtab.TableInfo, error) {
	return t.entry(def).load()
}

// entry returns the entry of a definition, making it when it is new.
func (t *tableCache) entry(def *engine.TableDef) *tableEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.byDef[def]; e != nil {
		return e
	}
	if len(t.byDef) > keptDefinitions+2*len(t.store.Head().Schema().Tables()) {
		t.sweep()
	}
	t.serial++
	e := &tableEntry{def: def, serial: t.serial}
	e.load = sync.OnceValues(func() (*vtab.TableInfo, error) { return describeTable(def) })
	t.byDef[def] = e
	return e
}

// sweep drops the definitions that no new statement will meet. A connection that
// still shows one gets another serial for it and connects the table anew.
func (t *tableCache) sweep() {
	kept := map[*engine.TableDef]*tableEntry{}
	for _, s := range []*engine.Schema{t.store.Head().Schema(), t.store.Durable().Schema()} {
		for _, def := range s.Tables() {
			if e := t.byDef[def]; e != nil {
				kept[def] = e
			}
		}
	}
	t.byDef = kept
}

// describeTable reads what the definition's own fields do not hold from its
// text: CHECKs, DEFAULTs, foreign keys and conflict clauses.
func describeTable(def *engine.TableDef) (*vtab.TableInfo, error) {
	text, err := plainDDL(def.SQL)
	if err != nil {
		return nil, err
	}
	t, err := sqltext.ParseTable(text)
	if err != nil {
		return nil, err
	}
	at := visibleColumns(def)
	if len(t.Columns) != len(at) {
		return nil, newError("", ErrInternal, "table %s: %d columns in its text, %d in its definition", def.Name, len(t.Columns), len(at))
	}
	info := &vtab.TableInfo{Def: def, Key: vtab.Conflict(t.RowidConflict)}
	for _, c := range t.Checks {
		info.Checks = append(info.Checks, vtab.Check{Name: c.Name, Expr: c.Expr, Columns: columnsNamed(def, c.Names)})
	}
	defaults, notNull := make([]string, len(def.Columns)), make([]vtab.Conflict, len(def.Columns))
	for n, col := range t.Columns {
		i := at[n]
		if defaults[i] = col.Default; col.Default != "" {
			info.Defaults = defaults
		}
		if notNull[i] = vtab.Conflict(col.OnNotNull); col.OnNotNull != 0 {
			info.NotNull = notNull
		}
	}
	if info.Expressions, err = indexExpressions(def, expressions(def, t, at)); err != nil {
		return nil, err
	}
	info.Indexes = indexConflicts(def, t.Keys)
	info.References, err = references(def, t.References)
	return info, err
}

// visibleColumns lists the ordinals of the columns that a table's text has.
func visibleColumns(def *engine.TableDef) []int {
	if list := def.Visible(); list != nil {
		return list
	}
	list := make([]int, len(def.Columns))
	for i := range list {
		list[i] = i
	}
	return list
}

// columnsNamed returns the ordinals of the columns among names, which are in
// lower case.
func columnsNamed(def *engine.TableDef, names []string) []int {
	columns := []int{} // not nil: a constant expression names none
	for i, col := range def.Columns {
		if col.Visible() && slices.Contains(names, sqltext.Lower(col.Name)) {
			columns = append(columns, i)
		}
	}
	return columns
}

// indexConflicts finds the constraint behind each automatic index.
func indexConflicts(def *engine.TableDef, keys []sqltext.Key) []vtab.Conflict {
	var list []vtab.Conflict
	for i, ix := range def.Indexes {
		if ix.Origin == "c" {
			continue
		}
		for _, k := range keys {
			if k.OnConflict == 0 || !sameColumns(def, ix, k.Columns) {
				continue
			}
			if list == nil {
				list = make([]vtab.Conflict, len(def.Indexes))
			}
			if list[i] == vtab.Default {
				list[i] = vtab.Conflict(k.OnConflict)
			}
		}
	}
	return list
}

// sameColumns reports whether a constraint lists the columns of an index. A
// column that a key repeats is in its index once.
func sameColumns(def *engine.TableDef, ix *engine.IndexDef, columns []string) bool {
	seen := map[string]bool{}
	n := 0
	for _, name := range columns {
		if seen[name] {
			continue
		}
		seen[name] = true
		if n >= len(ix.Columns) || fold(def.Columns[ix.Columns[n].Column].Name) != fold(name) {
			return false
		}
		n++
	}
	return n == len(ix.Columns)
}

// plainDDL returns the CREATE TABLE that a definition's text stands for: the
// text itself, or that of a CREATE VIRTUAL TABLE … USING tidemark(…) without
// its options.
func plainDDL(text string) (string, error) {
	s := sqltext.Parse(text)
	if s.Kind != sqltext.CreateVirtual {
		return text, nil
	}
	plain, _, err := virtualAsPlain(s)
	if err != nil {
		return "", fmt.Errorf("table %s: %w", s.Target.Name, err)
	}
	return plain, nil
}

package driver

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// shadow is a SQLite database in memory that holds the plain DDL of a schema and
// no rows. SQLite validates DDL on it, in its own words, and answers schema
// PRAGMAs from it.
//
// One shadow serves all connections of an engine. Whoever uses it first brings
// it to his own schema, by comparing texts; connections that see the same schema
// find it as they need it.
type shadow struct {
	mu     sync.Mutex
	db     *vtab.Conn
	schema *engine.Schema    // what it shows; nil when that must be compared
	have   map[string]string // text by "kind:name", the name in lower case
	on     map[string]string // table or view, likewise, by "index:…" and "trigger:…"
	turn   uint64            // counts uses

	sequence bool // sqlite_sequence is there
	home     home // of the store
	enforced bool // foreign keys are on
}

// use runs f on the shadow showing schema.
func (s *shadow) use(schema *engine.Schema, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn++
	if err := s.show(schema); err != nil {
		return err
	}
	return f()
}

// enforce turns foreign keys on or off, which changes what SQLite says of some
// statements.
func (s *shadow) enforce(on bool) error {
	if s.enforced == on {
		return nil
	}
	s.enforced = on
	return s.db.Exec("PRAGMA foreign_keys=" + strconv.FormatBool(on))
}

// adopt notes that the shadow shows schema since a turn, unless there was
// another one after it.
func (s *shadow) adopt(turn uint64, schema *engine.Schema) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == turn && s.db != nil {
		s.schema = schema
	}
}

func (s *shadow) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	db := s.db
	s.db, s.schema = nil, nil
	return db.Close()
}

// show brings the database to a schema.
func (s *shadow) show(schema *engine.Schema) error {
	if s.db == nil {
		db, err := vtab.OpenPlain()
		if err != nil {
			return err
		}
		s.enforced = false
		s.db, s.have, s.on, s.sequence = db, map[string]string{}, map[string]string{}, false
	}
	if s.schema == schema {
		return nil
	}
	if err := s.enforce(false); err != nil { // a DROP would run into keys that refer to no key
		return err
	}
	order := shadowOf(schema.Objects())
	var gone []string
	if s.schema != nil {
		left, fresh := changedObjects(s.schema, schema)
		for _, o := range shadowOf(left) {
			gone = append(gone, o.key)
		}
		order = shadowOf(fresh)
		if slices.ContainsFunc(left, func(o *engine.Object) bool { return o.Kind != engine.KindTrigger }) {
			order = append(order, triggersAmong(schema.Objects())...) // some went with their table
		}
	} else {
		gone = s.unwanted(order)
	}
	s.schema = nil
	for _, prefix := range [...]string{"trigger:", "index:", "view:", "table:"} {
		for _, key := range gone {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			if err := s.dropKey(key); err != nil {
				return err
			}
		}
	}
	if err := s.showSequence(schema); err != nil {
		return err
	}
	for _, o := range order {
		if _, ok := s.have[o.key]; ok {
			continue
		}
		text, err := plainDDL(o.text)
		if err != nil {
			return err
		}
		if err := s.db.Exec(text); err != nil {
			return errors.Join(newError("", ErrInternal, "shadow: %s: %w", o.key, err), s.reset())
		}
		s.noteObject(o)
	}
	s.schema = schema
	return nil
}

// shadowObject is one object the shadow shows.
type shadowObject struct{ key, text, on string }

// shadowOf lists what of objects has a text, in an order it can be made in.
func shadowOf(objects []*engine.Object) []shadowObject {
	list := make([]shadowObject, 0, 2*len(objects))
	for _, o := range objects {
		if o.Kind == engine.KindTable && sameName(o.Name, sequenceTable) {
			continue
		}
		key := o.Kind.String() + ":" + fold(o.Name)
		list = append(list, shadowObject{key, o.SQL, tableOf(o)})
		if o.Table == nil {
			continue
		}
		for _, ix := range o.Table.Indexes {
			if ix.SQL != "" {
				list = append(list, shadowObject{"index:" + fold(ix.Name), ix.SQL, key})
			}
		}
	}
	return list
}

// triggersAmong lists the triggers.
func triggersAmong(objects []*engine.Object) (list []shadowObject) {
	for _, o := range objects {
		if o.Kind == engine.KindTrigger {
			list = append(list, shadowObject{"trigger:" + fold(o.Name), o.SQL, tableOf(o)})
		}
	}
	return list
}

// tableOf is the key of the object a trigger is on.
func tableOf(o *engine.Object) string {
	if o.Kind == engine.KindTrigger {
		return "table:" + fold(o.TblName) // or the view, see noteDrop
	}
	return ""
}

// unwanted lists what must go.
func (s *shadow) unwanted(want []shadowObject) (keys []string) {
	texts := make(map[string]string, len(want))
	for _, o := range want {
		texts[o.key] = o.text
	}
	for key, text := range s.have {
		if texts[key] != text {
			keys = append(keys, key)
		}
	}
	return keys
}

// dropKey drops one object, unless it went with another.
func (s *shadow) dropKey(key string) error {
	if _, ok := s.have[key]; !ok {
		return nil
	}
	kind, name, _ := cutKey(key)
	if err := s.db.Exec("DROP " + kind + " IF EXISTS main." + sqltext.Quote(name)); err != nil {
		return errors.Join(newError("", ErrInternal, "shadow: drop %s: %w", key, err), s.reset())
	}
	s.noteDrop(key)
	return nil
}

// noteObject and noteDrop keep the books of what the shadow holds.
func (s *shadow) noteObject(o shadowObject) {
	s.have[o.key] = o.text
	if o.on != "" {
		s.on[o.key] = o.on
	}
}

func (s *shadow) noteDrop(key string) {
	delete(s.have, key)
	delete(s.on, key)
	if name, ok := strings.CutPrefix(key, "view:"); ok {
		key = "table:" + name // their names are of one kind
	}
	for dependent, on := range s.on {
		if on == key {
			delete(s.have, dependent)
			delete(s.on, dependent)
		}
	}
}

// cutKey splits "kind:name".
func cutKey(key string) (kind, name string, ok bool) {
	for i := range len(key) {
		if key[i] == ':' {
			return key[:i], key[i+1:], true
		}
	}
	return "", "", false
}

// reset throws the database away; the next use makes another one.
func (s *shadow) reset() error {
	db := s.db
	s.db, s.schema = nil, nil
	return db.Close()
}

// sequenceTable is SQLite's table of the highest AUTOINCREMENT ids, which is a
// table of the engine here.
const sequenceTable = "sqlite_sequence"

// showSequence makes sqlite_sequence exist where the schema has it. SQLite makes
// it with the first AUTOINCREMENT table and never drops it.
func (s *shadow) showSequence(schema *engine.Schema) error {
	if s.sequence || findObject(schema, sequenceTable) == nil {
		return nil
	}
	s.sequence = true
	list, err := s.db.Query("SELECT 1 FROM sqlite_schema WHERE name = ?1", row.TextValue(sequenceTable))
	if err != nil || len(list) > 0 {
		return err
	}
	return s.db.Exec(`CREATE TABLE "tidemark seq"(a INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE "tidemark seq"`)
}

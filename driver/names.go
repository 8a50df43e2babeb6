package driver

import (
	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// names remembers what else a name may mean on this connection: objects of
// temp, and the schemas the user attached. It is read again after every
// statement that changes them.
type names struct {
	known    bool
	gen      uint64          // grows with every reading
	temp     map[string]bool // "table:name", name in lower case
	carried  []*tempTrigger  // triggers of temp on tables of the store
	firings  *vtab.Triggers  // the same for the bridge, nil without any
	fails    bool            // one of them may end a statement with FAIL
	triggers bool            // temp has triggers, so a write to temp may write anything
	files    []string        // attached by the user, in the order of resolution
	catalog  map[string]bool // tables and views of the attached catalog, read once
}

func (n *names) forget() { n.known = false }

// place is where a statement finds its object.
type place uint8

const (
	nowhere   place = iota // SQLite or the shadow says so in its own words
	inStore                // the engine's tables, and views over them
	inTemp                 // temp
	inFile                 // an attached file
	inCatalog              // the catalog, by its name or because nothing else has it
	inAdmin                // a table whose rows are orders to the store
)

// fold is a name as SQLite compares it.
func fold(name string) string { return sqltext.Lower(name) }

// loadNames reads what temp and the attached schemas hold.
func (c *conn) loadNames() error {
	n := &c.names
	if n.known {
		return nil
	}
	n.temp, n.triggers, n.files, n.carried = map[string]bool{}, false, nil, nil
	err := c.own(func() error {
		list, err := c.db.Query("SELECT type, name, sql FROM temp.sqlite_schema ORDER BY type = 'trigger', rowid")
		if err != nil {
			return err
		}
		for _, r := range list {
			n.addTemp(r[0].Bytes(), r[1].Bytes(), r[2].Bytes())
		}
		list, err = c.db.Query("PRAGMA database_list")
		if err != nil {
			return err
		}
		for _, r := range list {
			switch name := r[1].Bytes(); name {
			case "main", "temp", "catalog":
			default:
				n.files = append(n.files, name)
			}
		}
		if n.catalog != nil {
			return nil
		}
		n.catalog = map[string]bool{}
		list, err = c.db.Query("SELECT name FROM catalog.sqlite_schema WHERE type IN ('table','view')")
		for _, r := range list {
			n.catalog[fold(r[0].Bytes())] = true
		}
		return err
	})
	if err != nil {
		return err
	}
	n.known = true
	n.gen++
	return nil
}

// hasTemp reports whether temp has an object of the name.
func (n *names) hasTemp(name string, kinds ...string) bool {
	for _, k := range kinds {
		if n.temp[k+":"+name] {
			return true
		}
	}
	return false
}

// locate finds the place of a table, view, index or trigger as SQLite would:
// temp, main, then the attached files. Names in the catalog come last, and a
// bare one does not reach them.
func (c *conn) locate(n sqltext.Name, s *engine.Schema, kinds ...string) (place, error) {
	return c.locateBy(storeHas, n, s, kinds)
}

// locateBy is locate with a way to look into the store's schema.
func (c *conn) locateBy(has func(*engine.Schema, string, []string) bool, n sqltext.Name, s *engine.Schema, kinds []string) (place, error) {
	if err := c.loadNames(); err != nil {
		return nowhere, err
	}
	name := fold(n.Name)
	switch schema := fold(n.Schema); schema {
	case "main":
		if ordered(name) {
			return inAdmin, nil
		}
		return inStore, nil
	case "temp":
		return inTemp, nil
	case "catalog":
		return inCatalog, nil
	case "":
	default:
		return inFile, nil
	}
	switch {
	case c.names.hasTemp(name, kinds...), name == "sqlite_temp_schema", name == "sqlite_temp_master":
		return inTemp, nil
	case ordered(name):
		return inAdmin, nil
	case has(s, n.Name, kinds):
		return inStore, nil
	}
	for _, file := range c.names.files {
		found, err := c.fileHas(file, n.Name, kinds)
		if err != nil || found {
			return inFile, err
		}
	}
	if c.names.catalog[name] {
		return inCatalog, nil
	}
	return nowhere, nil
}

// storeFinds is storeHas for a schema that will not be asked often.
func storeFinds(s *engine.Schema, name string, kinds []string) bool {
	for _, k := range kinds {
		switch k {
		case "table", "view":
			if o := findObject(s, name); o != nil && o.Kind.String() == k {
				return true
			}
		case "index":
			if _, ix := findIndex(s, name); ix != nil {
				return true
			}
		case "trigger":
			if findTrigger(s, name) != nil {
				return true
			}
		}
	}
	return false
}

// storeHas reports whether a schema has an object of one of the kinds.
func storeHas(s *engine.Schema, name string, kinds []string) bool {
	for _, k := range kinds {
		switch k {
		case "table":
			if o := s.Lookup(name); o != nil && o.Kind == engine.KindTable {
				return true
			}
		case "view":
			if o := s.Lookup(name); o != nil && o.Kind == engine.KindView {
				return true
			}
		case "index":
			if _, ix := s.LookupIndex(name); ix != nil {
				return true
			}
		case "trigger":
			if s.LookupTrigger(name) != nil {
				return true
			}
		}
	}
	return false
}

// fileHas asks an attached schema, each time: another process may change it.
func (c *conn) fileHas(file, name string, kinds []string) (found bool, err error) {
	err = c.own(func() error {
		list, err := c.db.Query("SELECT type FROM "+sqltext.Quote(file)+".sqlite_schema WHERE name = ?1 COLLATE NOCASE", row.TextValue(name))
		for _, r := range list {
			for _, k := range kinds {
				found = found || r[0].Bytes() == k
			}
		}
		return err
	})
	return found, err
}

// errNoTable is SQLite's error for a name that only the catalog has.
func errNoTable(n sqltext.Name) error {
	name := n.Name
	if n.Schema != "" {
		name = n.Schema + "." + name
	}
	return newError("", ErrGeneric, "no such table: %s", name)
}

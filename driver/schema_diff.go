package driver

import "github.com/tidemarkdb/tidemark/engine"

// changedObjects compares two schemas by the identity of their objects: gone are
// those of before that now lacks, fresh those that now has instead. An object
// that was changed is in both. The order of creation, which changes keep, makes
// one pass enough; an object that is reported in both without need is made again,
// no worse.
func changedObjects(before, now *engine.Schema) (gone, fresh []*engine.Object) {
	old, list := before.Objects(), now.Objects()
	i, j := 0, 0
	for i < len(old) && j < len(list) {
		switch a, b := old[i], list[j]; {
		case a == b:
			i, j = i+1, j+1
		case a.Kind == b.Kind && (a.Name == b.Name || sameTable(a, b)):
			gone, fresh = append(gone, a), append(fresh, b)
			i, j = i+1, j+1
		default:
			gone = append(gone, a)
			i++
		}
	}
	return append(gone, old[i:]...), append(fresh, list[j:]...)
}

// sameTable reports that two objects are one table, renamed.
func sameTable(a, b *engine.Object) bool {
	return a.Table != nil && b.Table != nil && a.Table.ID == b.Table.ID
}

// The look-ups of DDL go through the list. A schema's own maps are built at the
// first look-up, which is wasted on one that the next statement replaces.

// findObject returns the table or view of a name, or nil.
func findObject(s *engine.Schema, name string) *engine.Object {
	for _, o := range s.Objects() {
		if o.Kind != engine.KindTrigger && sameName(o.Name, name) {
			return o
		}
	}
	return nil
}

// findTrigger returns the trigger of a name, or nil.
func findTrigger(s *engine.Schema, name string) *engine.Object {
	for _, o := range s.Objects() {
		if o.Kind == engine.KindTrigger && sameName(o.Name, name) {
			return o
		}
	}
	return nil
}

// findIndex returns the index of a name and its table, or nil.
func findIndex(s *engine.Schema, name string) (*engine.TableDef, *engine.IndexDef) {
	for _, def := range s.Tables() {
		for _, ix := range def.Indexes {
			if sameName(ix.Name, name) {
				return def, ix
			}
		}
	}
	return nil, nil
}

// sameName is SQLite's comparison of names, without fold's copy.
func sameName(a, b string) bool { return len(a) == len(b) && fold(a) == fold(b) }

package engine

// root is the state some commit left: what a snapshot reads and the next
// transaction starts from. It is immutable.
type root struct {
	lsn     LSN
	schema  *Schema
	tables  []*Table // by slot of the schema
	content *content // the same in states of the store that have the same rows
	objects *objects // that rows of keys tables are read from
	memory  int64    // estimate of what the tables take, see budget.go
	lease   *lease   // of a history, on the files that it is read from; else nil
	live    int64    // bytes that a compaction would write of all rows
}

// content stands for the rows of a state. It has a size, so that each has an address
// of its own.
type content struct{ _ byte }

func emptyRoot(o *objects) *root { return &root{schema: newSchema(0, nil), objects: o} }

// table returns the view of a table, or nil.
func (r *root) table(id TableID) *Table {
	if slot, ok := r.schema.slot(id); ok {
		return r.tables[slot]
	}
	return nil
}

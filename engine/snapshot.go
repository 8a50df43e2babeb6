package engine

// Snapshot is the state of the store after one commit. It never changes, and
// any number of goroutines may read it. It costs nothing to take and needs no
// release; while it is referred to, the rows it can reach stay in memory.
type Snapshot root

// snapshot gives readers the root itself: taking a snapshot allocates nothing.
func (r *root) snapshot() *Snapshot { return (*Snapshot)(r) }

// LSN returns the commit that left this state, 0 for a new store's.
func (s *Snapshot) LSN() LSN { return s.lsn }

// Same reports whether two states of one store have the same rows: a compaction
// changes where they are read from.
func (s *Snapshot) Same(o *Snapshot) bool {
	return s == o || s != nil && o != nil && s.content == o.content
}

// Schema returns the schema of the state.
func (s *Snapshot) Schema() *Schema { return s.schema }

// Table returns the view of a table, or nil when the state has none of that id.
func (s *Snapshot) Table(id TableID) *Table { return (*root)(s).table(id) }

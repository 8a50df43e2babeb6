package engine

// Violations counts the rows of a transaction that refer to nothing. Whoever
// enforces foreign keys counts here, and asks before the commit; the engine
// itself only keeps the numbers with the transaction, so that RollbackTo takes
// them back together with the rows. They are no part of what is committed.
type Violations struct {
	Statement   int64 // of the running statement: it must not end with any
	Transaction int64 // of deferred keys: the transaction must not end with any
	Postponed   int64 // of keys that are not deferred and that the user put off
}

// Violations returns the transaction's counters, to be read and changed.
func (t *txState) Violations() *Violations { return &t.violations }

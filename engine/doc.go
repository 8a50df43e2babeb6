// Package engine keeps rows: an append-only log on disk, copy-on-write trees
// in memory, one writer at a time, and readers that never wait.
//
// # Use
//
// Open gives a *Store. Durable and Head are snapshots to read from. Begin
// starts the one write transaction; its life is
//
//	tx, err := s.Begin(ctx)          // the write lock is held from here
//	… tx.Apply, tx.Handle(table).Insert …
//	err = tx.Prepare()               // everything that may be refused
//	lsn := tx.Commit()               // appends, releases the lock
//	err = s.WaitDurable(ctx, lsn)    // synced, and visible in Durable
//
// or Rollback instead of the last three. A transaction that begins between
// Commit and WaitDurable builds on the commit.
//
// # Files
//
// The log is a sequence of generations, files of package wal below objects/. A
// transaction lies in one generation. When the active one has reached
// Options.GenerationSize, the next transaction goes to the next file, which
// was made before it was needed, and the old one is sealed in the background.
// Which files there are is in the catalog; what a commit is worth is decided
// by the log alone.
//
// # Durability
//
// One goroutine syncs whatever has been appended; commits that arrive during a
// sync share the next one. A commit is acknowledged, and shown to readers,
// after the sync that covers it and everything before it. After a failed
// append or sync the engine is poisoned: see ErrPoisoned.
//
// Open replays the log. It ends at the first commit that is not whole; if
// anything intact behind it says that this commit was synced, the file is
// damaged and Open refuses with a *CorruptError.
//
// # Locks
//
// Write lock → Store.mu. Neither is held during a sync or a call of the
// catalog, with one exception: a schema change that finds no reserved id left
// asks the catalog for a block under the write lock.
//
// # Caveats
//
// Durable does not show what was committed and not synced yet, also not to the
// goroutine that committed it; Head does.
//
// Commit without a Prepare after the last write has no way to refuse: an error
// then poisons the engine.
//
// The outcome of a commit that WaitDurable could not confirm is decided by the
// next Open. Nothing is tried again in the process that saw the failure.
//
// Rows are kept in memory. A snapshot keeps the rows it can reach alive for as
// long as something refers to it.
//
// A generation's file is preallocated: its size says nothing about the log's.
package engine

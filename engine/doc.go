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
// A store has 1 to 64 shards, each with a log of its own: a sequence of
// generations, files of package wal below objects/. A row belongs to the shard
// its table id and row id hash to, a schema change to the first. A transaction
// writes its records and a commit to each shard it touches, and is never split
// between two generations of one. All commits of a transaction carry one LSN
// and name all its shards; LSNs are dense over all shards together.
//
// When the active generation of a shard has reached Options.GenerationSize, or
// at a Checkpoint, all shards go on in their next files, which were made before
// they were needed, and the old ones are sealed in the background: all shards
// are cut at one LSN. A shard in which nothing was written keeps its file.
// Which files there are is in the catalog; what a commit is worth is decided by
// the logs alone.
//
// A compaction puts a base in the place of the log up to a cut: files of one record
// per row, without commits (base.go, compact.go). It writes the rows that the log has
// changed and keeps the files of the base before that are still good, with deletion
// vectors (compact_plan.go). An index job then writes index segments for what is new
// (package segment, segments_plan.go), by which generations of the log are retired: left
// out of the head, when every index of their tables has caught up with them. Open loads
// the base first, with the segments (base_rows.go, segments_load.go). What was replaced
// is removed when no state of the process can be read from it (lease.go, collect.go).
//
// A backup copies the files that timelines and branch points need, beside writers, with
// a catalog of its own (backup.go, restore.go).
//
// # Durability
//
// One goroutine lets sync whatever has been appended, the files of several
// shards side by side; commits that arrive during a sync share the next one. A
// commit is acknowledged, and shown to readers, after the syncs that cover it
// and everything before it in all shards. After a failed append or sync the
// engine is poisoned: see ErrPoisoned.
//
// Open replays the logs, merged by LSN. All of them end before the first commit
// that is not whole in every shard it names; if anything intact behind it, in
// any shard, says that this commit was synced, a file is damaged and Open
// refuses with a *CorruptError.
//
// # Locks
//
// Write lock → Store.mu. Neither is held during a sync or a call of the
// catalog, with one exception: a schema change that finds no reserved id left
// asks the catalog for a block under the write lock. The locks that are held across
// I/O come before them: see lock.go.
//
// # Caveats
//
// A commit is synced when somebody waits for it, or for a later one; what nobody
// waits for is synced with the next commit, when its generation ends, by a
// checkpoint and by Close.
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
// What the trees take in memory is estimated, and bounded by
// Options.MemoryBudget: see budget.go.
//
// Rows are kept in memory, but those of resident=keys tables. A snapshot keeps the
// rows it can reach alive for as long as something refers to it, and so the files:
// replaced ones stay until the garbage collector has found that nobody does.
//
// With one writer at a time, shards buy syncs that go on side by side, and cost
// a commit record and a sync in each shard a transaction touches.
//
// A close mark that is damaged at the end of a file is dropped by the next open
// like any unsynced tail, also when another file follows. It only says that what
// is before it was synced; no row depends on it.
//
// A commit that is missing in all its shards leaves no trace of which these
// were. A *CorruptError then names the file that looks worst.
//
// A generation's file is preallocated: its size says nothing about the log's.
package engine

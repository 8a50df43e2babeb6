// Package catalog keeps the catalog of a store: the SQLite file catalog.db that
// says which objects exist, who needs them, what the head of each timeline is
// and which generations of the log recovery replays. Every lifecycle transition
// is one typed call and one short transaction.
//
// The catalog does not hold rows of user tables and does not decide whether a
// commit happened; the log does. The tables and indexes it lists are a
// projection of the log for a person to read.
//
// # Connections
//
// One writer connection runs every transaction as BEGIN IMMEDIATE; a small pool
// of read-only connections serves the rest. Each connection sets its pragmas
// and reads them back, and reads them back again before every BEGIN.
//
// # Publication
//
// A head contains the log up to a cut: an immutable representation, whose
// manifest names the blobs that read one world, selected by a timeline at a
// revision. A new cut becomes the head in six steps, each a commit of its own
// but for the second, which is the engine's:
//
//  1. [Catalog.ReserveGenerations]: an object's identity and path, rooted by the
//     timeline, before its file exists.
//  2. The engine writes the file and syncs file and directories.
//  3. [Catalog.SealGeneration]: the receipt that it did, and what the file is.
//  4. [Catalog.Register]: the sealed object gets its place in the graph and a blob.
//  5. [Catalog.Prepare] inserts world, representation and manifest, retained
//     together with the expected head by a recovery owner; [Prepared.Begin] says
//     that from now on the outcome may be unknown; [Attempting.Adopt] moves the
//     head, replay_from and the timeline's roots, and records the outcome.
//  6. [Adopted.Retire] releases the recovery owner and removes the rows that
//     describe what nothing selects any more.
//
// A value of one state is the only way to the next, and the catalog checks the
// transition once more. Whatever a crash leaves between two of them is settled by
// [Catalog.ResolvePublications] at the next open: the operation's outcome was
// written in the transaction that moved the head, so it is there or it is not.
//
// Manifests are lists of references to chunks of entries (manifest_entries,
// representation_chunks; the view representation_entries puts them together). A
// representation that only adds to another one shares its chunks, so a
// publication costs its new entries and a reference for every 256 old ones.
// Retained chunks are immutable but for growth at their end, behind what every
// other reference covers.
//
// A generation's entry carries its [Contribution]. At adoption the
// head's sum and the new contributions must be the fingerprint of the world, by
// the algebra that catalog_info names; SQL never adds them.
//
// # Compaction
//
// A base is the state at one LSN of a head, in sealed objects that hold full rows,
// table after table; the run of one table's rows in an object is a fragment, and
// the first one is the schema's, of table 0. [Catalog.ReserveObject] gives a
// running job the identity of an object, which the job's owner roots;
// [Catalog.SealBase] records the written file with its fragments and registers it.
// A [Publication] with a [Base] then takes steps 5 and 6: the manifest begins with
// the base, and what the base covers is left out, older base objects and
// generations up to its LSN. The world stays the same, and replay_from where it is.
//
// # Collection
//
// What no root reaches any more is garbage: replaced objects, and those of jobs
// that were given up. [Catalog.Garbage] finds it, [Catalog.Claim] makes sure that
// nobody acquires it meanwhile and keeps the intent, and after the file is gone
// [Catalog.Collected] removes the rows, but for a tombstone of the identity. The
// generations of a shard leave in order, so its rows begin at any number and have
// no gap; the current one always stays.
//
// # Branch points and timelines
//
// A branch point is a name with an owner that roots one representation. Making one
// ([Catalog.CreateBranchPoint]) is one small transaction, and no file is touched;
// what a head would let go of stays for as long as the branch point does.
// [Catalog.HistoryOf] says what reads a representation.
//
// Timelines that have the same head would compact it to the same base. What the first
// one makes is kept in completed_merges for the others, by its exact inputs, and
// [Catalog.RetainMerge] hands it to the next one. It goes with the last of them, or
// with the last head that has it, and keeps no file by itself.
//
// [Catalog.Fork] makes a timeline on a representation that is there, and
// [Catalog.Restore] makes the state of a branch point the newest of a timeline: a
// world of its own, at an LSN behind all others, whose mark (worlds.restored_from)
// lets replay pass over the generations that it undid. [Catalog.DropTimeline]
// removes a timeline that nothing needs.
//
// # Sessions and pins
//
// A process that reads files opens a session and pins a representation, with the
// files of the log that it reads behind it ([Catalog.Pin]); then it opens them. A
// pin and a claim exclude each other: whichever commits first wins. [Catalog.Reap]
// ends the sessions of processes that are proven dead. A session that nobody can
// tell about keeps its pins, and an old heartbeat proves nothing.
//
// # Inspection
//
// Any sqlite3 shell reads the catalog: sqlite3 -readonly catalog.db. A shell older
// than 3.51.3 must not write to it. What it reads it does not pin: a file it was
// told of may be gone a moment later. Digests and fingerprints are BLOBs, which
// views show in hex; to compare one, write X'..'.
//
//	SELECT name, revision, lsn, live_count, fingerprint, representation_id FROM timeline_heads;
//	SELECT name, timeline, lsn, live_count, created_at FROM branch_point_worlds;
//	SELECT name, columns, indexes, durable, resident FROM current_tables WHERE timeline = 'main';
//	SELECT ordinal, generation, state, first_lsn, last_lsn, byte_extent, relative_path FROM generation_files WHERE timeline = 'main';
//	SELECT path, bytes, lsn, table_name, rows FROM base_files WHERE timeline = 'main';
//	SELECT kind, state, timeline, branch_point, session_id, representations, objects FROM owner_pins;
//	SELECT session_id, session_state, pid, started_at, lsn, objects FROM reader_pins;
//	SELECT c.object_id, p.kind, p.timeline, p.branch_point FROM live_object_closure c JOIN owner_pins p USING (owner_id) ORDER BY 1;
//	SELECT object_id, state, byte_extent, relative_path FROM gc_candidates;
//	SELECT job_id, kind, state, work_consumed, work_reserved, error FROM job_progress;
//
// # Refusals
//
// Guards live in the schema as triggers and CHECKs, so the sqlite3 shell meets
// them too. Their texts start with a code such as CAT-IMMUTABLE, which arrives
// in Go as [Code]: errors.Is(err, catalog.CodeImmutable).
//
// # Caveats
//
// Never open catalog.db with os.Open while a [Catalog] has it open: closing any
// descriptor of the file drops the POSIX locks of the whole process. [Copy]
// reads it through SQLite.
//
// A failed COMMIT or a storage error poisons the handle: whether the
// transaction is in the file is unknown until the store is opened again, so
// every later call is refused with the first cause.
//
// A [Prepared] publication retains files until it is adopted and retired, or
// abandoned. A poisoned handle can do neither; the next open does.
//
// [Open] assumes that the caller holds the LOCK of the store when it may write.
// The catalog itself does not keep a second writing process away.
//
// Files named catalog.db.* in the store directory belong to this package: the
// write-ahead log and the copies made before a migration.
package catalog

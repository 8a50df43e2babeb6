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

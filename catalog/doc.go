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
// [Open] assumes that the caller holds the LOCK of the store when it may write.
// The catalog itself does not keep a second writing process away.
//
// Files named catalog.db.* in the store directory belong to this package: the
// write-ahead log and the copies made before a migration.
package catalog

// Package vtab makes tables of the engine appear in SQLite.
//
// It is a bridge on the C interface of the SQLite binding: connections and
// statements (Conn, Stmt), and modules of virtual tables whose callbacks read
// snapshots and write through one engine transaction per connection. All of
// the project's unsafe code is here.
//
// # Connections
//
// A Conn is a SQLite connection with a private, empty main database in memory.
// Open connects it; Attach names the store; the caller then makes the engine's
// tables known with the statements of CreateSQL, sets what they read
// (SetSnapshot) or write (SetTx) before it prepares a statement, and lets
// SQLite's own BEGIN, COMMIT and SAVEPOINT drive the engine's transaction
// through the callbacks.
//
// # Foreign keys
//
// SQLite ignores foreign keys of virtual tables. Here xUpdate counts the rows that
// refer to nothing, in the counters of the engine's transaction, and runs actions
// as changes of rows; see foreignKey. A commit with violations is refused in
// xSync, which makes SQLite roll back. Whoever wants a transaction to stay open,
// or a statement in it to be undone, asks CommitError before the COMMIT and
// Violated after the statement.
//
// # Errors
//
// SQLite ends a whole transaction when a callback returns FULL, IOERR, NOMEM
// or INTERRUPT, and knows nothing of the engine's own errors. So callbacks
// return SQLITE_ERROR or codes of constraints, and what really happened is kept
// on the side: LastError returns it with its type.
//
// # Caveats
//
// A Conn and its statements belong to one goroutine at a time; only Interrupt
// may be called from others. Values that Column returns are borrowed until the
// next step.
//
// Structures of SQLite are read directly (values, the change count of a
// statement, the expressions of a WHERE clause). They are exported by the
// binding with the layout of each platform, and tests pin what is relied on;
// a new version of the binding needs a run of them, no more.
//
// Values for an UPDATE are computed by SQLite before the first row is changed,
// unlike for its own tables: a correlated subquery on the same table sees the
// state before the statement.
//
// ON CONFLICT clauses of a table's constraints apply when a statement has no OR
// clause. SQLite does not tell an explicit OR ABORT from none.
package vtab

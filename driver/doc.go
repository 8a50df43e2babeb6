/*
Package driver is Tidemark's database/sql driver: SQLite's SQL over tables that
live in a log-structured engine, in pure Go.

	import (
		"database/sql"

		_ "github.com/tidemarkdb/tidemark/driver"
	)

	db, err := sql.Open("tidemark", "/var/lib/shop?busy_timeout=5s")

A store is a directory. Config is the real interface, with NewConnector and
sql.OpenDB; the data source name is a parser into it. Opening a directory again
in the same process shares the engine. Closing the sql.DB closes it.

# Data source name

A DSN is path[?key=value&…] or file:path?…. In the file: form percent escapes
of the path are decoded, so that it may hold a question mark (%3F). Values are
decoded in both forms; a + stands for itself. An unknown
key, a key given twice or a value that is not legal is an error that names it
and what is legal; names of later versions are refused as "not yet available".

	key              values                                             default
	ephemeral        1, only without a path: durable tables in memory
	mode             rwc creates the store when missing, rw; ro reads   rwc
	                 beside the process that writes, see below
	timeline         the timeline to work on, see below                 main
	at               a branch point: the connection is read-only, and
	                 sees the store, schema and all, as it was there
	sync             full: a commit is acknowledged after its sync;     full
	                 normal: when written, synced within 100 ms;
	                 off: when written (see Config.Sync)
	busy_timeout     a duration (5s) or milliseconds; 0 does not wait   10s
	txlock           deferred, immediate                                deferred
	foreign_keys     on; off: kept and shown, not enforced              on
	generation_size  bytes, KiB, MiB, GiB                               64MiB
	compact          auto: the log is rewritten when it is much larger  auto
	                 than its rows; off
	memory_budget    bytes, KiB, MiB, GiB, from 1MiB on; see below      the machine's
	shards           1 to 64 logs, fixed when the store is made         1
	index_catchup    required; legacy: a store that keeps no positions  required
	                 of indexes, and so all files of its log
	resident         all, keys: of tables made without the option       all
	migrations       a folder of .sql files in goose's format, see below
	pushdown         on; off: SQLite compares and sorts whole tables    on
	time_format      rfc3339, sqlite, unix, unix_milli, unix_micro,     rfc3339
	                 unix_nano, none: read as stored
	time_zone        UTC, Local or an IANA name                         UTC

A store without a path is in memory: it makes no file, belongs to one sql.DB (or
Connector) and ends with it. Two opens are two stores. It takes volatile tables,
and with ephemeral=1 durable ones as well, which are kept just like those; an
EventEphemeral tells of the first. Keys about files (mode, sync, shards,
generation_size, compact) mean nothing to it, schema catalog has no rows,
tidemark_jobs and tidemark_generations are empty, and a checkpoint is refused.

Config.FS, which no DSN spells, puts another file system under the log.

Spellings of other SQLite drivers are translated: _busy_timeout, _txlock,
_foreign_keys, _loc, _time_format, and _pragma=busy_timeout(…) and
foreign_keys(…). _sync, _synchronous and _pragma=synchronous(…) stand for sync:
0 and off for off, 1 and normal for normal, 2, full, 3 and extra for full; two
of them, or one and sync, that differ are an error. Pragmas about files of
SQLite's own, such as journal_mode, are accepted and ignored.

The keys sync, generation_size, compact, memory_budget, shards and index_catchup belong
to the engine, which all opens of a directory in a process share. In the first open a
missing key stands for its default, or for the shards and the index_catchup that the
store has. A later one that gives another value is refused; one that leaves the key out
takes what is in effect. index_catchup=required given for a store that was made with
legacy begins to keep positions, for good; that is refused once it has been compacted.

# Transactions

One transaction writes at a time; readers never wait for it and never make it
wait. A transaction sees one state of the store, and its own writes. BEGIN does
not take the write lock until the first statement that writes, unless txlock or
the statement says IMMEDIATE; waiting for the lock ends with the context or
after busy_timeout. A transaction that first read and then writes fails with
ErrBusySnapshot when another one committed in between: begin it IMMEDIATE, or
run it again.

Isolation is serializable. BeginTx takes the default level, LevelSerializable,
and LevelSnapshot together with ReadOnly; other levels are refused. A ReadOnly
transaction refuses writes and reads what is acknowledged, which with sync=full
is durable.

With sync=full a commit is acknowledged when the log is synced; commits that are
waiting share one sync. With normal and off it is acknowledged when it is
written: a killed process loses nothing, a stop of the system may take back the
newest commits, never one before another that stays. Schema changes are synced
in every mode. A context does not cancel a commit once its record was appended:
the driver waits for the sync, and a deadline that passes there gives
ErrOutcomeUnknown. After a failed append or sync all writes are refused with
ErrPoisoned, while reads go on; close and open the store to recover.

A read-write transaction starts from the newest commit, synced or not. Rows it
reads, constraints that fail and what it copies into other files are held back
until that commit is durable; that there is no row, and how many rows a
statement changed, is not.

# Errors

Every error is an *Error, a context's own, or one of database/sql's. Code and
Extended are SQLite's numbers, and errors.Is(err, ErrConstraintUnique) and its
like ask for them. Messages keep SQLite's wording. Damaged files are reported as
*CorruptError with the file and the offset.

# Time

A time.Time is stored as time_format says and always in UTC, so that stored
texts sort as their times do. Columns declared DATE, DATETIME, TIMESTAMP or
TIMESTAMPTZ are read as time.Time in time_zone where the value is a time; what
is not is handed out as it was stored. A text without a zone is in UTC, as in
SQLite. The result of an expression has no declared type: scan it as text. 0 and
1 in a column declared BOOLEAN are read as bool.

Other arguments are stored by their kind: a bool as 0 or 1, JSON and types with
MarshalText as text, a nil []byte as NULL. An unsigned number above the largest
int64 is refused.

# Administration

The tables tidemark_tables, tidemark_generations, tidemark_stats,
tidemark_settings, tidemark_jobs, tidemark_branch_points, tidemark_timelines,
tidemark_sessions and tidemark_pins can be read on every connection. Their times
are columns declared DATETIME: texts for SQL, which compares them with whole dates
('2026-01-01', but not '2026', a number there), and read as time.Time. A row
inserted into tidemark_jobs runs a job, for which it gives kind and perhaps
target, and the statement returns when the job has ended, with its job_id as
LastInsertId:

	INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')
	INSERT INTO tidemark_jobs(kind) VALUES('compact')

A row inserted into tidemark_branch_points makes a branch point, see below, and
a row deleted removes one. RETURNING is refused there, as are OR IGNORE, OR REPLACE, ON
CONFLICT, and a second row in one statement. Such writes take no part in transactions
and are refused inside one.

object_closure lists the objects that one leads to over the edges of the catalog, with
the number of edges on the shortest way; the view catalog.dependency_closure says the
same of all objects at once, which takes far longer:

	SELECT object_id, depth FROM object_closure(17)

Raw reaches the store behind a *sql.Conn, through any wrapping, for Check, Metrics and
Events.

# Reading beside another process

With mode=ro a store is read while another process writes it, or while none does. A
statement reads the newest state that the writer has made durable when it begins, a
transaction that of its first statement: whole transactions, in their order, and never
what a crash could take back. When the writer has ended, or was killed, that is the state
that the next one will begin with. Every write is refused with ErrReadOnly; temporary
tables and attached files can be written. Volatile tables are empty: their rows are in the
memory of the process that writes. The keys at and timeline work as always.

A reader registers a session in the catalog and pins the files that it reads, and nothing
else: tidemark_sessions and tidemark_pins show it. An open reader keeps the files of the
state that it read last until it reads again or is closed, however long it has been
silent; one that is proven gone loses its pins at the next collection. The proof needs /proc, so that mode=ro
works on Linux. Where the process cannot write the directory, nothing is registered:
the store must be at rest then, without a writer and with an empty catalog.db-wal, else
the open fails and says what to do.

All pools of a process that read a timeline share what they have in memory. In one process
a store can be open both ways: the two share nothing, as if they were two processes.

# Timelines

A timeline is a line of states of its own, on which a connection works whose data source
name has timeline=NAME. A row inserted into tidemark_timelines forks one off a timeline
or a branch point, an UPDATE of restore_to takes one back to a branch point, and a row
deleted drops one:

	INSERT INTO tidemark_timelines(name, source) VALUES('trial', 'main')
	UPDATE tidemark_timelines SET restore_to = 'before-import' WHERE name = 'trial'
	DELETE FROM tidemark_timelines WHERE name = 'trial'

Without a source the connection's own timeline is forked. A timeline stays while another
one was forked from it, or something else retains files of it: a branch point, a reader,
or a timeline that was restored from its branch point, until that one is compacted. After
a restore AUTOINCREMENT goes on from the sequence of the restored state, so that ids of
rows that were undone are given again.

# Branch points

A branch point is a name for the state of now:

	INSERT INTO tidemark_branch_points(name) VALUES('before-import')
	SELECT * FROM orders('before-import') WHERE sku = 'x'
	DELETE FROM tidemark_branch_points WHERE name = 'before-import'

A table called as a function with the name as its argument, a text or anything that
gives one, is read as it was there: in all of SELECT, beside other states of
the same table, in views, in INSERT … SELECT. Old states are in no transaction; a
statement, and all of a transaction, reads one state under one name. Tables are matched
by identity, and so are their columns: one that was dropped and made anew is
another one, and refused by name, as are a table that is younger than the branch
point, a volatile one, and a column whose type or collation has changed. Indexes that
were there then are used; ORDER BY on one sorts.

Config.At, the key at, opens the store as it was there: with the tables, views, triggers,
affinities and collations of then. Every write and BEGIN IMMEDIATE is refused with
ErrReadOnly; temporary tables and attached files can be written.

Making one seals and publishes what was written since the last checkpoint, under
the write lock for moments. Files that a branch point needs stay until it is deleted. A
table of one is looked for in them when it is first read, or a statement on it planned;
then its row ids, places and indexes are in memory, but not its rows. They count against
the memory budget, and those that were read longest ago go first when that is short.

# Compaction

Every change of a row is appended to the log. With compact=auto it is rewritten when its
row records take more than 4 MiB (generation_size if that is less, 1 MiB at least), and
as much more than the last time left, and either of
all records more than three times what one record per row would take, or what was
superseded since the last time is much: 64 MiB, no less than a sixteenth of the live rows
and no more than half of them. Beside readers and writers a base of one record per row
takes the place of all files up to a commit. It keeps the files of the base before in
which most is live, so that what is written is about what changed, at 64 MiB in a second
at most. A job of kind compact does it at any time and speed; it writes all of a base anew
of which more than a tenth is garbage. The files that are replaced stay
while a snapshot of the process can be read from them, which the garbage collector
finds out, and go with the last close at the latest. A compaction needs as much room
as its output; a failed one changes nothing. While the log grows faster than a compaction keeps up with,
writers wait before they take the write lock, for at most 50 ms each time and half of what
is left of their deadline; writer_wait_us of tidemark_stats sums it up.

# Collection, backups

Files that nothing needs any more are removed at open and close and behind
compactions, and by a job of kind gc at any time; Raw's PlanGC says why the others
stay. A job of kind verify checks the whole store. A job of kind backup, whose target
is a directory, writes a backup beside readers and writers, and Restore makes a store
of one. Each of them is a method of Raw's Store, too, where it can report progress.

# Volatile tables

CREATE VIRTUAL TABLE t USING tidemark(columns …, durable=false) makes a table
whose rows are in no file: it is empty after a restart. It takes part in
transactions like any other. A transaction that wrote only such tables waits for
no disk, unless it read or wrote a table that a commit on its way to the disk
has changed; then it shares that commit's fate. A failed write or sync ends
volatile writes, too. Such a table cannot be STRICT or WITHOUT ROWID: the list
behind USING has no place for SQLite's table options.

# Limits

The option max_rows=N of CREATE VIRTUAL TABLE bounds a table: a statement that
would exceed it fails with ErrFull, and only that statement. With
on_full=drop_oldest, for volatile tables that no foreign key refers to, an
insert into a full table deletes the row with the smallest row id instead, in
the same transaction; tidemark_stats counts them as rows_dropped.

# Memory budget

The key memory_budget bounds the estimate of what rows and indexes of all tables
take in memory: of a resident=keys table its map and indexes, and the rows of a
transaction until they are in the log. A write that would exceed it fails with
ErrNoMem and changes nothing; the transaction goes on. The error names the
largest table, its rows and bytes, the estimate, the budget and its source, and
the way out. An open whose log does not fit is refused alike. One event per table
tells of it, EventMemoryFull.

Without the key the budget is the smallest limit of the process's control group
and those around it, less what the process takes when the store is opened, else
what the machine has available; tidemark_settings shows it. The estimate, which tidemark_stats and
tidemark_tables show, is of live memory: GOGC lets the heap grow to twice of it, so
set GOMEMLIMIT where the limit is a hard one. The undo log of a transaction and
states that readers keep are not counted.

# Refusals

A table or a DSN that cannot be is refused in one line, which names every way
forward in its hint, and nothing is made: ErrTableOption, ErrVolatileParent (a
durable table cannot refer to a volatile one), ErrTableDiffers (IF NOT EXISTS on
a table with other options), ErrNoDataPath (a durable table in a store without a
path) and ErrEphemeral tell the kinds.

# Tables larger than memory

CREATE VIRTUAL TABLE t USING tidemark(columns …, resident=keys) makes a table of
which only row ids and indexes are kept in memory, unique ones included. Its rows
are read from the log when a statement asks for them; the pages of the files that
the system caches are the only copy in memory. With the key resident=keys, tables
that do not say it themselves are made so, CREATE TABLE included, except
sqlite_sequence and volatile tables. Durable tables only: durable=false with
resident=keys is refused, and so is a keys table in a store without a directory.

Such a table answers every statement as any other does. An update of a few columns
writes those columns, up to 16 times in a row before the whole row is written
again, so a read takes at most 17 records of the log. The first update of a row in
each log file writes all of it: where rows are not small beside generation_size,
keep large values in a table of their own.

Use keys to fit more, not to go faster: a row in memory is always quicker than one
in a file, and where memory is short the log's pages need some of it, too. A
damaged record of such a table is found when it is read, at open at the latest: a
*CorruptError, never another row. Rows still open when the store is closed end
with an error.

# Foreign keys

Foreign keys are enforced as SQLite enforces them, with all actions, unless
foreign_keys=off or PRAGMA foreign_keys turns that off for a connection, until
it goes back to the pool. errors.Is(err, ErrConstraintForeignKey) finds violations,
also where OR IGNORE or OR REPLACE is written, and those of RESTRICT, whose extended
code is SQLite's 1811. A COMMIT that deferred violations refuse leaves a transaction
of SQL text open; Tx.Commit rolls it back.

Deleting a row, or giving it another key, looks for the rows that refer to it: by
an index that begins with the referring columns, or else by reading the whole
table. Index them.

Where SQLite is known to be wrong it is not followed: it does not see a row that
a REPLACE lets refer to nothing when deleting rows of the table can set its own
columns to NULL, by ON DELETE SET NULL to itself or to a table that cascades; it
goes on counting the deferred violation of a single-row INSERT that another key
made fail; and it may leave rows deleted by a statement that failed, where a key
and what refers to it differ in their affinities.

# Migrations

With Config.Migrations or the key migrations the first connection of an sql.DB applies
the migrations that the store does not have, in the order of the numbers their names
begin with: each in one transaction with its row of the table goose_db_version, unless
it says NO TRANSACTION. Those of one process wait for each other. One that fails is
undone, the ones before it stay, and the open fails with an error that names file and
line. The files are in goose's format:

	-- +goose Up
	CREATE TABLE notes(id INTEGER PRIMARY KEY, body TEXT);
	-- +goose Down
	DROP TABLE notes;

A statement that has semicolons of its own, as a trigger has, stands between
-- +goose StatementBegin and -- +goose StatementEnd. MigrateUp, MigrateDown and
Migrations do the same to an open sql.DB.

# Upgrading

Opening a store with a newer version of this package upgrades its catalog, one
way, and keeps a copy of it as catalog.db.vN.bak, N being the version it had. A
program of an older version then refuses the store.

# UPSERT

INSERT … ON CONFLICT … DO works in all forms: several clauses, targets by columns,
collations, expressions and WHERE, in INSERT … SELECT, with OR clauses, RETURNING, and
in the bodies of triggers. SET sees what the statement has done so far, in an UPDATE
too. What differs from SQLite:

  - A subquery behind IN or a comparison, in a SET or WHERE of DO UPDATE and in the SET
    of an UPDATE that is evaluated row by row, is run for each row. Other subqueries
    that do not depend on the row are computed once, as in SQLite.
  - SET (a, b) = (SELECT …) runs the query once for each of its columns.
  - A statement on a table WITHOUT ROWID goes through rows that are there in the
    order they were inserted.

A name must not begin with the control character 0x01.

# Triggers

CREATE TRIGGER works on tables as on views, with all times and events, UPDATE OF,
WHEN, RAISE and PRAGMA recursive_triggers; so does CREATE TEMP TRIGGER, on tables of
the store too. They fire in SQLite's order: those of temp first, then the newest.
Few things differ from SQLite's:

  - An UPDATE or DELETE trigger in which a table is called old or new is refused by
    name.
  - FAIL in a DELETE, and in what a trigger fires, acts as ABORT.
  - A DELETE or UPDATE of many rows of a table WITHOUT ROWID goes by the order in
    which the rows came, not by the key.
  - Rows that on_full=drop_oldest drops fire no triggers.
  - Renaming a table renames it in the head of a temporary trigger, not in its body,
    and renaming a column leaves a temporary trigger as it is.

# ALTER TABLE

All forms of SQLite work, on tables with rows, in transactions and with its messages:
RENAME TO, RENAME COLUMN, ADD COLUMN, DROP COLUMN, ALTER … SET and DROP NOT NULL, ADD
and DROP CONSTRAINT. Views, triggers, indexes and foreign keys follow a new name. No row
is written but by ADD COLUMN of a generated column: rows that are older than a column
show its DEFAULT, and a dropped one stays in them until they are written anew. At a
branch point a table has the columns it had; t('name') shows the rows of then by the
columns of now. Few things differ from SQLite's:

  - A table that was made by CREATE VIRTUAL TABLE keeps such a text, with its options;
    a change that cannot be put into one is refused.
  - A view that reads the table beside what only a store has, such as an old state, is
    named and stands in the way; so does a trigger that reads such things, whatever
    table it is on. Temporary views keep the old names.
  - A generated column that needs itself, or the time, is refused at once. SQLite adds
    it and then cannot read the table.
  - Dropped columns count: a table has had at most 19,990.

A program that does not know ALTER TABLE yet refuses the log of a store that used it.

# RETURNING and computed values

INSERT, UPDATE and DELETE with RETURNING give the rows as they are stored, in the
order they were changed in. They are handed out when the statement has ended and, of
one outside of a transaction, when its commit is acknowledged; all of them are kept
until then. Exec drops them, and tells LastInsertId and RowsAffected as without the
clause. On a view the clause gives what the INSTEAD OF trigger was given, as in
SQLite; on the administrative tables it is refused.

Generated columns, VIRTUAL ones too, are computed where a row is written and stored
with it. So are the expressions of indexes and the WHERE of partial ones. What a
function that the program registered gives there must not change as long as the store
lives. A row of a branch point has the generated columns that its table got later.

# Caveats

  - One process at a time has a store open for writing; a second one gets
    ErrBusy. Any number read it with mode=ro, each with rows in its own memory.
  - All rows but those of resident=keys tables are kept in memory. An open reads
    them from the base, and all of the log behind it.
  - A backup leaves an index segment out that is damaged or missing: the copy makes
    it anew. That of a branch point alone is not mended in place.
  - An index on an expression, and one with WHERE, keeps what it says unique; reads
    do not use it. ADD COLUMN of a generated column, and CREATE INDEX of such an
    index, write every row of the table anew, and fail where an expression does.
  - A single statement cannot write the store and an attached SQLite file in one
    transaction: no atomic commit exists across the two.
  - Rows still open when the sql.DB is closed keep the engine open until they
    are closed.
  - ColumnType's Nullable tells what the schema says of a column; the right side
    of a LEFT JOIN may be NULL all the same.
  - A time is stored in UTC: the zone it was written with is not kept.
  - A DSN names files of the machine. Treat it as trusted input.
*/
package driver

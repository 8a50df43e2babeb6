// Package sqltext knows what a text of SQL says without running it: where its
// statements end, what each of them does and to which object, which
// parameters it has, and where in the source each part stands.
//
// The grammar is github.com/sqlc-dev/meyer's, which follows SQLite's own; this
// package is the only one that calls it. A statement is parsed alone, because
// meyer returns nothing at all for a script with one error in it and lets
// parameter numbers run on from statement to statement, and SQLite does
// neither.
//
// # Caveats
//
// A plain SELECT is not parsed: its first word says enough, unless it names
// one of the words the driver has to act on (sqlite_schema, sqlite_sequence,
// INDEXED BY, a rowid). A text that meyer refuses has kind Invalid and goes to
// SQLite as it is, whose message is the one a user should read.
//
// Texts are changed by splicing spans of the source, never by rendering the
// tree: rendering drops comments and spelling. The span of a statement includes
// its semicolon.
package sqltext

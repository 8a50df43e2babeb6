// Package sqltests tests Tidemark as a black box, through database/sql alone:
// SQL scripts and random programs that plain SQLite answers too, processes
// that are killed, and comparisons with a native table.
//
// Every store is opened by [Open] of the test files, which closes, reopens and
// checks it at cleanup and fails on leaked goroutines and descriptors.
//
// # Caveats
//
// The corpora and the sample database are not part of this repository: a test
// that needs one is skipped, and says so, where they are absent. Set
// TIDEMARK_DATA to a folder that holds slt.tar.xz, sqltest.tar.xz and
// chinook.sql to run them.
package sqltests

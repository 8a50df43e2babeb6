// Command tidemark works on the stores of package driver.
//
//	tidemark sql DIR 'stmt; …'   run statements, print rows as sqlite3 does
//	tidemark shell DIR           read and run statements and dot commands
//	tidemark import DIR FILE     read a .csv, .tsv, .sql or SQLite file
//	tidemark export DIR OUT      write a SQLite file, a script or a csv file
//	tidemark inspect DIR         tables, generations and objects of a store
//	tidemark check DIR           read every byte of a store, report what is wrong
//	tidemark checkpoint DIR      end the log files: sealed, and the timeline's head
//	tidemark compact DIR         rewrite the log: one record per row
//	tidemark branch DIR [NAME]   list the branch points, or make one; -d deletes one
//	tidemark gc [-n] DIR         remove files that nothing needs, or say which these are
//	tidemark backup DIR DEST     write a backup of a store to a new directory
//	tidemark restore BACKUP DIR  make a store of a backup, every byte verified
//	tidemark slt FILE…           run sqllogictest scripts
//	tidemark bench residency     compare resident=all, keys and plain SQLite in little memory
//	tidemark demo [DIR]          fill a store, kill its writers, show what is left
//
// Each command tells its flags after -h. Exit status: 0 done; 1 failed, or
// interrupted by SIGINT or SIGTERM; 2 refused or misused, with exactly one line on
// standard error that names the ways forward; 74 an I/O error stopped the
// engine's writes.
//
// # Caveats
//
// Every command but gc -n opens the store as its one process, so it is refused
// while a program has the store open, unless sql, shell, export or inspect are given -ro,
// which only reads; catalog.db can be read by the sqlite3 shell at any time. These four also
// take -timeline NAME, and -at BRANCHPOINT to read the store as it was there. Opening
// recovers: after a crash the unsynced end of the log is cut off, also by check and
// inspect, and the catalog of an older version is upgraded, with a copy of it left
// beside it as catalog.db.vN.bak. Only sql, shell, import, restore and demo
// create a store, in a directory that is missing or empty; an import that fails takes the
// one it made along. No output goes into a store's directory.
//
// An import is one transaction: it happens as a whole or not at all. A script
// that begins transactions itself is the exception; the error of one that fails
// says what it left. CSV knows no types: import takes an unquoted empty field as
// NULL and a quoted one as an empty text, an unquoted x'…' as a blob, and gives
// the columns of a new table the narrowest type that keeps every character. The
// first line holds names where one is a column's, or, for a new table, unless a
// field of it is a number; -header decides otherwise, and has to where a name is
// empty or there twice. The delimiter is guessed from the first rows, and a
// comma in doubt. What export and the shell's csv mode write is read back as it
// was, but for rowids that are not a column, and for texts that are not UTF-8,
// which import refuses.
//
// What can be read only once, such as a pipe, is copied into a temporary file
// before it is imported. An export with -force over a SQLite file takes that
// file's exclusive lock first, so that no program goes on with the old one.
//
// A SQLite file and a script hold ordinary tables: options of a table that
// differ from what every table has (durable=false, resident=keys) are named on
// standard error and left out. Text that SQLite's own shell would change on the
// way, with a NUL or a carriage return, is written in hexadecimal.
//
// The shell prints as sqlite3 does. In csv, json, quote and insert mode a REAL
// has all its digits, and csv quotes texts that look like numbers.
package main

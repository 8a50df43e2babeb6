// Command tidemark works on the stores of package driver.
//
//	tidemark sql DIR 'stmt; …'   run statements, print rows as sqlite3 does
//	tidemark inspect DIR         tables, generations and objects of a store
//	tidemark check DIR           read every byte of a store, report what is wrong
//	tidemark slt FILE…           run sqllogictest scripts
//	tidemark demo [DIR]          fill a store, kill its writers, show what is left
//
// Exit status: 0 done; 1 failed; 2 refused or misused, with exactly one line on
// standard error that names the ways forward; 74 an I/O error stopped the
// engine's writes.
//
// # Caveats
//
// Every command opens the store as its one process, so it is refused while a
// program has the store open; catalog.db can be read by the sqlite3 shell at
// any time. Opening recovers: after a crash the unsynced end of the log is cut
// off, also by check and inspect. Only sql and demo create a store.
package main

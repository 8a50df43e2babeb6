// Package vfs is the only way the engine touches files: the operating
// system's, an in-memory one that simulates crashes, and wrappers that inject
// faults and record operations.
//
// # Implementations
//
// OS is a directory of the operating system. Mem lives in memory and knows,
// after every operation, which bytes, sizes and names are durable; it yields
// what a crash could leave as file systems on which a store can be opened.
// Fault wraps any of them and fails chosen operations; Trace wraps any and
// writes a line per operation. One conformance suite runs over all.
//
// # What is durable when
//
//	written bytes                      SyncData or Sync of the file
//	size, as far as bytes need it      SyncData or Sync
//	size otherwise (cut, preallocated) Sync
//	names (create, rename, link,
//	remove, mkdir)                     SyncDir of the directory that holds the name
//
// A file whose name is not durable is gone after a crash, however often it was
// synced itself. A sync that failed must be taken as final: the system may have
// dropped the pages, and the next sync succeeds without them. Mem behaves so.
//
// # Caveats
//
//   - Mem is stricter than file systems in use: it loses any one of several
//     overlapping writes, and reorders changes of one directory. It is more
//     lenient in one point: a rename is one piece, never half done.
//   - Mem keeps unsynced writes, and its journal, in memory; a program that
//     never syncs a file makes both grow (see SetJournalLimit for the latter).
//   - A name may not hold "..", a leading slash or, on Windows, a device name.
//     Symbolic links below the root are followed as long as they stay below it.
//   - On darwin SyncData is as expensive as Sync (F_FULLFSYNC). On Windows
//     SyncDir does nothing, and a mapped or open file cannot always be cut,
//     renamed over or removed.
//   - Preallocate cannot reserve anything on copy-on-write file systems, where
//     each overwrite takes new blocks.
//   - Locks are advisory. On network file systems they are what the server
//     makes of them.
package vfs

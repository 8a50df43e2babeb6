// Package lint holds the rules of this repository as tests: which package may
// import which, which version of the C library the SQLite port needs, where
// unsafe is allowed, that every package says what will hurt its users, and how
// long a file may be.
//
// # Caveats
//
// The rules read the source files, not the build: a file behind a build tag is
// held to them on every system.
package lint

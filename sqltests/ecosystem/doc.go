// Package ecosystem runs what Go programs use over database/sql on Tidemark: ORMs,
// query builders, migration tools and generated code, each in a version that go.mod
// pins. It is a module of its own, so that none of them is a dependency of Tidemark.
//
// Every test runs on plain SQLite as well (modernc.org/sqlite, the same version as
// under Tidemark), which shows that a test asks for nothing that SQLite has not.
//
// # Caveats
//
// go test ./... of the main module does not see it: make ecosystem runs it.
package ecosystem

//go:build race

package row

// The race detector makes SQLite, which is Go here, 30 times slower.
const slower = 8

//go:build race

package engine

// raceEnabled: the race detector slows writers down, so fewer meet in a batch.
const raceEnabled = true

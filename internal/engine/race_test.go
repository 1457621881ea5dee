//go:build race

package engine_test

// raceEnabled says that the race detector watches.
const raceEnabled = true

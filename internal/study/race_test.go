//go:build race

package study_test

// raceEnabled reports whether the race detector is on.
const raceEnabled = true

//go:build !race

package transport

// raceEnabled reports whether the race detector is on.
const raceEnabled = false

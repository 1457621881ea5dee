//go:build !race

package engine_test

import "time"

// raceEnabled reports whether the race detector is on.
const raceEnabled = false

// rounds is how often a test repeats what only differs in its data.
func rounds(n int) int { return n }

// span is a time for which a test waits.
func span(d time.Duration) time.Duration { return d }

//go:build race

package engine_test

import "time"

// raceEnabled reports whether the race detector is on.
const raceEnabled = true

// rounds is how often a test repeats what only differs in its data: once under the race
// detector, which finds in further rounds what it finds in the first.
func rounds(int) int { return 1 }

// span is a time for which a test waits, shorter under the race detector.
func span(d time.Duration) time.Duration { return d / 20 }

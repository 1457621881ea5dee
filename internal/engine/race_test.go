//go:build race

package engine_test

// raced says that the race detector watches.
const raced = true

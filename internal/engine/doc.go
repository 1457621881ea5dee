// Package engine runs benchmarks. It compiles a configuration to a [Plan],
// queues runs and executes one at a time by default, owns every goroutine of a
// run, and publishes what it knows as immutable snapshots. It knows nothing of
// HTTP servers, flags or SQL: those call it, or implement the small interfaces
// it declares.
package engine

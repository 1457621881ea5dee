// Package engine runs benchmarks. It compiles a configuration to a [Plan],
// queues runs and executes one at a time by default, owns every goroutine of a
// run, and publishes the state of runs as immutable snapshots. It does not depend on
// HTTP servers, flags or SQL: they call it, or implement the interfaces that it
// declares.
package engine

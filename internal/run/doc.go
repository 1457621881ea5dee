// Package run defines runs: their identity, state, snapshots and events, the queries
// over them, and the interfaces of stores and of receivers of events. It is data; package
// engine performs runs.
package run

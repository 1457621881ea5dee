// Package run holds what the rest of the program knows about runs: their identity,
// state, snapshots and events, the queries over them, and the interfaces of those
// who store and publish them. It is data; package engine performs runs.
package run

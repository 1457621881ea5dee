// Package engine performs runs, which package queue supervises: it prepares each, performs and
// stops its phases, computes its results, and settles those that an earlier process left behind.
// It publishes the state of runs as immutable snapshots. It does not depend on HTTP servers,
// flags or SQL: they call it, or implement the interfaces of package run.
package engine

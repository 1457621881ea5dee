// Package engine keeps the queue of runs, decides which one starts next, and supervises
// each from its preparation through its phases to its results; it cancels runs, and
// settles those that an earlier process left behind. It publishes the state of runs as
// immutable snapshots. It does not depend on HTTP servers, flags or SQL: they call it,
// or implement the interfaces of package run.
package engine

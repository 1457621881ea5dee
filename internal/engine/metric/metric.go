// Package metric computes metrics from records. It has the catalogue of metrics,
// whose definitions [Defs] lists, the [Set] that accumulates the records of a phase,
// and the [Results]. A new metric is one row of the catalogue.
package metric

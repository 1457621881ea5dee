// Package measure computes metrics from records. It has the [Set], which accumulates the
// records of a phase, the pools of several phases, and the groups of errors. Package metric
// defines the results, package catalogue the metrics.
package measure

// Package metric computes metrics from records. It has the [Set], which accumulates
// the records of a phase, and the [Results]. Package catalogue defines the metrics.
package metric

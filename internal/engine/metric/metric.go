// Package metric defines what is known of the metrics of a phase: statistics, results with
// their confidence, the outcomes of objectives, and groups of errors. It is data; package
// measure computes it from records, and package catalogue defines the metrics.
package metric

// Package metric turns records into numbers: the catalogue of metrics, the set
// that accumulates them, and the statistics. A metric is one row of [Defs].
package metric

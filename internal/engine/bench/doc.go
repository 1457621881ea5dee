// Package bench defines the common types of a benchmark: requests, responses,
// records and their timestamps, failures, statistics of phases, and states. It contains data only,
// so that packages can exchange these types without importing each other.
//
// All times inside a run are offsets from the epoch of the run's [Clock] on the
// monotonic clock. Wall-clock times are computed only on export.
package bench

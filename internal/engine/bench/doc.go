// Package bench is the vocabulary of a benchmark: what is sent, what came
// back, when, and how it ended. It holds data only, and one container for much of
// it ([Events]), so that every other package can speak of the same things without
// importing one another.
//
// All instants inside a run are offsets from the run's [Clock] epoch on the
// monotonic clock; wall time is computed only when something is exported.
package bench

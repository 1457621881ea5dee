// Package collect turns the finished requests of a run into metrics and files: it
// decodes responses, counts tokens (by the server's usage or by a tokenizer), folds records
// into metric sets, shows them to the observers of the run and its phases, such as time series and
// samples, writes record files, and publishes what a phase has measured so far.
//
// A [Recorder] has a pool of goroutines for decoding, and one goroutine that processes
// the records of a phase in order and passes each to its [Observer]s. A record file
// has one writer.
package collect

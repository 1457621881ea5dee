// Package collect takes the finished requests of a run to its metrics and files: it
// decodes responses, counts tokens, folds records into metric sets, writes record files,
// and publishes what a phase has measured so far.
//
// A [Recorder] has goroutines for decoding and one that everything of a phase passes
// through in order; [Observer]s see each record there. A record file has one writer.
package collect

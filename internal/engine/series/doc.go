// Package series records the time series of a run: in windows of one second the
// distributions of latencies, the rates of requests and tokens, the levels of the load and
// the errors.
//
// A request counts in the window in which it ended, whatever its latencies: only then are
// its numbers known. A [Recorder] keeps the windows that may still change in memory and
// appends the others to a file in the folder of the run. An entry of the file is an
// addition to a window, so a request whose processing is late makes a further entry of the
// same window. Readers merge the entries of a window, and the windows of a longer step,
// without an error: distributions are sketches, and percentiles are computed of the merged
// ones.
package series

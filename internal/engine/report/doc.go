// Package report computes the results of runs from what their phases have measured:
// the report, its warnings and its summary, and how the run ended. The judgements on
// a run in progress, and the results of an interrupted run, come from the same
// functions. Nothing here performs I/O, except [Recover], which reads a record file.
package report

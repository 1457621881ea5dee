// Package report computes the results of runs from what their phases have measured:
// the report, its warnings and its summary, and whether the run completed or failed; also
// for runs in progress, and for those whose process died. Only [Recover] performs I/O: it
// reads a record file.
package report

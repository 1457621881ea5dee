// Package verdict judges how far the numbers of a run can be believed: whether the load
// generator kept up, whether the server did, and whether the numbers agree. Its functions are
// pure: they turn observations of the load generator, and its records, into
// judgements. [Judge] decides whether the client kept up, [Saturate] whether the
// server did, [Streams] how responses were divided into events on their way, and
// [Check] whether the numbers of a result are consistent.
package verdict

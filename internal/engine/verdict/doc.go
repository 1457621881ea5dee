// Package verdict says how far the numbers of a run can be trusted. It is pure:
// observations of the load generator and of its records go in, judgements come
// out. [Judge] decides whether the client itself kept up, [Streams] how the
// answers were cut into events on their way, and [Check] whether the numbers of
// a result agree with each other.
package verdict

// Package plan compiles documents to plans: every name of a document becomes a value,
// and nothing is looked up by name afterwards. A plan does not change once it is
// compiled; what is known only while a run is active (its clock, its dialer, its memory)
// is an argument of whoever uses the plan. [Measure] is the part that recovery needs.
package plan

// Package plan compiles documents to plans: every name of a document becomes a value,
// and nothing is looked up by name afterwards. A plan is immutable. Values that exist
// only while a run is active (clock, dialer, memory) are passed beside the plan.
// [Measure] is the part that recovery needs.
package plan

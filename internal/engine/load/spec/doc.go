// Package spec describes the load of a run: when its sessions start and what limits them.
// It has no behaviour beyond arithmetic, and it knows no documents: package plan compiles
// them into it, and package load performs it.
package spec

// Package filelock locks files between processes. The system releases the lock of a
// process that ends in whatever way.
package filelock

// HeldError reports that another process holds a lock.
type HeldError struct {
	Path string
	PID  string // of the other process; may be empty
}

// Error implements error.
func (e *HeldError) Error() string {
	if e.PID == "" {
		return e.Path + " is locked by another process"
	}
	return e.Path + " is locked by process " + e.PID
}

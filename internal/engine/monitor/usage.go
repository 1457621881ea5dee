package monitor

import "time"

// Usage is the resource usage of this process since its start, as the system reports it.
// Fields that the system does not report are zero.
type Usage struct {
	Started             time.Time
	User, System        time.Duration // processor time
	RSS                 int64         // bytes
	Threads             int
	VoluntarySwitches   int64 // of threads, because they waited
	InvoluntarySwitches int64 // of threads, because others were due
	IO                  *IO   // nil = unknown
}

// IO is the input and output of this process: of storage in bytes, of all files
// and sockets in operations and characters.
type IO struct {
	ReadOps, WriteOps     int64
	ReadBytes, WriteBytes int64
	ReadChars, WriteChars int64
}

package verdict

import "time"

// Observation is everything about the client that [Judge] looks at, over one
// phase window.
type Observation struct {
	Phase string // name of the phase
	Self  Self
	Load  Load
}

// Self is what the process could see of itself and of its machine in a window.
// A nil pointer means that the system does not tell.
type Self struct {
	Window    time.Duration // how long it was watched
	Ticks     Histogram     // how late a goroutine was woken that asked for it at a steady pace
	Scheduler *Histogram    // how long goroutines were runnable before they ran
	Pauses    *Histogram    // how long the garbage collector stopped all of them, each time
	CPU       *CPU
	RunQueue  *RunQueue
	Machine   *Machine
	Cgroup    *Cgroup
	RSS       int64         // bytes at the end of the window; 0 = unknown
	InFlight  time.Duration // requests in flight, integrated over the window; 0 = not watched
	Step      time.Duration // pace of the ticks
}

// CPU is the use of processors by this process.
type CPU struct {
	Used  time.Duration
	Cores float64       // it may use so many: the least of processors, quota and GOMAXPROCS
	Busy  time.Duration // part of the window with more than 80 % of them in use
}

// RunQueue is how the kernel let the threads of this process run.
type RunQueue struct {
	Wait   time.Duration // ready to run, but not running, over all threads
	Slices int64         // times that a thread got a processor
}

// Machine is the use of all processors of the machine.
type Machine struct {
	Cores   int
	Idle    time.Duration // over all processors
	Others  time.Duration // by other processes and the kernel
	Steal   time.Duration // taken by the hypervisor
	Crowded time.Duration // part of the window with less than 20 % of the machine idle
}

// Cgroup is what the control group of the process did to it.
type Cgroup struct {
	Quota     float64 // cores; 0 = without limit
	Throttled time.Duration
}

// Load is what the records of a phase say about the client, and what the plan
// asked of it.
type Load struct {
	Open     bool      // requests are due by a schedule
	Capped   bool      // some of them waited for a free slot, as the plan wants it
	Send     Histogram // from the start of a request until it was written, handshakes not included
	Schedule Histogram // how late requests started through the client's fault
	Requests int64
	// Offered and Delivered are the rates that the schedule asked for and that
	// went out, in requests per second; 0 = there are too few to say. Late is how
	// much longer the requests took to go out than their due times do.
	Offered, Delivered float64
	Late               time.Duration
	// Lost is the share of the time of the slots of a closed loop in which the
	// client had not yet started the next request, and Turnaround the mean of these
	// times. The first requests of a phase do not count.
	Lost       float64
	Turnaround time.Duration
	// TTFT and Latency are medians, Gap is the mean time between two content events;
	// 0 = unknown.
	TTFT, Latency, Gap time.Duration
	// Kernel and Read count the responses by who stamped their arrival: the
	// kernel, or this process after it had read them.
	Kernel, Read int64
	// Merged counts those of all Gaps whose two events came in one read, and
	// MergedFirst those of all Streams whose first two events did. The kernel joins
	// packets that nobody reads, and keeps the stamp of the last: either the server
	// sent the events together, or the first of them has a stamp that is too late.
	Merged, Gaps, MergedFirst, Streams int64
	// StampLag is the time from the kernel's receive stamp until the client
	// handled the bytes; nil = not measured.
	StampLag *Histogram
}

package verdict

import "time"

// Observation is the input of [Judge]: the client over one phase window.
type Observation struct {
	Phase string // name of the phase
	Self  Self
	Load  Load
	// Objectives are the metrics that the run has objectives of.
	Objectives []string
	Path       *Path // nil = it is not known
}

// Path is what happened on the network between the client and the servers.
type Path struct {
	Responses, Affected int64 // those with a retransmission or a segment out of order, at least
	Sent, Retransmitted int64 // segments to the servers
	// Received are segments with data, and OutOfOrder those of them that came after a gap.
	Received, OutOfOrder int64
}

// Self is what the process observed of itself and of its machine in a window. Nil
// pointers are unknown.
type Self struct {
	Window    time.Duration // duration of the observation
	Ticks     Histogram     // lateness of a goroutine that wakes up at regular intervals
	Scheduler *Histogram    // how long goroutines were runnable before they ran
	Pauses    *Histogram    // how long the garbage collector stopped all of them, each time
	CPU       *CPU
	RunQueue  *RunQueue
	Machine   *Machine
	Cgroup    *Cgroup
	Network   *Network
	Governor  string        // how the kernel chooses the frequency of the processors; empty = unknown
	MHz       float64       // frequency of the processors at the end of the window; 0 = unknown
	RSS       int64         // bytes at the end of the window; 0 = unknown
	InFlight  time.Duration // requests in flight, integrated over the window; 0 = not observed
	Step      time.Duration // interval of the ticks
}

// CPU is the use of processors by this process.
type CPU struct {
	Used  time.Duration
	Cores float64       // that it may use: the least of processors, quota and GOMAXPROCS
	Busy  time.Duration // part of the window with more than 80 % of them in use
}

// RunQueue is the scheduling of the threads of this process by the kernel.
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

// Cgroup is the processor limit of the control group of the process.
type Cgroup struct {
	Quota     float64 // cores; 0 = without limit
	Throttled time.Duration
}

// Network is what happened to the network of the machine. Nil pointers are unknown.
type Network struct {
	ReceiveDrops *int64 // segments that were dropped because a receive queue was full
	Softnet      *int64 // packets that were dropped because the kernel had no room for them
	Interfaces   []Interface
	Busy         time.Duration // part of the window with an interface above 80 % of its speed
	PortsShort   time.Duration // part of the window with more than 80 % of the local ports in use
	Ports        float64       // share of the local ports in use at the end; 0 = not half of them
	Conntrack    *float64      // share of the table of tracked connections at the end
}

// Interface is the use of an interface.
type Interface struct {
	Name           string
	Speed          float64 // bytes per second, each way
	Received, Sent float64 // share of the speed
}

// Load is what the records of a phase show about the client, and what the plan
// requested of it.
type Load struct {
	Open     bool      // requests are due by a schedule
	Capped   bool      // some of them waited for a free slot, according to the plan
	Send     Histogram // from the start of a request until it was written, handshakes not included
	Schedule Histogram // how late requests started because of the client
	Requests int64
	// Offered is the rate of the due times and Delivered that of the starts, in
	// requests per second; 0 = too few requests. Late is by how much the starts span
	// more time than the due times.
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
	// CorrectedTTFT and CorrectedLatency are the medians from the due time: with a queue, much
	// longer than those from the start. 0 = unknown.
	CorrectedTTFT, CorrectedLatency time.Duration
	// Kernel and Read count the responses by the source of their timestamps: the
	// kernel, or this process after the read.
	Kernel, Read int64
	// Merged counts the Gaps whose two events came in one read, and MergedFirst the
	// Streams whose first two events did. The kernel joins packets that are not read
	// in time and keeps the timestamp of the last one: either the server sent the
	// events together, or the timestamp of the first one is too late.
	Merged, Gaps, MergedFirst, Streams int64
	// StampLag is the time from the kernel's receive stamp until the client
	// handled the bytes; nil = not measured.
	StampLag *Histogram
}

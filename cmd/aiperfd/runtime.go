package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The heap may grow to smallHeap bytes before it is collected: a short run ends before
// that. Beyond, it may grow by growth percent between two collections, the default of the
// runtime, or by largeGrowth percent if more than largeHeap bytes are in use.
const (
	smallHeap   = 32 << 20
	largeHeap   = 96 << 20
	growth      = 100
	largeGrowth = 50
	// startGrowth has the effect of smallHeap before the first collection, for which the
	// runtime takes 4 MiB to be in use.
	startGrowth = 100 * smallHeap / (4 << 20)
)

// configureRuntime configures the Go runtime for measurements. Settings in the
// environment have precedence.
func configureRuntime() {
	if os.Getenv("GOMAXPROCS") == "" {
		spareProcessor()
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(startGrowth)
		adjustGC(startGrowth)
	}
}

// spareProcessor raises GOMAXPROCS by one above the processors of the machine or of
// the quota. A goroutine that returns from a wait in the kernel needs a processor
// of the runtime to continue. If goroutines that compute hold all of them, a due
// request waits for the next preemption. With a spare one, the kernel schedules its
// thread within microseconds. ADR 10 has the figures.
func spareProcessor() { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1) }

// adjustGC sets GOGC after every collection, by the size of the live heap; it is set to
// percent. With thousands of streams, memory is the scarce resource, and a large heap is
// collected so rarely that more frequent collections cost little.
func adjustGC(percent int) {
	sentinel := new([16]byte) // unreachable at the next collection
	runtime.AddCleanup(sentinel, func(percent int) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		want := growth
		if live[0].Value.Kind() == metrics.KindUint64 {
			want = growthOf(live[0].Value.Uint64())
		}
		if want != percent {
			debug.SetGCPercent(want)
		}
		adjustGC(want)
	}, percent)
}

// growthOf returns by how many percent a heap may grow of which so many bytes are in use.
func growthOf(live uint64) int {
	if live > largeHeap {
		return largeGrowth
	}
	const least = 1 << 20 // less is never in use
	return max(growth, int(100*smallHeap/max(live, least))-100)
}

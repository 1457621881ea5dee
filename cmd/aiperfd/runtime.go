package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The heap may grow by smallGrowth percent between two collections, the default of
// the runtime, or by largeGrowth percent if more than largeHeap bytes are in use.
const (
	largeHeap   = 96 << 20
	smallGrowth = 100
	largeGrowth = 50
)

// configureRuntime configures the Go runtime for measurements. Settings in the
// environment have precedence.
func configureRuntime() {
	if os.Getenv("GOMAXPROCS") == "" {
		spareProcessor()
	}
	if os.Getenv("GOGC") == "" {
		adjustGC(smallGrowth)
	}
}

// spareProcessor raises GOMAXPROCS by one above the processors of the machine or of
// the quota. A goroutine that returns from a wait in the kernel needs a processor
// of the runtime to continue. If goroutines that compute hold all of them, a due
// request waits for the next preemption. With a spare one, the kernel schedules its
// thread within microseconds. ADR 10 has the figures.
func spareProcessor() { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1) }

// adjustGC sets GOGC after every collection, by the size of the live heap. With
// thousands of streams, memory is the scarce resource, and a large heap is
// collected so rarely that more frequent collections cost little.
func adjustGC(growth int) {
	sentinel := new([16]byte) // unreachable at the next collection
	runtime.AddCleanup(sentinel, func(growth int) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		want := smallGrowth
		if live[0].Value.Kind() == metrics.KindUint64 && live[0].Value.Uint64() > largeHeap {
			want = largeGrowth
		}
		if want != growth {
			debug.SetGCPercent(want)
		}
		adjustGC(want)
	}, growth)
}

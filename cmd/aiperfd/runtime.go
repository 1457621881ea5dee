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
		watchHeap(smallGrowth)
	}
}

// spareProcessor raises GOMAXPROCS by one above the processors of the machine or
// of the quota. A goroutine that returns from a wait in the kernel
// needs one to go on: with all of them held by goroutines that compute, a due
// request waits for the next preemption, and the kernel could not even choose
// it. With one to spare the kernel decides who runs, within microseconds.
// ADR 10 has the figures.
func spareProcessor() { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1) }

// watchHeap chooses after every collection how far the heap may grow until the
// next. Memory is what thousands of streams need most, and a large heap is
// collected so rarely that doing it more often costs little; a small one is not.
func watchHeap(growth int) {
	sentinel := new([16]byte) // found dead by the next collection
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
		watchHeap(want)
	}, growth)
}

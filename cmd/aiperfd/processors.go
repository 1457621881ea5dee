package main

import (
	"os"
	"runtime"
)

// spareProcessor gives the scheduler of the runtime one processor more than the
// machine, or the quota, has. A goroutine that returns from a wait in the kernel
// needs one to go on: with all of them held by goroutines that compute, a due
// request waits for the next preemption, and the kernel could not even choose
// it. With one to spare the kernel decides who runs, within microseconds.
// ADR 10 has the figures. Who sets GOMAXPROCS is obeyed.
func spareProcessor() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
}

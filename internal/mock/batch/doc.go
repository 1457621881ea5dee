// Package batch models one accelerator that serves many sequences by continuous
// batching with chunked prefill: a running batch, a waiting queue, a pool of
// key-value cache blocks with a prefix cache, and preemption when the pool runs
// dry. It answers one question: which sequences get a token after the next
// step, and how long that step takes.
//
// It is pure: no goroutine and no clock. The caller submits sequences, calls
// [Engine.Step], lets the time pass that the step took, and then tells the
// clients what came out.
package batch

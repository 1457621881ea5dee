// Package batch models one accelerator that serves many sequences by continuous
// batching with chunked prefill: a running batch, a waiting queue, a pool of
// key-value cache blocks with a prefix cache, and preemption when the pool runs
// dry. It determines which sequences get a token in the next step, and how long
// that step takes.
//
// It is pure: no goroutine and no clock. The caller submits sequences, calls
// [Engine.Step], waits for the duration of the step, and then delivers the tokens
// to the clients.
package batch

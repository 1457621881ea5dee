// Package mock is a simulated inference server that speaks the APIs of OpenAI and
// Anthropic, as vLLM does, with timing that is configured instead of computed. With
// it users can try every feature without a GPU, and tests can compare the measurements
// of a client with the server's own time stamps: every request leaves a [Truth].
//
// A [Server] is an http.Handler. Requests are independent of each other (open
// loop): the first token is due TTFT after the body was read, every further
// token one ITL later, and all due times are absolute, so a stream never drifts.
// With Options.Accelerator the times come from the model of package batch
// instead: requests queue, share steps and memory, and slow each other down. Only
// package time is used for waiting, so that the server runs in virtual time
// inside a testing/synctest bubble.
//
// All exported methods of [Server] are safe for concurrent use. One goroutine
// serves one request; the goroutines that a [Server] itself starts are the writer
// of the truth file and the steps of the accelerator, both of which
// [Server.Close] waits for.
//
// [Serve] puts package front before the handler if possible: one thread that serves plain
// requests of a TCP listener on Linux, so that the simulated server can share two cores
// with the client that measures it. It sends the same bytes by the same code, and passes
// every connection with another request to net/http. A server with an accelerator, fault
// rules, comments or byte by byte writes is served by net/http alone.
//
// The APIs are packages below api, one per family; the table of routes in this package is
// the only list of them. A request becomes an exchange: it is read by its protocol, waits
// for its due times, applies its fault rule, sends a document or a stream, and records its
// truth.
package mock

// Package mock is a simulated inference server that speaks the OpenAI API as
// vLLM does, with timing that is configured instead of computed. It lets a user
// try every feature without a GPU, and lets tests prove that what a client
// measured is what the server did: every request leaves a [Truth] with the
// server's own time stamps.
//
// A [Server] is an http.Handler. Requests are independent of each other (open
// loop): the first token is due TTFT after the body was read, every further
// token one ITL later, and all due times are absolute, so a stream never drifts.
// Only package time is used for waiting, so that the server runs in virtual time
// inside a testing/synctest bubble.
//
// All exported methods of [Server] are safe for concurrent use. One goroutine
// serves one request; the only goroutine that the package itself starts is the
// writer of the truth file, which [Server.Close] waits for.
package mock

// Package loop is an event loop for TCP connections of a client on Linux: one
// goroutine waits with epoll(7) for all of them, stamps what it reads with the
// kernel's receive time and hands it to the connection's handler at once. Whoever
// waits for a response sleeps until the response is whole, instead of waking for
// every packet of it.
//
// It knows nothing of HTTP, but can decrypt TLS (see [Secure]). Other systems have no loop; the package is empty there.
package loop

// Package transport sends HTTP requests, receives their responses, and records the
// timestamps of both: of the connection, the end of the request, and each event of the
// response. It splits bodies into events but does not interpret them; the codecs of
// package endpoint do.
//
// Plain HTTP on Linux goes over an event loop (package loop), everything else over
// net/http with connections that record when the bytes of each read arrived (package
// sockstamp).
package transport

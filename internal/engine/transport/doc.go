// Package transport moves one request's bytes and stamps them: when a
// connection was at hand, when the request was written, when the bytes of each
// read arrived. It cuts bodies into events but understands none of them; what they
// mean is the endpoint codecs' business.
//
// There are two ways to a server: an event loop of ours for plain HTTP on Linux,
// and net/http over stamping connections for everything else.
package transport

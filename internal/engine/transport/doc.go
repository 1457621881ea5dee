// Package transport moves one request's bytes and stamps them: when a
// connection was at hand, when the request was written, when each read returned.
// It cuts bodies into events but understands none of them; what they mean is the
// endpoint codecs' business.
package transport

// Package http1 writes the head of HTTP/1.1 requests and reads HTTP/1.0 and 1.1
// responses from the pieces in which they arrive (RFC 9112). It does no I/O: a
// reader pushes bytes in and takes the bytes of the body out, so that the reader
// is free to stamp them.
package http1

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// ErrRequest is why a request cannot be written: it would not be one request, or
// not the one that was meant.
var ErrRequest = errors.New("invalid request")

// Request is what the head of a request says.
type Request struct {
	Method string      // a token
	Target string      // path and query
	Host   string      // value of the field Host
	Header http.Header // Host, Content-Length, Transfer-Encoding and Trailer in it are left out
	Length int         // bytes of the body
	Close  bool        // the connection is not used again
}

// written are the fields that AppendHead writes by itself or never.
func written(name string) bool {
	switch name {
	case "Host", "Content-Length", "Transfer-Encoding", "Trailer":
		return true
	}
	return false
}

// AppendHead appends the head of a request: Host first, then the header sorted by
// name, then Content-Length, unless a method that expects no body has none. Its error is [ErrRequest]: a method, target or field
// that holds what its grammar forbids, line breaks above all.
func AppendHead(dst []byte, r *Request) ([]byte, error) {
	if !isToken(r.Method) {
		return dst, fmt.Errorf("%w: method %q", ErrRequest, r.Method)
	}
	if r.Target == "" || !isGraphic(r.Target) {
		return dst, fmt.Errorf("%w: target %q", ErrRequest, r.Target)
	}
	if r.Host == "" || !isGraphic(r.Host) {
		return dst, fmt.Errorf("%w: host %q", ErrRequest, r.Host)
	}
	dst = append(append(append(dst, r.Method...), ' '), r.Target...)
	dst = append(append(append(dst, " HTTP/1.1\r\nHost: "...), r.Host...), "\r\n"...)
	names := make([]string, 0, 24) // stays on the stack unless there are more
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if written(name) {
			continue
		}
		if !isToken(name) {
			return dst, fmt.Errorf("%w: field name %q", ErrRequest, name)
		}
		for _, value := range r.Header[name] {
			if !isValue(value) { // not shown: it may be a secret
				return dst, fmt.Errorf("%w: value of field %s", ErrRequest, name)
			}
			dst = append(append(dst, name...), ": "...)
			dst = append(append(dst, strings.Trim(value, " \t")...), "\r\n"...)
		}
	}
	if r.Close && !HasToken(r.Header["Connection"], "close") {
		dst = append(dst, "Connection: close\r\n"...)
	}
	if r.Length > 0 || r.Method == "POST" || r.Method == "PUT" || r.Method == "PATCH" { // RFC 9110, section 8.6
		dst = append(strconv.AppendInt(append(dst, "Content-Length: "...), int64(r.Length), 10), "\r\n"...)
	}
	return append(dst, "\r\n"...), nil
}

// HasToken reports whether the comma-separated values of a field have a token,
// in upper or lower case (RFC 9110, section 5.6.1).
func HasToken(values []string, token string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.Trim(part, " \t"), token) {
				return true
			}
		}
	}
	return false
}

// isToken reports whether s is a token (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isTokenByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// isValue reports whether s can be the value of a field: no control characters
// but the tab (RFC 9110, section 5.5).
func isValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// isGraphic reports whether s has neither white space nor control characters.
func isGraphic(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f {
			return false
		}
	}
	return true
}

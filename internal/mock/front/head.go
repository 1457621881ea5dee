package front

import (
	"bytes"
	"strings"
)

// Limits of the requests that the front serves, in bytes.
const (
	headLimit = 16 << 10
	bodyLimit = 1 << 20
)

// verdict is the decision about the bytes of a connection.
type verdict int

const (
	needMore verdict = iota // the request is not complete
	ours                    // a request that the front serves
	unusual                 // for net/http, which also writes all error responses
)

// head is the head of a request that the front serves.
type head struct {
	Request
	size   int // bytes of the head, its blank line included
	length int // bytes of the body
}

// parseHead reads the head of a request at the start of data. It accepts a
// plain subset of HTTP/1.1 (RFC 9112): a known path without a query, a Content-Length, a
// Host, and no header that needs more than a response. All other requests, invalid ones
// included, are unusual.
func parseHead(data []byte, serves func(path string) bool) (head, verdict) {
	var h head
	end := bytes.Index(data[:min(len(data), headLimit)], []byte("\r\n\r\n"))
	if end < 0 {
		if len(data) >= headLimit {
			return h, unusual
		}
		return h, needMore
	}
	h.size = end + len("\r\n\r\n")
	line, fields, _ := bytes.Cut(data[:end+2], []byte("\r\n"))
	target, ok := bytes.CutPrefix(line, []byte("POST "))
	target, isOne := bytes.CutSuffix(target, []byte(" HTTP/1.1"))
	h.Path = string(target)
	if !ok || !isOne || !serves(h.Path) {
		return h, unusual
	}
	h.length = -1
	hosts := 0
	for len(fields) > 0 {
		line, fields, _ = bytes.Cut(fields, []byte("\r\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || !isFieldName(name) || !isFieldValue(value) {
			return h, unusual
		}
		if isName(name, "Host") {
			hosts++
			if !isHost(bytes.Trim(value, " \t")) {
				return h, unusual
			}
		}
		if !h.field(name, bytes.Trim(value, " \t")) {
			return h, unusual
		}
	}
	if h.length < 0 || hosts != 1 {
		return h, unusual
	}
	return h, ours
}

// field parses one header field; ok is false if it makes the request unusual.
func (h *head) field(name, value []byte) (ok bool) {
	switch {
	case isName(name, "Content-Length"):
		if h.length >= 0 {
			return false
		}
		h.length, ok = bodyLength(value)
		return ok
	case isName(name, "Connection"):
		return isName(value, "keep-alive")
	case isName(name, "Transfer-Encoding"), isName(name, "Expect"), isName(name, "Upgrade"), isName(name, "Trailer"):
		return false
	case isName(name, "X-Request-Id"):
		return setOnce(&h.RequestID, value)
	case isName(name, "X-Correlation-ID"):
		return setOnce(&h.CorrelationID, value)
	case isName(name, "Authorization"):
		return setOnce(&h.Authorization, value)
	case isControl(name):
		return false
	}
	return true
}

// setOnce sets a value; ok is false if it is set already.
func setOnce(to *string, value []byte) (ok bool) {
	if *to != "" {
		return false
	}
	*to = string(value)
	return true
}

// bodyLength parses a Content-Length up to bodyLimit.
func bodyLength(value []byte) (n int, ok bool) {
	if len(value) == 0 {
		return 0, false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int(c-'0'); n > bodyLimit {
			return 0, false
		}
	}
	return n, true
}

func isName(name []byte, want string) bool {
	return len(name) == len(want) && strings.EqualFold(string(name), want)
}

// isFieldName reports whether name consists of the letters, digits and marks
// that are in use; RFC 9110's tchar has a few more.
func isFieldName(name []byte) bool {
	for _, c := range name {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return len(name) > 0
}

// isHost reports whether value is a name or an address, perhaps with a port.
func isHost(value []byte) bool {
	for _, c := range value {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("-._:[]", rune(c)) {
			return false
		}
	}
	return len(value) > 0
}

// isFieldValue reports whether value is printable ASCII.
func isFieldValue(value []byte) bool {
	for _, c := range value {
		if (c < ' ' || c > '~') && c != '\t' {
			return false
		}
	}
	return true
}

// isControl reports whether a header field controls the simulator. Such requests are
// unusual.
func isControl(name []byte) bool {
	const prefix = "X-Mock-"
	return len(name) > len(prefix) && name[0]|0x20 == 'x' && strings.EqualFold(string(name[:len(prefix)]), prefix)
}

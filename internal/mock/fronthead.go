package mock

import (
	"bytes"
	"strings"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/openai"
)

// Limits of what the front serves itself, in bytes.
const (
	frontHeadLimit = 16 << 10
	frontBodyLimit = 1 << 20
)

// verdict is what the front makes of the bytes of a connection.
type verdict int

const (
	needMore verdict = iota // the request is not whole
	ours                    // a request that the front serves
	unusual                 // for net/http, which also words every refusal
)

// frontHead is the head of a request that the front serves.
type frontHead struct {
	path          string
	api           api.Protocol
	requestID     string
	correlationID string
	authorization string
	size          int // bytes of the head, its blank line included
	length        int // bytes of the body
}

// frontRoutes maps the paths that the front serves to their protocols.
func (s *Server) frontRoutes() map[string]api.Protocol {
	m := map[string]api.Protocol{}
	for path, d := range map[string]api.Protocol{
		"/v1/chat/completions": openai.NewChat(),
		"/v1/completions":      openai.NewCompletions(),
	} {
		m[path] = d
		m[s.opt.Prefix+path] = d
	}
	return m
}

// parseFrontHead reads the head of a request at the start of data. It accepts a
// plain subset of HTTP/1.1 (RFC 9112): a known path without a query, a
// Content-Length, a Host, and no header that asks for more than an answer. All
// else, wrong requests included, is unusual.
func parseFrontHead(data []byte, routes map[string]api.Protocol) (frontHead, verdict) {
	var h frontHead
	end := bytes.Index(data[:min(len(data), frontHeadLimit)], []byte("\r\n\r\n"))
	if end < 0 {
		if len(data) >= frontHeadLimit {
			return h, unusual
		}
		return h, needMore
	}
	h.size = end + len("\r\n\r\n")
	line, fields, _ := bytes.Cut(data[:end+2], []byte("\r\n"))
	target, ok := bytes.CutPrefix(line, []byte("POST "))
	target, isOne := bytes.CutSuffix(target, []byte(" HTTP/1.1"))
	h.api = routes[string(target)]
	if !ok || !isOne || h.api == nil {
		return h, unusual
	}
	h.path = string(target)
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

// field takes one header field; ok is false when it makes the request unusual.
func (h *frontHead) field(name, value []byte) (ok bool) {
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
		return setOnce(&h.requestID, value)
	case isName(name, "X-Correlation-ID"):
		return setOnce(&h.correlationID, value)
	case isName(name, "Authorization"):
		return setOnce(&h.authorization, value)
	case isControl(name):
		return false
	}
	return true
}

// setOnce keeps a value; ok is false when there is one already.
func setOnce(to *string, value []byte) (ok bool) {
	if *to != "" {
		return false
	}
	*to = string(value)
	return true
}

// bodyLength reads a Content-Length up to frontBodyLimit.
func bodyLength(value []byte) (n int, ok bool) {
	if len(value) == 0 {
		return 0, false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int(c-'0'); n > frontBodyLimit {
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

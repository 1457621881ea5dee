package http1

import "sync"

// recentHeads is how many heads are kept: those of a server differ in their date at most.
const recentHeads = 4

// Heads keeps the heads that were parsed last. Responses with the same head share what it
// says, on all connections, so that thousands of streams do not each have a copy. It is safe
// for concurrent use.
type Heads struct {
	mu     sync.Mutex
	recent [recentHeads]parsed // guarded by mu
	next   int                 // guarded by mu; the one that is replaced next
}

// Parser returns a parser for a connection.
func (h *Heads) Parser() Parser { return Parser{heads: h} }

// parse parses a head, or returns what it has said before.
func (h *Heads) parse(text []byte) (parsed, error) {
	if h == nil {
		return parseHead(text)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.recent {
		if string(text) == h.recent[i].text {
			return h.recent[i], nil
		}
	}
	made, err := parseHead(text)
	if err == nil {
		h.recent[h.next] = made
		h.next = (h.next + 1) % recentHeads
	}
	return made, err
}

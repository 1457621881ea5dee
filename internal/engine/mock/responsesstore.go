package mock

import "sync"

// maxStored is how many responses are kept for requests that continue them; the
// oldest go first.
const maxStored = 10_000

// storedResponses is what is kept of responses. The zero value is ready; it is safe
// for concurrent use.
type storedResponses struct {
	mu    sync.Mutex
	byID  map[string]storedResponse
	order []string // ids, as a ring once it is full
	next  int      // of the ring: the oldest
}

// storedResponse is a conversation as it stands after an answer.
type storedResponse struct {
	tokens int
	hash   uint32
}

func (s *storedResponses) put(id string, r storedResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = make(map[string]storedResponse)
	}
	if _, again := s.byID[id]; !again {
		if len(s.order) < maxStored {
			s.order = append(s.order, id)
		} else {
			delete(s.byID, s.order[s.next])
			s.order[s.next] = id
			s.next = (s.next + 1) % maxStored
		}
	}
	s.byID[id] = r
}

func (s *storedResponses) get(id string) (storedResponse, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.byID[id]
	return r, ok
}

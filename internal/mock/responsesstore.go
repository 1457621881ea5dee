package mock

import "sync"

// maxStored is how many responses are kept for requests that continue them; the
// oldest go first.
const maxStored = 10_000

// maxObjects is how many of them, the newest, can be had again.
const maxObjects = 1000

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
	object []byte // the response as it was sent; nil = forgotten
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
		if n := len(s.order); n > maxObjects {
			s.forget(s.order[(s.next+n-1-maxObjects)%n])
		}
	}
	s.byID[id] = r
}

// forget drops the object of a response; it can still be continued. s.mu is held.
func (s *storedResponses) forget(id string) {
	r := s.byID[id]
	r.object = nil
	s.byID[id] = r
}

func (s *storedResponses) get(id string) (storedResponse, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.byID[id]
	return r, ok
}

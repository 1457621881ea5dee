package text

import "sync"

// MaxStored is the number of responses that requests can continue; the oldest are
// removed first.
const MaxStored = 10_000

// MaxObjects is the number of the newest responses that can be retrieved.
const MaxObjects = 1000

// StoredResponses stores responses. The zero value is ready to use. It is safe for
// concurrent use.
type StoredResponses struct {
	mu    sync.Mutex
	ByID  map[string]StoredResponse
	order []string // ids, as a ring once it is full
	next  int      // of the ring: the oldest
}

// StoredResponse is a conversation up to and including an answer.
type StoredResponse struct {
	Tokens int
	hash   uint32
	Object []byte // the response as it was sent; nil = removed
}

// Put stores a response and removes the oldest if there are too many.
func (s *StoredResponses) Put(id string, r StoredResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ByID == nil {
		s.ByID = make(map[string]StoredResponse)
	}
	if _, again := s.ByID[id]; !again {
		if len(s.order) < MaxStored {
			s.order = append(s.order, id)
		} else {
			delete(s.ByID, s.order[s.next])
			s.order[s.next] = id
			s.next = (s.next + 1) % MaxStored
		}
		if n := len(s.order); n > MaxObjects {
			s.forget(s.order[(s.next+n-1-MaxObjects)%n])
		}
	}
	s.ByID[id] = r
}

// forget removes the object of a response, which can still be continued. s.mu must be
// held.
func (s *StoredResponses) forget(id string) {
	r := s.ByID[id]
	r.Object = nil
	s.ByID[id] = r
}

// Get returns a stored response.
func (s *StoredResponses) Get(id string) (StoredResponse, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.ByID[id]
	return r, ok
}

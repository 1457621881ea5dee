package certify

import (
	"bufio"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/sockstamp"
)

// truth is what the server did for one request, in offsets of the clock that it shares
// with the client.
type truth struct {
	received      time.Duration   // when the request arrived, by the kernel's timestamp if available
	before, after []time.Duration // timestamps around the call of each write
	done          chan error      // buffered 1: gets the error of the last write, once
}

// server is the reference server. It answers each request with the same stream. One
// goroutine per connection reads requests, and a single goroutine makes all writes in
// the order of their due times, so that an event costs little more than its system
// call.
type server struct {
	ln    net.Listener
	clock bench.Clock
	shape *shape
	wait  pace.Waiter
	in    chan *stream  // responses to be written
	quit  chan struct{} // closed by close
	ended sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{} // guarded by mu
	truths map[string]*truth     // guarded by mu; by request id
	closed bool                  // guarded by mu
}

// stream is a response that is being written.
type stream struct {
	conn  net.Conn
	truth *truth
	due   time.Duration // of the next write
}

// newServer starts a server. It closes the waiter.
func newServer(ln net.Listener, clock bench.Clock, sh *shape, wait pace.Waiter) *server {
	s := &server{
		ln: ln, clock: clock, shape: sh, wait: wait,
		in: make(chan *stream, sh.streams), quit: make(chan struct{}), conns: map[net.Conn]struct{}{},
		truths: map[string]*truth{},
	}
	s.ended.Go(s.accept)
	s.ended.Go(s.write)
	return s
}

// close ends the server and waits for its goroutines.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.ln.Close()
	close(s.quit)
	s.ended.Wait()
	s.wait.Close()
}

func (s *server) accept() {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closed {
			c.Close()
		} else {
			s.conns[c] = struct{}{}
			s.ended.Go(func() { s.read(c) })
		}
		s.mu.Unlock()
	}
}

// truth removes and returns what the server did for a request that was answered. It
// waits for the end of the last write, since the client may receive the bytes earlier.
func (s *server) truth(requestID string) (*truth, error) {
	s.mu.Lock()
	t := s.truths[requestID]
	delete(s.truths, requestID)
	s.mu.Unlock()
	if t == nil {
		return nil, errors.New("the reference server has not received the request")
	}
	if err := <-t.done; err != nil {
		return nil, fmt.Errorf("write response: %w", err)
	}
	return t, nil
}

// read reads the requests of one connection.
func (s *server) read(c net.Conn) {
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	stamped := sockstamp.New(c)
	r := bufio.NewReader(stamped)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		n := len(s.shape.writes)
		t := &truth{
			received: s.clock.Offset(stamped.Last()),
			before:   make([]time.Duration, 0, n), after: make([]time.Duration, 0, n), done: make(chan error, 1),
		}
		s.mu.Lock()
		s.truths[req.Header.Get("X-Request-Id")] = t
		s.mu.Unlock()
		select {
		case s.in <- &stream{conn: c, truth: t, due: t.received + s.shape.ttft}:
		case <-s.quit:
			return
		}
	}
}

// near is how long before a due time no more requests are taken.
const near = time.Millisecond

// write makes all writes at their due times.
func (s *server) write() {
	var due streamHeap
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	for {
		alarm.Stop() // without a due time, only a request ends the wait
		if len(due) > 0 {
			left := due[0].due - s.clock.Now()
			if left <= near {
				if !s.wait.Until(s.clock.At(due[0].due), s.quit) {
					return
				}
				s.writeDue(&due)
				s.take(&due)
				continue
			}
			alarm.Reset(left - near)
		}
		select {
		case next := <-s.in:
			heap.Push(&due, next)
		case <-alarm.C:
		case <-s.quit:
			return
		}
	}
}

// take takes the requests that have come, without waiting for any.
func (s *server) take(due *streamHeap) {
	for {
		select {
		case next := <-s.in:
			heap.Push(due, next)
		default:
			return
		}
	}
}

// writeDue makes every write that is due by now.
func (s *server) writeDue(due *streamHeap) {
	for now := s.clock.Now(); len(*due) > 0 && (*due)[0].due <= now; {
		r := (*due)[0]
		t := r.truth
		n := len(t.before)
		t.before = append(t.before, s.clock.Now())
		_, err := r.conn.Write(s.shape.writes[n])
		t.after = append(t.after, s.clock.Now())
		if err == nil && n+1 < len(s.shape.writes) {
			r.due += s.shape.itl
			heap.Fix(due, 0)
			continue
		}
		heap.Pop(due)
		t.done <- err
	}
}

// streamHeap is a heap of streams by the time of their next event.
type streamHeap []*stream

var _ heap.Interface = (*streamHeap)(nil)

func (d streamHeap) Len() int           { return len(d) }
func (d streamHeap) Less(i, j int) bool { return d[i].due < d[j].due }
func (d streamHeap) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }

// Push implements heap.Interface.
func (d *streamHeap) Push(x any) { *d = append(*d, x.(*stream)) }

// Pop implements heap.Interface.
func (d *streamHeap) Pop() any {
	last := len(*d) - 1
	x := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return x
}

// Package mock is a simulated inference server that speaks the APIs of OpenAI and
// Anthropic, as vLLM does, with timing that is configured instead of computed. With
// it users can try every feature without a GPU, and tests can compare the measurements
// of a client with the server's own time stamps: every request leaves a [Truth].
//
// A [Server] is an http.Handler. Requests are independent of each other (open
// loop): the first token is due TTFT after the body was read, every further
// token one ITL later, and all due times are absolute, so a stream never drifts.
// With Options.Accelerator the times come from the model of package batch
// instead: requests queue, share steps and memory, and slow each other down. Only
// package time is used for waiting, so that the server runs in virtual time
// inside a testing/synctest bubble.
//
// All exported methods of [Server] are safe for concurrent use. One goroutine
// serves one request; the goroutines that a [Server] itself starts are the writer
// of the truth file and the steps of the accelerator, both of which
// [Server.Close] waits for.
//
// [Serve] puts package front before the handler if possible: one thread that serves plain
// requests of a TCP listener on Linux, so that the simulated server can share two cores
// with the client that measures it. It sends the same bytes by the same code, and passes
// every connection with another request to net/http. A server with an accelerator, fault
// rules, comments or byte by byte writes is served by net/http alone.
//
// The APIs are packages below api, one per family; the table of routes in this package is
// the only list of them. A request becomes an exchange: it is read by its protocol, waits
// for its due times, applies its fault rule, sends a document or a stream, and records its
// truth.
package mock

import (
	"bytes"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// closeTimeout bounds how long Close waits for requests in service.
const closeTimeout = 5 * time.Second

// Server is a simulated inference server. Make it with New, close it with Close.
// All methods are safe for concurrent use.
type Server struct {
	opt     *options.Options // complete
	model   *api.Model
	routes  routes
	handler http.Handler

	gpuHandler http.Handler // of /dcgm/metrics
	pages      atomic.Pointer[metrics]
	gpus       *cards
	cases      *caseSet
	truths     truths

	accelerator *accelerator  // nil: requests are independent
	spans       *spanExporter // nil: none are sent

	bodies, frames sync.Pool // *bytes.Buffer, *api.Buffer

	clock
	traffic
	controls
	lifecycle
}

// New returns a server for opt, or all errors of opt. It opens the truth file and starts
// its writer, and the accelerator if there is one.
func New(opt options.Options) (*Server, error) {
	opt, err := opt.WithDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		opt:       &opt,
		bodies:    sync.Pool{New: func() any { return new(bytes.Buffer) }},
		frames:    sync.Pool{New: func() any { return new(api.Buffer) }},
		clock:     newClock(),
		lifecycle: lifecycle{stopping: make(chan struct{})},
	}
	s.model = api.NewModel(s.opt, s.now, s.ready)
	s.routes = newRoutes(s)
	s.pages.Store(newMetrics(s))
	s.gpus = newGPUs(s)
	s.cases = newCases(opt.Cases)
	s.gpuHandler = newGPUHandler(s.gpus, opt.Seed, s.now, s.cacheUsage)
	s.handler = newHandler(s)
	if err := s.truths.open(opt.TruthLimit, opt.TruthFile); err != nil {
		return nil, err
	}
	if opt.Accelerator != nil {
		s.accelerator = startAccelerator(s, *opt.Accelerator)
	}
	if opt.Spans.Send != nil {
		s.spans = startSpans(s)
	}
	return s, nil
}

// Handler returns the server's routes. After Close it responds with 503.
func (s *Server) Handler() http.Handler { return s.handler }

// Truth returns the records of the last requests, in the order in which they ended; at
// most Options.TruthLimit. ChunkNs slices are shared and must not be changed.
func (s *Server) Truth() []api.Truth { return s.truths.last(s.opt.TruthLimit) }

// Close stops the server, waits up to five seconds for its handlers and writes the rest
// of the truth file. Errors are those of the file, and of handlers that are blocked in a
// write: close their connections first. Repeated calls return nil.
func (s *Server) Close() error {
	if first := s.close(); !first {
		return nil
	}
	idle := make(chan struct{})
	go func() { // ends with the last handler, at the latest when its connection closes
		s.active.Wait()
		close(idle)
	}()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	var err error
	select {
	case <-idle:
	case <-timer.C:
		err = errors.New("close mock server: requests are still in service")
	}
	if s.accelerator != nil {
		<-s.accelerator.ended // at once: the server has stopped
	}
	if s.spans != nil {
		<-s.spans.ended // when the last ones are sent
	}
	return errors.Join(err, s.truths.close())
}

// metrics returns the metrics since the start or their reset.
func (s *Server) metrics() *metrics { return s.pages.Load() }

func (s *Server) ready() bool { return s.since() >= s.opt.ReadyAfter }

// newGPUs returns the cards of the options.
func newGPUs(s *Server) *cards {
	m, _ := options.FindGPU(s.opt.GPU) // valid options name an existing card
	open := s.sent.Load
	if s.opt.Accelerator != nil {
		open = nil
	}
	return newCards(m, s.opt, s.now(), open)
}

// Limits of the buffers that are kept for reuse, in bytes. That of frames limits the
// memory of idle streams.
const (
	maxPooledBody  = 1 << 20
	maxPooledFrame = 16 << 10
)

func (s *Server) body() *bytes.Buffer { return s.bodies.Get().(*bytes.Buffer) }

func (s *Server) putBody(b *bytes.Buffer) {
	if b.Cap() <= maxPooledBody {
		b.Reset()
		s.bodies.Put(b)
	}
}

func (s *Server) frame() *api.Buffer { return s.frames.Get().(*api.Buffer) }

func (s *Server) putFrame(f *api.Buffer) {
	if cap(f.B) <= maxPooledFrame {
		s.frames.Put(f)
	}
}

// Options configures a Server.
type Options = options.Options

// Delay is a distribution of durations.
type Delay = random.Delay

// Fault is a fault rule.
type Fault = options.Fault

// Case is a recorded response.
type Case = options.Case

// Truth is the record of one request.
type Truth = api.Truth

// OutcomeOK is the outcome of a request that was answered completely.
const OutcomeOK = api.OutcomeOK

// ConstDelay returns the delay that is always v; see [random.ConstDelay].
func ConstDelay(v time.Duration) Delay { return random.ConstDelay(v) }

// ParseFault parses a fault rule; see [options.ParseFault].
func ParseFault(text string) (Fault, error) { return options.ParseFault(text) }

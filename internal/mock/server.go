package mock

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/gpu"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/truth"
)

// closeTimeout bounds how long Close waits for requests in service.
const closeTimeout = 5 * time.Second

// maxPooledBody is the largest request body buffer that is kept for reuse.
const maxPooledBody = 1 << 20

// Server is a simulated inference server. Make it with New, close it with Close.
// All methods are safe for concurrent use.
type Server struct {
	opt     *options.Options // complete
	model   *api.Model
	routes  []route
	handler http.Handler

	gpuHandler http.Handler // of /dcgm/metrics
	metrics    *metrics
	gpus       *gpu.Cards
	cases      *caseSet
	truths     truth.Ring
	file       *truth.File // nil without Options.TruthFile

	accelerator *accelerator // nil: requests are independent

	anchor   time.Time // start of the server's clock
	anchorNs int64     // the same moment, Unix nanoseconds

	seq     atomic.Int64 // of the last inference request
	running atomic.Int64 // inference requests in service
	waiting atomic.Int64 // those of them that are held before their head
	peak    atomic.Int64 // largest running
	asleep  atomic.Int64 // level of sleep; 0 = awake
	sent    atomic.Int64 // output tokens

	bodies sync.Pool // *bytes.Buffer
	frames sync.Pool // *frame

	profiling   atomic.Bool
	profiles    atomic.Int64 // profiles that were started
	cacheResets atomic.Int64 // times that somebody had the prefix cache forgotten

	stopping chan struct{} // closed by Stop: requests in service end

	mu      sync.Mutex
	stopped bool
	closed  bool
	active  sync.WaitGroup // handlers; Add under mu while not closed
}

// New returns a server for opt, or all problems of opt at once. It opens the
// truth file and starts its writer, and the accelerator if there is one.
func New(opt options.Options) (*Server, error) {
	opt, err := opt.WithDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		opt:      &opt,
		truths:   truth.Ring{Limit: opt.TruthLimit},
		anchor:   time.Now(),
		bodies:   sync.Pool{New: func() any { return new(bytes.Buffer) }},
		frames:   sync.Pool{New: func() any { return new(api.Buffer) }},
		stopping: make(chan struct{}),
	}
	s.anchorNs = s.anchor.UnixNano()
	s.model = api.NewModel(s.opt, s.now, s.ready)
	s.routes = s.newRoutes()
	s.metrics = newMetrics(s)
	s.gpus = s.newGPUs()
	s.cases = newCases(opt.Cases)
	s.gpuHandler = gpu.NewHandler(s.gpus, opt.Seed, s.now, s.cacheUsage)
	s.handler = s.newHandler()
	if opt.TruthFile != "" {
		if s.file, err = truth.Open(opt.TruthFile); err != nil {
			return nil, err
		}
	}
	if opt.Accelerator != nil {
		s.accelerator = startAccelerator(s, *opt.Accelerator)
	}
	return s, nil
}

// Handler returns the server's routes. After Close it answers 503.
func (s *Server) Handler() http.Handler { return s.handler }

// Record returns what happened to the last requests, in the order in which they
// ended; at most Options.TruthLimit of them. ChunkNs slices are shared and must
// not be changed.
func (s *Server) Truth() []truth.Record { return s.truths.Last(s.opt.TruthLimit) }

// Stop ends the requests in service, with outcome OutcomeShutdown, and lets no
// new ones in. It does not wait. Repeated calls do nothing.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

// stop is Stop for holders of mu.
func (s *Server) stop() {
	if !s.stopped {
		s.stopped = true
		close(s.stopping)
	}
}

// Close stops the server, waits up to five seconds for its handlers and writes
// the rest of the truth file. Errors are those of the file, and of handlers that
// hang in a write: close their connections first. Repeated calls return nil.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.stop()
	s.mu.Unlock()
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
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	return err
}

// enter admits a handler; ok is false once the server stops. The caller calls
// s.active.Done at the end.
func (s *Server) enter() (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.active.Add(1)
	return true
}

// now reads the server's clock: Unix nanoseconds at New, advanced by the
// monotonic clock.
func (s *Server) now() int64 { return s.anchorNs + int64(time.Since(s.anchor)) }

// maxFrame is the largest buffer that is kept for reuse, in bytes. It bounds what
// an idle stream holds.
const maxFrame = 16 << 10

// stamped is a connection that tells when its last bytes arrived; the zero time
// before the first.
type stamped interface{ Last() time.Time }

// connKey is the context key of a request's connection, a stamped.
type connKey struct{}

// arrived returns when the bytes of a request arrived at the socket, by the
// kernel's clock where it gives stamps, so that waiting for a core before the
// handler runs counts as service. Without a stamp it is now.
func (s *Server) arrived(ctx context.Context) int64 {
	conn, _ := ctx.Value(connKey{}).(stamped)
	if conn == nil || conn.Last().IsZero() {
		return s.now()
	}
	return s.anchorNs + int64(conn.Last().Sub(s.anchor))
}

func (s *Server) ready() bool { return time.Since(s.anchor) >= s.opt.ReadyAfter }

// record keeps a finished truth.
func (s *Server) record(t *truth.Record) {
	s.truths.Add(*t)
	if s.file != nil {
		s.file.Write(t)
	}
}

func (s *Server) putBody(b *bytes.Buffer) {
	if b.Cap() <= maxPooledBody {
		b.Reset()
		s.bodies.Put(b)
	}
}

func (s *Server) putFrame(f *api.Buffer) {
	if cap(f.B) <= maxFrame {
		s.frames.Put(f)
	}
}

// NewCards makes the cards of the options.
func (s *Server) newGPUs() *gpu.Cards {
	m, _ := gpu.Find(s.opt.GPU) // is one of them, as the options were checked
	open := s.sent.Load
	if s.opt.Accelerator != nil {
		open = nil
	}
	return gpu.NewCards(m, s.opt.GPUs, s.opt.Seed, s.now(), open)
}

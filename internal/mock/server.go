package mock

import (
	"errors"
	"net/http"
	"time"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/gpu"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/truth"
)

// closeTimeout bounds how long Close waits for requests in service.
const closeTimeout = 5 * time.Second

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

	clock
	traffic
	controls
	*buffers
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
		truths:    truth.Ring{Limit: opt.TruthLimit},
		clock:     newClock(),
		buffers:   newBuffers(),
		lifecycle: lifecycle{stopping: make(chan struct{})},
	}
	s.model = api.NewModel(s.opt, s.now, s.ready)
	s.routes = newRoutes(s)
	s.metrics = newMetrics(s)
	s.gpus = newGPUs(s)
	s.cases = newCases(opt.Cases)
	s.gpuHandler = gpu.NewHandler(s.gpus, opt.Seed, s.now, s.cacheUsage)
	s.handler = newHandler(s)
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

// Handler returns the server's routes. After Close it responds with 503.
func (s *Server) Handler() http.Handler { return s.handler }

// Truth returns the records of the last requests, in the order in which they ended; at
// most Options.TruthLimit. ChunkNs slices are shared and must not be changed.
func (s *Server) Truth() []truth.Record { return s.truths.Last(s.opt.TruthLimit) }

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
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	return err
}

func (s *Server) ready() bool { return s.since() >= s.opt.ReadyAfter }

// record stores the record of a finished request.
func (s *Server) record(t *truth.Record) {
	s.truths.Add(*t)
	if s.file != nil {
		s.file.Write(t)
	}
}

// newGPUs returns the cards of the options.
func newGPUs(s *Server) *gpu.Cards {
	m, _ := gpu.Find(s.opt.GPU) // valid options name an existing card
	open := s.sent.Load
	if s.opt.Accelerator != nil {
		open = nil
	}
	return gpu.NewCards(m, s.opt.GPUs, s.opt.Seed, s.now(), open)
}

package mock

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

// Headers by which a request selects a case.
const (
	headerCase      = "X-Mock-Case"       // its id
	headerTimeScale = "X-Mock-Time-Scale" // factor of its times; 0 = at once
)

// OutcomeCase is the outcome of a request that was answered by a case, followed
// by its id.
const OutcomeCase = "case:"

// casePath is the prefix of the paths of cases, for clients that cannot set headers. The
// rest of the path is ignored.
const casePath = "/mock/case/{id}"

// caseSet are the recorded answers of a server.
type caseSet struct {
	byID  map[string]*options.Case
	order []string

	mu    sync.Mutex
	polls map[string]poll // of polled cases
}

// poll is the progress of a polled case.
type poll struct {
	next    int   // read
	startNs int64 // of the first request
}

// replaying handles requests that select a case, and passes on all others.
func replaying(s *Server, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.opt.NoControlHeaders || r.Header.Get(headerCase) == "" {
			next.ServeHTTP(w, r)
			return
		}
		if !s.enter() {
			unavailable(w)
			return
		}
		defer s.active.Done()
		serveCase(s, w, r)
	})
}

// serveCase responds with the case that the header or the path names.
func serveCase(s *Server, w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(headerCase)
	if id == "" {
		id = chi.URLParam(r, "id")
	}
	c := s.cases.byID[id]
	if c == nil {
		text := fmt.Sprintf("There is no case %q; GET /mock/cases lists them.", id)
		api.Refuse(w, api.NewError(http.StatusNotFound, text, headerCase))
		return
	}
	scale := s.opt.TimeScale
	if text := r.Header.Get(headerTimeScale); text != "" {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= 1e6) {
			wrong := fmt.Sprintf("%s is %q, want a number between 0 and 1e6", headerTimeScale, text)
			api.Refuse(w, api.BadRequest(headerTimeScale, wrong))
			return
		}
		scale = v
	}
	x := newHandlerExchange(s, nil, w, r)
	x.fault.rule = nil
	p := replay{x: x, c: c, scale: scale, startNs: x.Truth.AcceptNs}
	err := p.run()
	if err == nil || errors.Is(err, errFaulted) {
		x.Truth.Outcome = OutcomeCase + c.ID
	}
	x.end(err)
}

// replay is one case that is being sent to a client.
type replay struct {
	x       *exchange
	c       *options.Case
	scale   float64
	startNs int64 // time 0 of the case
}

func (p *replay) run() error {
	x, c := p.x, p.c
	// As for any answer, the whole request is read first.
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(x.w, x.HTTP.Body, x.Options.MaxBody)); err != nil {
		return api.ErrClientGone
	}
	x.Truth.BodyReadNs = x.Now()
	x.Truth.Stream = c.Streaming
	reads := c.Reads
	if c.Polled {
		reads = p.poll()
	}
	h := x.Header
	h["Content-Type"] = nil // none unless the case has one
	for name, value := range c.Headers {
		h.Set(name, value)
	}
	x.head(c.Status)
	x.w.WriteHeader(c.Status)
	if x.flush() != nil {
		return api.ErrClientGone
	}
	for i := range reads {
		if err := p.send(&reads[i]); err != nil {
			return err
		}
	}
	return p.end()
}

// poll takes the next read of a polled case, which restarts after its last read.
func (p *replay) poll() []options.Read {
	all := p.x.s.cases
	all.mu.Lock()
	defer all.mu.Unlock()
	at := all.polls[p.c.ID]
	if at.next == 0 {
		at.startNs = p.startNs
	}
	p.startNs = at.startNs
	reads := p.c.Reads[at.next : at.next+1]
	at.next = (at.next + 1) % len(p.c.Reads)
	all.polls[p.c.ID] = at
	return reads
}

// due returns the time that is ms milliseconds after the request.
func (p *replay) due(ms float64) int64 {
	return p.startNs + int64(ms*p.scale*float64(time.Millisecond))
}

// send writes one read when it is due.
func (p *replay) send(r *options.Read) error {
	x := p.x
	if err := x.wait.until(p.due(r.At)); err != nil {
		return err
	}
	start := x.Now()
	if _, err := x.w.Write(r.Data); err != nil || x.flush() != nil {
		return api.ErrClientGone
	}
	t := &x.Truth
	t.LastWriteNs, t.LastWriteEndNs = start, x.Now()
	if t.FirstWriteNs == 0 {
		t.FirstWriteNs, t.FirstWriteEndNs = t.LastWriteNs, t.LastWriteEndNs
	}
	if x.Options.TruthChunks {
		t.ChunkNs = append(t.ChunkNs, start)
	}
	return nil
}

// end performs the end of the case.
func (p *replay) end() error {
	x := p.x
	if p.c.Polled {
		return nil
	}
	if p.c.End.How == options.EndStall {
		return x.hold(-1)
	}
	if err := x.wait.until(p.due(p.c.End.At)); err != nil {
		return err
	}
	if p.c.End.How == options.EndReset {
		x.fault.cut(true)
		return errFaulted
	}
	return nil
}

// serveCases lists the cases.
func serveCases(s *Server, w http.ResponseWriter, _ *http.Request) {
	type row struct {
		ID    string `json:"id"`
		Title string `json:"title"`
		Type  string `json:"type"`
		Reads int    `json:"reads"`
		End   string `json:"end"`
	}
	rows := make([]row, 0, len(s.cases.order))
	for _, id := range s.cases.order {
		c := s.cases.byID[id]
		rows = append(rows, row{c.ID, c.Title, c.Type, len(c.Reads), c.End.How})
	}
	respondLine(w, map[string]any{"cases": rows})
}

// newCases returns the cases of the options, which are valid.
func newCases(list []options.Case) *caseSet {
	byID, _ := options.IndexCases(list)
	return &caseSet{byID: byID, order: slices.Sorted(maps.Keys(byID)), polls: map[string]poll{}}
}

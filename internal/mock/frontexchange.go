package mock

import (
	"errors"
	"net/http"
	"time"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/text"
	"aiperfd/internal/mock/front"
	"aiperfd/internal/mock/options"
)

// frontServes reports whether the front may serve: not with an accelerator or with
// options that delay parts of a response or need all headers of a request.
func frontServes(s *Server) bool {
	return s.accelerator == nil && s.spans == nil && len(s.opt.Faults) == 0 && s.opt.Comments == 0 && s.opt.Split == options.SplitNone
}

func frontOptions(s *Server, keepAlive time.Duration) front.Options {
	return front.Options{
		Now: s.now, Time: s.time,
		Stopping: s.stopping, KeepAlive: keepAlive, ReadHeader: readHeaderTimeout,
	}
}

// frontHandler serves the requests of the front.
type frontHandler struct {
	s      *Server
	routes map[string]*api.Protocol // by path
}

var _ front.Handler = (*frontHandler)(nil)

func newFrontHandler(s *Server) *frontHandler {
	h := &frontHandler{s: s, routes: map[string]*api.Protocol{}}
	for path, p := range map[string]*api.Protocol{
		"/v1/chat/completions": text.NewChat(),
		"/v1/completions":      text.NewCompletions(),
	} {
		h.routes[path] = p
		h.routes[s.opt.Prefix+path] = p
	}
	return h
}

// Serves implements front.Handler.
func (h *frontHandler) Serves(path string) bool { return h.routes[path] != nil }

// Begin implements front.Handler.
func (h *frontHandler) Begin(r front.Request, w http.ResponseWriter) front.Exchange {
	s := h.s
	if !authorized(s.opt.APIKey, r.Authorization) || !s.ready() || s.asleep.Load() > 0 || !s.enter() {
		return nil
	}
	return &frontExchange{x: newExchange(s, h.routes[r.Path], w, origin{
		path: r.Path, requestID: r.RequestID, correlationID: r.CorrelationID, acceptNs: r.ArrivedNs, whole: true,
	})}
}

// frontExchange is an exchange that the front performs.
type frontExchange struct {
	x       *exchange
	st      *stream // nil unless it is streamed
	cadence cadence
	err     error // how the response ended
}

var _ front.Exchange = (*frontExchange)(nil)

// Start implements front.Exchange.
func (f *frontExchange) Start(body []byte) (dueNs int64, more bool) {
	x := f.x
	if refusal := x.parse(body); refusal != nil {
		x.refuse(refusal)
		f.err = refusal
		return 0, false
	}
	x.prepare()
	if !x.Request.Stream {
		return x.tokenDue(api.LongestChoice(x.Choices)), true
	}
	if f.st, f.err = openStream(x); f.err == nil {
		f.st.e.Run(f.st.e.Script.Begin)
		f.err = f.st.e.Err
	}
	if f.err != nil {
		return 0, false
	}
	f.cadence = newCadence(f.st)
	return f.cadence.next(), true
}

// Step implements front.Exchange.
func (f *frontExchange) Step() (dueNs int64, more bool) {
	if f.st == nil {
		d := newDocument(f.x)
		f.err = d.sendNow()
		d.release()
		return 0, false
	}
	f.err = f.cadence.emit()
	if f.err == nil && f.cadence.over() {
		f.err = f.st.end()
		return 0, false
	}
	if f.err != nil {
		return 0, false
	}
	return f.cadence.next(), true
}

// Resume implements front.Exchange. Writes that became due meanwhile are performed now,
// as after a write that blocked.
func (f *frontExchange) Resume() {
	f.st.e.LastNs = f.x.Now()
	f.x.Truth.LastWriteEndNs = f.st.e.LastNs
}

// Finish implements front.Exchange.
func (f *frontExchange) Finish(end front.End) (keep bool) {
	switch end {
	case front.Complete:
	case front.ClientGone:
		f.err = api.ErrClientGone
	case front.Stopped:
		f.err = errShutdown
	}
	if f.st != nil {
		f.st.release()
	}
	f.x.finish(f.err)
	f.x.s.active.Done()
	return !errors.Is(f.err, api.ErrClientGone)
}

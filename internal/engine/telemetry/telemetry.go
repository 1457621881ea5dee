// Package telemetry reads the metrics that inference servers and accelerators expose while a run loads them. It
// has goroutines and connections of its own and takes no lock of the load. Whatever a server answers, the run
// goes on: what is wrong with a page is a state of its target.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/servermap"
	"aiperfd/internal/engine/telemetry/window"
	"aiperfd/internal/engine/transport"
)

// DefaultPeriod is the time between two scrapes of a target.
const DefaultPeriod = time.Second

const (
	// spare is how many times longer than a scrape the pause after it is: a server gives at most 2 % of one
	// thread to them. Scrapes at the bounds of phases come in addition.
	spare        = 50
	firstTimeout = 10 * time.Second
	leastTimeout = 2 * time.Second
	syncTimeout  = 2 * time.Second // for which a phase waits for the scrape before it
	givenSync    = time.Second     // the same, of pages that have never answered, if the user named one
	firstSync    = 500 * time.Millisecond
	longestPause = 30 * time.Second // between attempts at a target that fails
	maxBody      = 16 << 20
	settleStep   = 250 * time.Millisecond
	settleLimit  = 2 * time.Second
	gapPeriods   = 3 // a longer time without a sample is a gap
)

// Target is a page of metrics.
type Target struct {
	// Candidates are the addresses of the page, tried in order once.
	Candidates []*url.URL
	Host       string      // for the Host header; empty = that of the URL
	Header     http.Header // with the credentials of the inference endpoint if it is the same server
	Given      bool        // the user named it
	// Apart means that it is none of the servers under test: their proxy, their sockets and their client
	// certificates are not used for it.
	Apart bool
	// Devices means that the page is that of an exporter of accelerators.
	Devices bool
	// At is the address to which connections lead, whatever the name in the URL; invalid = those of the name.
	At netip.Addr
}

// Options configure a [Recorder].
type Options struct {
	Targets   []Target          // may be empty if there are discoveries or local devices
	Discover  []Discovery       // find further targets
	Transport transport.Options // of the run; connections are not shared with it
	Clock     bench.Clock
	Period    time.Duration      // > 0
	Slice     time.Duration      // length of the time slices of the results; 0 = none
	Formats   []string           // of the files, for Pages
	Servers   []servermap.Server // that the user has described; they come before those of the table
	Secrets   *redact.Set
	Log       zerolog.Logger
	Lines     io.WriteCloser // gets a line for each scrape; nil = nobody does
	Devices   DeviceOptions
}

// Recorder reads the targets of a run from Start to Close. Its methods are safe for concurrent use.
type Recorder struct {
	o       Options
	client  *transport.Client
	apart   *transport.Client // for targets that are none of the servers under test
	cancel  context.CancelFunc
	working sync.WaitGroup
	finders []*finder
	began   time.Duration

	connections transport.Options // of the clients

	mu      sync.Mutex
	targets []*target     // guarded by mu; only appended to
	phases  []phase       // guarded by mu
	settled time.Duration // guarded by mu; when the servers counted nothing more after the last phase; 0 = unknown
	ended   time.Duration // guarded by mu; 0 = not yet
	idle    window.Window // guarded by mu; in which nothing was sent; zero = it was not measured
	lines   *lineWriter   // nil = none

	deviceLines *lineWriter // nil = none
}

// phase is a phase of the run.
type phase struct {
	Phase
	from, to time.Duration    // to = 0: it has not ended
	client   *diagnose.Client // nil until it has ended
	earlier  int              // profiling phases that began before it
}

// Phase identifies a phase.
type Phase struct {
	Index    int
	Name     string
	Kind     bench.PhaseKind
	Seamless bool // it begins before the one before it has ended
	Excluded bool // it does not enter the results
}

// newRecorder returns a recorder that reads nothing yet.
func newRecorder(o Options) *Recorder {
	t := o.Transport
	t.Reuse, t.Streaming, t.Trace, t.MaxIdle = transport.Pooled, false, false, 1
	t.HeadersTimeout, t.IdleTimeout, t.TotalTimeout = 0, 0, 0
	return &Recorder{o: o, connections: t, client: transport.New(t), apart: transport.New(alone(t)), began: o.Clock.Now()}
}

// Start begins to read the targets.
func Start(o Options) *Recorder {
	ctx, cancel := context.WithCancel(context.Background())
	r := newRecorder(o)
	r.cancel = cancel
	if o.Lines != nil {
		r.lines = &lineWriter{out: o.Lines}
	}
	if o.Devices.Lines != nil {
		r.deviceLines = &lineWriter{out: o.Devices.Lines}
	}
	for i := range o.Targets {
		r.add(ctx, newTarget(r, &o.Targets[i]))
	}
	r.discover(ctx)
	if o.Devices.Local != "" {
		one := newLocal(r)
		r.mu.Lock()
		r.targets = append(r.targets, one)
		r.mu.Unlock()
		r.working.Go(func() { one.runLocal(ctx) })
	}
	return r
}

// discover begins to look for further pages. It returns when each discovery has looked once.
func (r *Recorder) discover(ctx context.Context) {
	var first sync.WaitGroup
	for i := range r.o.Discover {
		one := &finder{Discovery: r.o.Discover[i]}
		r.finders = append(r.finders, one)
		first.Add(1)
		r.working.Go(func() {
			one.look(ctx, r)
			first.Done()
			one.run(ctx, r)
		})
	}
	first.Wait()
}

// add begins to read a page.
func (r *Recorder) add(ctx context.Context, t *target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.targets = append(r.targets, t)
	r.working.Go(func() { t.run(ctx) })
}

// alone returns the options of connections to a server that is not under test.
func alone(o transport.Options) transport.Options {
	o.Sockets, o.Proxy, o.Version = nil, nil, transport.HTTP1
	if o.TLS != nil {
		o.TLS = o.TLS.Clone()
		o.TLS.Certificates, o.TLS.ServerName = nil, ""
	}
	return o
}

// Close ends the reading.
func (r *Recorder) Close() error {
	r.cancel()
	r.working.Wait()
	r.client.Close()
	r.apart.Close()
	for _, t := range r.all() {
		if t.at.IsValid() {
			t.client.Close()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = r.o.Clock.Now()
	var failed error
	for _, l := range []*lineWriter{r.lines, r.deviceLines} {
		if l != nil {
			failed = errors.Join(failed, l.close())
		}
	}
	return failed
}

// Sync waits until each target that answers has been read once more, from now on, but not longer than two
// seconds: one that is slow keeps no other from being read. For pages that have never answered it waits for half a
// second, or one if the user named a page. The sample belongs to a bound of a phase.
func (r *Recorder) Sync(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	patience := firstSync
	targets := r.all()
	done := make(chan *target, len(targets)) // one for each target, so that none waits
	waiting := make(map[*target]bool)
	for _, t := range targets {
		if t.given {
			patience = givenSync
		}
		select {
		case t.asked <- done:
			waiting[t] = true
		default: // it has not even begun what it was asked for before
		}
	}
	impatient := time.NewTimer(patience)
	defer impatient.Stop()
	for len(waiting) > 0 {
		select {
		case t := <-done:
			delete(waiting, t)
		case <-impatient.C:
			maps.DeleteFunc(waiting, func(t *target, _ bool) bool { return t.client != nil && t.fetches() == 0 })
		case <-ctx.Done():
			return
		}
	}
}

// Requests reads the servers once more, and returns how many requests they have, running and waiting ones; known is
// false if none says.
func (r *Recorder) Requests(ctx context.Context) (n float64, known bool) {
	r.Sync(ctx)
	m := r.moment()
	for _, t := range r.all() {
		t.mu.Lock()
		latest := diagnose.NewLatest(diagnose.Source{URL: t.shown, History: t.history, Servers: r.detect(t.history)},
			window.Window{From: r.began, To: m.now})
		t.mu.Unlock()
		if latest == nil {
			continue
		}
		for _, count := range []*float64{latest.Running, latest.Waiting} {
			if count != nil {
				n, known = n+*count, true
			}
		}
	}
	return n, known
}

// fetches returns how many scrapes have succeeded.
func (r *Recorder) fetches() (n int) {
	for _, t := range r.all() {
		n += t.fetches()
	}
	return n
}

// Mark asks for a scrape at a bound of a phase, without waiting for it.
func (r *Recorder) Mark() {
	for _, t := range r.all() {
		select {
		case t.marked <- struct{}{}:
		default: // it was asked for already
		}
	}
}

// Settle waits until the servers have counted all that the last phase made them do: until two scrapes in a row
// change neither requests nor tokens, and until exporters of accelerators that refresh often have done so; but two
// seconds at most.
func (r *Recorder) Settle(ctx context.Context) {
	if r.fetches() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	since := r.o.Clock.Now()
	last, still := -1.0, 0
	if !r.anyServer() {
		still = 2
	}
	for {
		r.Sync(ctx)
		if ctx.Err() != nil {
			return
		}
		if now := r.counted(); now == last {
			still++
		} else if still < 2 {
			last, still = now, 0
		}
		if still >= 2 && r.refreshed(since) {
			break
		}
		select {
		case <-time.After(max(settleStep, r.slowest()*spare)):
		case <-ctx.Done():
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settled = r.o.Clock.Now()
}

// slowest returns the duration of the longest of the last scrapes.
func (r *Recorder) slowest() (d time.Duration) {
	for _, t := range r.all() {
		t.mu.Lock()
		d = max(d, t.last)
		t.mu.Unlock()
	}
	return d
}

// counted returns the sum of the servers' counts of requests and of generated tokens.
func (r *Recorder) counted() (sum float64) {
	for _, t := range r.all() {
		sum += t.counted()
	}
	return sum
}

// BeginPhase says that a phase has begun.
func (r *Recorder) BeginPhase(p Phase, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := phase{Phase: p, from: at}
	for i := range r.phases {
		if r.phases[i].Kind == bench.Profiling {
			one.earlier++
		}
	}
	r.phases = append(r.phases, one)
}

// EndPhase says when a phase has ended, and what the client measured of it.
func (r *Recorder) EndPhase(index int, from, to time.Duration, c diagnose.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.phases {
		if p := &r.phases[i]; p.Index == index {
			p.from, p.to, p.client = from, to, &c
		}
	}
}

// current returns the newest phase if it has not ended; nil = none.
func (r *Recorder) current() *phase {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.phases) == 0 {
		return nil
	}
	p := r.phases[len(r.phases)-1]
	if p.to > 0 {
		return nil
	}
	return &p
}

// moment is what a recorder knows at one time. It is computed on without the recorder's lock.
type moment struct {
	r       *Recorder
	phases  []phase
	settled time.Duration
	now     time.Duration // or the end of the reading
	idle    window.Window
}

// moment returns what the recorder knows now.
func (r *Recorder) moment() *moment {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &moment{
		r: r, phases: slices.Clone(r.phases), settled: r.settled, now: cmp.Or(r.ended, r.o.Clock.Now()), idle: r.idle,
	}
}

// window returns the window of a phase, up to now if it has not ended. Counters settle before the next phase
// begins, or at the end.
func (m *moment) window(i int) window.Window {
	p := &m.phases[i]
	w := window.Window{From: p.from, To: p.to}
	switch {
	case p.to == 0:
		w.To = m.now
	case p.Seamless:
	case i+1 < len(m.phases) && !m.phases[i+1].Seamless:
		w.Settled = m.phases[i+1].from
	case i+1 == len(m.phases):
		w.Settled = m.settled
	}
	return w
}

// Report returns what the servers did in each phase, in one that goes on up to now, and the statistics of all
// families; nil = no server is read.
func (r *Recorder) Report() *diagnose.Server { return r.report(r.moment().pages) }

// Look returns what Report does without the statistics of all families, which take the most time.
func (r *Recorder) Look() *diagnose.Server {
	return r.report(func([]diagnose.Source) *diagnose.Pages { return nil })
}

// report returns what the servers did, with the pages that a function makes of the targets, which are locked.
func (r *Recorder) report(pages func([]diagnose.Source) *diagnose.Pages) *diagnose.Server {
	if !r.anyServer() {
		return nil
	}
	m := r.moment()
	out := &diagnose.Server{Targets: []diagnose.Target{}, Phases: []diagnose.Phase{}}
	sources, targets := []diagnose.Source{}, []diagnose.Source{}
	for _, t := range r.all() {
		if t.devices {
			continue
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		out.Targets = append(out.Targets, m.describe(t))
		if len(t.history.Scrapes) > 0 {
			one := diagnose.Source{URL: t.shown, History: t.history, Servers: r.detect(t.history)}
			sources, targets = append(sources, one.Split()...), append(targets, one)
		}
	}
	for _, f := range r.finders {
		if d, ok := f.describe(r); ok {
			out.Targets = append(out.Targets, d)
		}
	}
	if len(sources) == 0 {
		return out
	}
	for i := range m.phases {
		p := &m.phases[i]
		w := m.window(i)
		if w.To <= w.From {
			continue
		}
		one := diagnose.Examine(sources, w, p.client)
		one.Name, one.Kind = p.Name, string(p.Kind)
		one.Start, one.End = r.o.Clock.Wall(w.From), r.o.Clock.Wall(w.To)
		out.Phases = append(out.Phases, one)
	}
	if all := m.span(); all.To > all.From {
		out.Curves = diagnose.NewCurves(sources, all, r.o.Clock.Wall(all.From))
	}
	out.Pages = pages(targets)
	return out
}

// span returns the time of all phases.
func (m *moment) span() (all window.Window) {
	for i := range m.phases {
		all = join(all, m.window(i))
	}
	return all
}

// detect returns the vocabularies of the servers whose families a page has.
func (r *Recorder) detect(h *window.History) []servermap.Server {
	return servermap.Detect(h, r.o.Servers...)
}

// describe returns how a target answered. The target is locked.
func (m *moment) describe(t *target) diagnose.Target {
	h := t.history
	d := diagnose.Target{
		Up: t.up, URL: t.shown, Given: t.given, Servers: []string{}, State: t.state, Fetches: len(h.Scrapes), Failures: t.failures,
		LastError: t.lastError, NonFinite: h.NonFinite, Dropped: h.Dropped, Malformed: h.Malformed,
	}
	if t.devices {
		d.Servers = gpu.Vendors([]gpu.Page{{URL: t.shown, History: h}})
	} else {
		for _, s := range m.r.detect(h) {
			d.Servers = append(d.Servers, s.Title)
		}
	}
	for _, f := range h.Families {
		d.Series += len(f.Groups)
		if f.Mistyped() {
			d.Mistyped = append(d.Mistyped, f.Name)
		}
	}
	if h.Dropped > 0 && d.State == diagnose.OK {
		d.State = diagnose.TooLarge
	}
	for i := range m.phases {
		if m.phases[i].to > 0 {
			d.Gaps += len(h.Gaps(m.window(i), gapPeriods*t.pause(0)))
		}
	}
	durations := make([]time.Duration, 0, len(h.Scrapes))
	total := time.Duration(0)
	for i := range h.Scrapes {
		one := h.Scrapes[i].End - h.Scrapes[i].Sent
		durations, total = append(durations, one), total+one
	}
	if len(durations) == 0 {
		return d
	}
	d.ScrapeLast = float64(t.last) / float64(time.Millisecond)
	if all := m.span(); all.To > all.From {
		all.To = m.now
		d.Latest = diagnose.NewLatest(diagnose.Source{URL: t.shown, History: h, Servers: m.r.detect(h)}, all)
	}
	slices.Sort(durations)
	const ms = float64(time.Millisecond)
	d.ScrapeP50, d.ScrapeMax = float64(durations[len(durations)/2])/ms, float64(durations[len(durations)-1])/ms
	if length := m.now - m.r.began; length > 0 {
		d.ScrapeShare = total.Seconds() / length.Seconds()
	}
	return d
}

// pages returns the statistics of all families for AIPerf's files.
func (m *moment) pages(sources []diagnose.Source) *diagnose.Pages {
	o := &m.r.o
	out := &diagnose.Pages{Clock: o.Clock, Formats: o.Formats, Slice: o.Slice}
	profiling, warmup := window.Window{}, window.Window{}
	for i := range m.phases {
		p, w := &m.phases[i], m.window(i)
		one := diagnose.Range{Name: p.Name, Kind: string(p.Kind), Excluded: p.Excluded && p.Kind != bench.Warmup, Window: w}
		out.Ranges = append(out.Ranges, one)
		switch {
		case p.Kind == bench.Warmup:
			warmup = join(warmup, w)
		case !p.Excluded:
			profiling = join(profiling, w)
		}
	}
	out.Profiling = profiling
	for _, t := range m.r.all() {
		if !t.devices {
			out.Configured = append(out.Configured, t.shown)
		}
	}
	for _, src := range sources {
		page := diagnose.Page{URL: src.URL, History: src.History, Info: out.Info(src.History)}
		if profiling.To > profiling.From {
			page.Profiling = src.History.Reduce(profiling, o.Slice)
		}
		if warmup.To > warmup.From {
			page.Warmup = src.History.Reduce(warmup, o.Slice)
		}
		out.Pages = append(out.Pages, page)
	}
	return out
}

// join returns the window that spans two.
func join(a, b window.Window) window.Window {
	if a.To == 0 {
		return b
	}
	return window.Window{From: min(a.From, b.From), To: max(a.To, b.To), Settled: b.Settled}
}

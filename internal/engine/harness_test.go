package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/certify"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// bed is an engine with a simulated server on an in-memory network. Inside a
// synctest bubble everything in it runs in virtual time.
type bed struct {
	t      testing.TB
	engine *engine.Engine
	store  *memStore
	server *mock.Server
	end    func() // stops the engine, while the server still answers
	stop   func() // stops both
}

// newBed starts an engine and a server; both end with the test. wrap, if given,
// goes around the server's handler.
func newBed(t testing.TB, o mock.Options, wrap func(http.Handler) http.Handler) *bed {
	t.Helper()
	return newBedWith(t, o, wrap, func(*engine.Options) {})
}

// newMonitoredBed is newBed with other options of the client's monitor.
func newMonitoredBed(t testing.TB, o mock.Options, wrap func(http.Handler) http.Handler, m monitor.Options) *bed {
	t.Helper()
	return newBedWith(t, o, wrap, func(e *engine.Options) { e.Monitor = m })
}

// newBedWith is newBed with other options of the engine.
func newBedWith(t testing.TB, o mock.Options, wrap func(http.Handler) http.Handler, change func(*engine.Options)) *bed {
	t.Helper()
	server, err := mock.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := server.Handler()
	if wrap != nil {
		h = wrap(h)
	}
	ln := memnet.Listen()
	web := &http.Server{Handler: h}
	var serving sync.WaitGroup
	serving.Go(func() { web.Serve(ln) })
	options := engine.Options{
		Log: zerolog.New(zerolog.NewTestWriter(t)), Dial: ln.DialContext,
		Monitor: monitor.Options{Ticker: monitor.NewTimer, Host: still{}},
	}
	change(&options)
	b := newDialBed(t, options)
	b.server = server
	b.stop = sync.OnceFunc(func() {
		web.Close()
		b.end()
		serving.Wait()
		server.Close()
	})
	t.Cleanup(b.stop)
	return b
}

// newDialBed is a bed without a server: the options' Dial leads to one.
func newDialBed(t testing.TB, o engine.Options) *bed {
	t.Helper()
	store := &memStore{dir: t.TempDir(), runs: map[string]run.Run{}}
	o.Store, o.Version, o.Reference = store, "test", reference
	e, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		if err := e.Run(ctx); err != nil {
			t.Errorf("engine: %v", err)
		}
	})
	b := &bed{t: t, engine: e, store: store}
	b.end = sync.OnceFunc(func() {
		cancel()
		group.Wait()
	})
	b.stop = b.end
	t.Cleanup(b.stop)
	return b
}

// reference is the network of certificates: in memory too.
func reference() (net.Listener, certify.Dial, error) {
	ln := memnet.Listen()
	return ln, ln.DialContext, nil
}

// still is a host without load: the load of real processors is meaningless in virtual
// time.
type still struct{}

func (still) Read() monitor.Totals {
	idle := time.Duration(time.Now().UnixNano())
	return monitor.Totals{At: idle, Cores: 1, CPU: new(time.Duration), Machine: &monitor.Machine{Cores: 1, Idle: idle}}
}

// parsed loads a YAML document. The metrics of servers are read only if it names them: most tests count the
// requests of their server, and when it gets them.
func parsed(t testing.TB, document string) *config.Document {
	t.Helper()
	d, _, err := config.Load([]byte(document), config.LoadOptions{Choices: plan.Choices()})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(document, "gpuTelemetry") {
		d.Benchmark.GPUTelemetry.Enabled = false
	}
	if !strings.Contains(document, "serverMetrics") {
		d.Benchmark.ServerMetrics.Enabled = false
	}
	return d
}

// submit loads a YAML document and queues it.
func (b *bed) submit(document string) string {
	b.t.Helper()
	r, err := b.engine.Submit(b.t.Context(), parsed(b.t, document), run.Submission{Via: "api"})
	if err != nil {
		b.t.Fatal(err)
	}
	return r.ID
}

// run submits a document and waits for the end of the run.
func (b *bed) run(document string) *run.Run {
	b.t.Helper()
	return b.wait(b.submit(document))
}

func (b *bed) wait(id string) *run.Run {
	b.t.Helper()
	r, err := b.engine.Wait(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, w := range r.Warnings {
		if w.Code == "inconsistent-result" {
			b.t.Errorf("the numbers of run %s contradict each other: %s", id, w.Detail)
		}
	}
	b.regenerate(id)
	return r
}

// regenerate checks that the files of a run can be made again of its result.json, byte
// for byte.
func (b *bed) regenerate(id string) {
	b.t.Helper()
	from, to := b.store.Dir(id), b.t.TempDir()
	if _, err := os.Stat(filepath.Join(from, export.NamesFor("").Result)); err != nil {
		return // nothing was measured
	}
	names, err := export.ConvertResult(from, to)
	if err != nil || len(names) < 3 {
		b.t.Fatalf("files made again: %q, %v", names, err)
	}
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			b.t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(to, name))
		if err != nil {
			b.t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
			b.t.Errorf("%s made again (-run +again):\n%s", name, diff)
		}
	}
}

// line holds the members of one line of the record file that tests read.
type line struct {
	Metadata struct {
		SessionNum     int64  `json:"session_num"`
		ConversationID string `json:"conversation_id"`
		Turn           int    `json:"turn_index"`
		Phase          string `json:"phase_name"`
		CreditNs       int64  `json:"credit_issued_ns"`
		StartNs        int64  `json:"request_start_ns"`
		EndNs          int64  `json:"request_end_ns"`
		Cancelled      bool   `json:"was_cancelled"`
	}
	Metrics map[string]struct{ Value json.RawMessage }
	Error   *struct{ Type, Message string }
	Own     struct {
		Failure struct{ Class, Step string }
		Chunks  [][6]int64
	} `json:"aiperfd"`
}

func (l *line) metric(tag string) string {
	m, ok := l.Metrics[tag]
	if !ok {
		return "-"
	}
	return strings.TrimSuffix(string(m.Value), ".0") // AIPerf writes floats as Python does
}

// records reads the record file of a run, in order of start.
func (b *bed) records(id string) []line {
	b.t.Helper()
	f, err := os.Open(filepath.Join(b.store.Dir(id), export.NamesFor("").Records))
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	var out []line
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 4<<20)
	defer func() {
		if err := sc.Err(); err != nil {
			b.t.Fatal(err)
		}
	}()
	for sc.Scan() {
		var l line
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			b.t.Fatalf("%s: %v", sc.Bytes(), err)
		}
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(a, b line) int {
		if a.Metadata.StartNs != b.Metadata.StartNs {
			return int(a.Metadata.StartNs - b.Metadata.StartNs)
		}
		return int(a.Metadata.SessionNum - b.Metadata.SessionNum)
	})
	return out
}

// transcript returns one line per request: session, turn, when it started and ended
// (from the first start), and some metrics.
func (b *bed) transcript(id string, tags ...string) string {
	b.t.Helper()
	var out strings.Builder
	lines := b.records(id)
	for i := range lines {
		l := &lines[i]
		m := l.Metadata
		from := lines[0].Metadata.StartNs
		fmt.Fprintf(&out, "%s s%d.%d %v-%v", m.Phase, m.SessionNum, m.Turn,
			time.Duration(m.StartNs-from), time.Duration(m.EndNs-from))
		for _, tag := range tags {
			fmt.Fprintf(&out, " %s", l.metric(tag))
		}
		if l.Error != nil {
			fmt.Fprintf(&out, " !%s", l.Error.Type)
			if testing.Verbose() {
				b.t.Logf("error: %+v", *l.Error)
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// value returns one statistic of the exported summary.
func (b *bed) value(id, tag, stat string) float64 {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.store.Dir(id), export.NamesFor("").JSON))
	if err != nil {
		b.t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		b.t.Fatal(err)
	}
	var block map[string]any
	if err := json.Unmarshal(all[tag], &block); err != nil {
		b.t.Fatalf("metric %s: %v", tag, err)
	}
	v, ok := block[stat].(float64)
	if !ok {
		b.t.Fatalf("metric %s has no %s: %s", tag, stat, all[tag])
	}
	return v
}

// memStore keeps runs in memory and their files in a folder.
type memStore struct {
	dir  string
	slow time.Duration // of the first Put of each run
	mu   sync.Mutex
	runs map[string]run.Run
}

var _ run.Store = (*memStore)(nil)

func (s *memStore) Put(_ context.Context, r *run.Run) error {
	if r.Revision == 0 { // of a job that holds no lock
		<-time.After(s.slow)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[r.ID] = *r
	return os.MkdirAll(s.Dir(r.ID), 0o700)
}

func (s *memStore) Get(_ context.Context, id string) (*run.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.runs[id]
	if !ok {
		return nil, run.ErrNotFound
	}
	return &r, nil
}

func (s *memStore) List(_ context.Context, q run.Query) (run.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var page run.Page
	for _, id := range slices.Sorted(maps.Keys(s.runs)) {
		if r := s.runs[id]; len(q.States) == 0 || slices.Contains(q.States, r.State) {
			page.Runs = append(page.Runs, r)
		}
	}
	page.Total = len(page.Runs)
	if q.Sort == run.SortDefault { // newest first
		slices.Reverse(page.Runs)
	}
	if q.Limit > 0 && len(page.Runs) > q.Limit {
		page.Runs = page.Runs[:q.Limit]
	}
	return page, nil
}

func (s *memStore) Delete(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.runs[id]; !ok {
		return run.ErrNotFound
	}
	delete(s.runs, id)
	return os.RemoveAll(s.Dir(id))
}

func (s *memStore) Dir(id string) string         { return filepath.Join(s.dir, id) }
func (s *memStore) Ping(_ context.Context) error { return errors.Join() }

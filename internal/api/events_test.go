package api

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// eventClient reads server-sent events.
type eventClient struct {
	t        *testing.T
	response *http.Response
	lines    *bufio.Reader
}

// events requests a stream. Headers are "Name: value".
func (ft *feedTest) events(t *testing.T, target string, headers ...string) *eventClient {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: ft.listener.DialContext}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		response.Body.Close()
		client.CloseIdleConnections()
	})
	return &eventClient{t, response, bufio.NewReader(response.Body)}
}

// sse is one block of a stream: an event, a comment or a retry line.
type sse struct{ id, event, data, other string }

// next returns the next block; ok is false at the end of the stream.
func (c *eventClient) next() (e sse, ok bool) {
	c.t.Helper()
	for {
		line, err := c.lines.ReadString('\n')
		if err == io.EOF && line == "" {
			return e, false
		}
		if err != nil {
			c.t.Fatalf("stream broke: %v after %q", err, line)
		}
		line = strings.TrimSuffix(line, "\n")
		switch name, value, _ := strings.Cut(line, ": "); {
		case line == "":
			return e, true
		case name == "id":
			e.id = value
		case name == "event":
			e.event = value
		case name == "data":
			e.data = value
		default:
			e.other = line
		}
	}
}

// want reads one event of a type and returns it.
func (c *eventClient) want(event string) sse {
	c.t.Helper()
	e, ok := c.next()
	if !ok || e.event != event {
		c.t.Fatalf("got %+v, want the event %s", e, event)
	}
	return e
}

// comment reads a comment or a retry line.
func (c *eventClient) comment(text string) {
	c.t.Helper()
	if e, ok := c.next(); !ok || e != (sse{other: text}) {
		c.t.Fatalf("got %+v, want %q", e, text)
	}
}

// end expects the end of the stream.
func (c *eventClient) end() {
	c.t.Helper()
	if e, ok := c.next(); ok {
		c.t.Errorf("got %+v, want the end", e)
	}
}

const eventsPath = "/api/runs/" + idRunning + "/events"

// finish ends the running run, for the API and for the feed.
func (ft *feedTest) finish() {
	ft.fake.mu.Lock()
	*ft.fake.get(idRunning) = *testRun(idRunning, bench.StateCompleted)
	ft.fake.mu.Unlock()
	publish(ft.testServer, run.EventComplete, bench.StateCompleted, true)
}

// A run from its start to its end: a snapshot, every change, and the end of the stream.
func TestEventsOfRun(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		c := ft.events(t, eventsPath)
		h := c.response.Header
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
			"X-Aiperfd-Run-Id": idRunning, "Content-Encoding": "", "Content-Length": "",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s = %q, want %q", name, got, want)
			}
		}
		c.comment("retry: 2000")
		first := c.want("snapshot")
		if first.id != "0" || !strings.HasPrefix(first.data, `{"run":{"id":"`+idRunning) || !strings.Contains(first.data, `"progress":{"phases":{"profiling":`) {
			t.Errorf("snapshot %+v", first)
		}
		publish(ft.testServer, run.EventStateChanged, bench.StateRunning, false)
		publish(ft.testServer, run.EventPhaseStart, bench.StateRunning, false)
		publish(ft.testServer, run.EventPhaseProgress, bench.StateRunning, false)
		publish(ft.testServer, run.EventMetrics, bench.StateRunning, false)
		publish(ft.testServer, run.EventPhaseSent, bench.StateRunning, true)
		publish(ft.testServer, run.EventPhaseComplete, bench.StateRunning, true)
		publish(ft.testServer, run.EventExported, bench.StateCompleted, true)
		ft.finish()
		var ids []string
		for _, want := range []struct{ event, data string }{
			{"state", `{"run":{"id":"` + idRunning + `",`},
			{"phase", `{"change":"start","stats":{"phase":"profiling",`},
			{"progress", `{"phase":"profiling","phase_index":0,`},
			{"metrics", `{"metrics":[{"tag":"request_count",`},
			{"phase", `{"change":"sending_complete","stats":{`},
			{"phase", `{"change":"complete","stats":{`},
			{"errors", `{"error_count":3,"error_summary":[{"error_details":{`},
			{"finished", `{"state":"completed","verdict":null,"results":"/api/runs/` + idRunning + `/results"}`},
		} {
			e := c.want(want.event)
			if !strings.HasPrefix(e.data, want.data) || !strings.HasSuffix(e.data, "}") || strings.Count(e.data, "{") != strings.Count(e.data, "}") {
				t.Errorf("%s: %s, want %s…", e.event, e.data, want.data)
			}
			ids = append(ids, e.id)
		}
		c.end()
		for _, id := range ids {
			if !regexp.MustCompile(`^[1-9][0-9]*-[a-z2-7]{8}$`).MatchString(id) {
				t.Errorf("id %q", id)
			}
		}
		again := ft.events(t, eventsPath, "Last-Event-ID: "+ids[len(ids)-1])
		if again.response.StatusCode != http.StatusNoContent {
			t.Errorf("a client that connects again after the end gets %s", again.response.Status)
		}
	})
}

// Only the types that were asked for are sent, and what is common to all streams.
func TestEventTypes(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		c := ft.events(t, eventsPath+"?types=metrics,phase")
		c.comment("retry: 2000")
		c.want("snapshot")
		publish(ft.testServer, run.EventStateChanged, bench.StateRunning, false)
		publish(ft.testServer, run.EventMetrics, bench.StateRunning, false)
		publish(ft.testServer, run.EventPhaseProgress, bench.StateRunning, false)
		publish(ft.testServer, run.EventPhaseComplete, bench.StateRunning, false)
		ft.finish()
		c.want("metrics")
		c.want("phase")
		c.want("finished")
		c.end()
	})
}

func TestEventRequests(t *testing.T) {
	ts := newTestServer(t, nil)
	for _, tt := range []struct {
		method, target, header string
		status                 int
		body                   string
	}{
		{"GET", eventsPath + "?types=metrics,nope,x", "", 400, `types has [\"nope\" \"x\"]; accepted are snapshot, state, phase, progress, metrics, errors, experiment_started, child_planned, child_finished, answer_update, answer, finished`},
		{"GET", eventsPath + "?types=", "", 400, `Parameter \"types\" has no value`},
		{"GET", eventsPath + "?since_seq=-1", "", 400, `since_seq: \"-1\" is not the id of an event; it must be a number or an id such as`},
		{"GET", eventsPath + "?since_seq=7-", "", 400, `since_seq: \"7-\"`},
		{"GET", "/api/events?types=run", "", 400, `Unknown parameter \"types\"`},
		{"GET", "/api/runs/" + idMissing + "/events", "", 404, "not-found"},
		{"GET", "/api/runs/" + idDone + "/events", "", 204, ""},
		{"GET", "/api/runs/latest/events", "Last-Event-ID: 4-aaaaaaaa", 204, ""},
		{"HEAD", eventsPath, "", 200, ""},
		{"HEAD", "/api/events", "", 200, ""},
		{"HEAD", "/api/runs/" + idDone + "/events", "", 204, ""},
		{"POST", "/api/events", "", 405, "method-not-allowed"},
	} {
		headers := []string{}
		if tt.header != "" {
			headers = append(headers, tt.header)
		}
		w := ts.do(tt.method, tt.target, "", headers...)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.body) || tt.body == "" && w.Body.Len() > 0 {
			t.Errorf("%s %s = %d %s, want %d %s", tt.method, tt.target, w.Code, w.Body, tt.status, tt.body)
		}
		if tt.method == "HEAD" && tt.status == 200 && w.Header().Get("Content-Type") != "text/event-stream; charset=utf-8" {
			t.Errorf("HEAD %s has %v", tt.target, w.Header())
		}
	}
}

// A client that comes back gets what it missed, without a snapshot; one that comes from
// another process, another run, or after more than is kept gets a snapshot.
func TestEventsResume(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		for range 3 {
			publish(ft.testServer, run.EventPhaseComplete, bench.StateRunning, false)
		}
		c := ft.events(t, eventsPath+"?since_seq=1")
		c.comment("retry: 2000")
		second := c.want("phase")
		seq, epoch, _ := strings.Cut(second.id, "-")
		if seq != "2" {
			t.Errorf("the event after 1 has the id %s", second.id)
		}
		c.response.Body.Close()
		for _, tt := range []struct {
			name, header, query string
			want                []string // types and numbers
		}{
			{"known", second.id, "", []string{"phase 3"}},
			{"newest", "3-" + epoch, "", nil},
			{"header before parameter", second.id, "?since_seq=0", []string{"phase 3"}},
			{"number", "", "?since_seq=2", []string{"phase 3"}},
			{"of another process", "2-aaaaaaaa", "", []string{"snapshot 3"}},
			{"without its stream", "2", "", []string{"snapshot 3"}},
			{"not ours", "abc", "", []string{"snapshot 3"}},
			{"ahead", "9-" + epoch, "", []string{"snapshot 3"}},
			{"ahead by number", "", "?since_seq=9", []string{"snapshot 3"}},
			{"without", "", "", []string{"snapshot 3"}},
		} {
			headers := []string{}
			if tt.header != "" {
				headers = append(headers, "Last-Event-ID: "+tt.header)
			}
			c := ft.events(t, eventsPath+tt.query, headers...)
			c.comment("retry: 2000")
			var got []string
			for range tt.want {
				e, _ := c.next()
				got = append(got, e.event+" "+strings.TrimSuffix(e.id, "-"+epoch))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
			}
			c.comment(": keep-alive") // nothing else comes
			c.response.Body.Close()
		}
		for range 11_000 { // more than is kept
			publish(ft.testServer, run.EventPhaseComplete, bench.StateRunning, false)
		}
		c = ft.events(t, eventsPath, "Last-Event-ID: "+second.id)
		c.comment("retry: 2000")
		c.want("snapshot")
	})
}

// A client that comes back shortly before the end gets all that it missed before the last
// event.
func TestEventsResumeAtEnd(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		for range 500 {
			publish(ft.testServer, run.EventPhaseComplete, bench.StateRunning, false)
		}
		c := ft.events(t, eventsPath+"?since_seq=0")
		ft.finish()
		c.comment("retry: 2000")
		for range 500 {
			c.want("phase")
		}
		c.want("finished")
		c.end()
	})
}

// The stream of all runs.
func TestEventsOfAllRuns(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		c := ft.events(t, "/api/events")
		c.comment("retry: 2000")
		first := c.want("snapshot")
		want := `{"queued":["` + idQueued + `"],"running":["` + idRunning + `"],`
		if !strings.HasPrefix(first.data, want) {
			t.Errorf("snapshot %s, want %s…", first.data, want)
		}
		publish(ft.testServer, run.EventQueued, bench.StateQueued, false)
		publish(ft.testServer, run.EventPhaseProgress, bench.StateRunning, false)
		publish(ft.testServer, run.EventStateChanged, bench.StateRunning, false)
		ft.Hub.Publish(run.Event{Type: run.EventDeleted, RunID: idRunning, At: epoch})
		var ids []string
		for _, want := range []string{
			`{"change":"created","run":{"id":"` + idRunning + `",`, `{"change":"changed","run":{"id":"` + idRunning + `",`, `{"change":"deleted","run":{"id":"` + idRunning + `"}}`,
		} {
			e := c.want("run")
			if !strings.HasPrefix(e.data, want) {
				t.Errorf("data %s, want %s", e.data, want)
			}
			ids = append(ids, e.id)
		}
		c = ft.events(t, "/api/events", "Last-Event-ID: "+ids[0])
		c.comment("retry: 2000")
		for _, id := range ids[1:] {
			if e := c.want("run"); e.id != id {
				t.Errorf("id %s, want %s", e.id, id)
			}
		}
		// A WebSocket client of all runs gets nothing twice.
		ws := ft.connect(t)
		ws.say(`{"type":"subscribe","message_types":["run_queued"],"run":"*"}`)
		ws.hear()
		publish(ft.testServer, run.EventQueued, bench.StateQueued, false)
		if e := ws.event(); e.Kind != "run_queued" {
			t.Errorf("message %+v", e)
		}
		ws.silent()
	})
}

// That a load generator joins or is gone reaches all who ask for it, whatever run they follow.
func TestEventsOfWorkers(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		c := ft.events(t, "/api/events")
		c.comment("retry: 2000")
		first := c.want("snapshot")
		ws := ft.connect(t)
		ws.say(`{"type":"subscribe","message_types":["worker_startup_state"],"run":"` + idDone + `"}`)
		ws.hear()
		other := ft.connect(t)
		other.say(`{"type":"subscribe","message_types":["run_queued"],"run":"*"}`)
		other.hear()
		one := newFakeCluster().workers[0]
		ft.Hub.Announce(run.WorkerChange{At: epoch, What: "joined", Worker: one})
		ft.Hub.Announce(run.WorkerChange{At: epoch, What: "lost", Reason: "no message for 11s", Worker: one})
		joined, lost := `"startup_state":"ready","change":"joined","worker":{"id":"k3v9q2xak3v9q2xak3v9q2xak3","name":"one",`,
			`"startup_state":"shutting_down","change":"lost","reason":"no message for 11s","worker":{`
		for _, want := range []string{joined, lost} {
			if e := c.want("worker"); !strings.HasPrefix(e.data, "{"+want) {
				t.Errorf("event %s, want %s", e.data, want)
			}
			message := `{"message_type":"worker_startup_state","service_id":"one","ts_ns":1777888800000000000,` + want
			if got := ws.hear(); !strings.HasPrefix(got, message) {
				t.Errorf("message %s, want %s", got, message)
			}
		}
		other.silent()
		c = ft.events(t, "/api/events", "Last-Event-ID: "+first.id)
		c.comment("retry: 2000")
		if e := c.want("worker"); !strings.HasPrefix(e.data, "{"+joined) {
			t.Errorf("after a reconnect %s, want %s", e.data, joined)
		}
	})
}

// A run that ends in the queue, and one that is deleted, end their streams.
func TestEventsWithoutStart(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		c := ft.events(t, "/api/runs/"+idQueued+"/events")
		c.comment("retry: 2000")
		c.want("snapshot")
		ft.fake.mu.Lock()
		*ft.fake.get(idQueued) = *testRun(idQueued, bench.StateCancelled)
		ft.fake.mu.Unlock()
		ft.Hub.Publish(run.Event{Type: run.EventStateChanged, RunID: idQueued, At: epoch, Run: testRun(idQueued, bench.StateCancelled), Snapshot: &run.Snapshot{}})
		c.want("state")
		if e := c.want("finished"); !strings.HasPrefix(e.data, `{"state":"cancelled",`) {
			t.Errorf("data %s", e.data)
		}
		c.end()

		c = ft.events(t, eventsPath)
		c.comment("retry: 2000")
		c.want("snapshot")
		if err := ft.fake.Delete(t.Context(), idRunning, true); err != nil {
			t.Fatal(err)
		}
		ft.Hub.Publish(run.Event{Type: run.EventDeleted, RunID: idRunning, At: epoch})
		c.comment(": run deleted")
		c.end()
	})
}

// Comments keep an idle stream open beyond the deadline of other responses.
func TestEventsKeepAlive(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		c := ft.events(t, "/api/events", "Accept-Encoding: gzip")
		c.comment("retry: 2000")
		c.want("snapshot")
		start := time.Now()
		for i := range 20 {
			c.comment(": keep-alive")
			if got, want := time.Since(start), time.Duration(i+1)*15*time.Second; got != want {
				t.Fatalf("comment %d after %v, want %v", i, got, want)
			}
		}
	})
}

// The server ends streams at once when it stops.
func TestEventsShutdown(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		c := ft.events(t, eventsPath)
		all := ft.events(t, "/api/events")
		for _, c := range []*eventClient{c, all} {
			c.comment("retry: 2000")
			c.want("snapshot")
		}
		start := time.Now()
		ft.stop()
		for _, c := range []*eventClient{c, all} {
			c.comment(": shutting down")
			c.end()
		}
		if err := <-ft.done; err != nil || time.Since(start) > time.Second {
			t.Errorf("Serve = %v after %v", err, time.Since(start))
		}
		ft.done <- nil
	})
}

// Clients beyond the limit are refused, and streams that ended make room.
func TestEventsLimit(t *testing.T) {
	withFeed(t, func(o *Options) { o.Limits.Streams = 2 }, func(t *testing.T, ft *feedTest) {
		a, b, c := ft.events(t, eventsPath), ft.events(t, "/api/events"), ft.events(t, eventsPath)
		if a.response.StatusCode != 200 || b.response.StatusCode != 200 || c.response.StatusCode != 503 || c.response.Header.Get("Retry-After") == "" {
			t.Errorf("%s, %s, %s", a.response.Status, b.response.Status, c.response.Status)
		}
		if got := ft.Hub.Counts(); got.Streams != 2 || got.Clients != 0 {
			t.Errorf("counts %+v", got)
		}
		a.response.Body.Close()
		synctest.Wait()
		if again := ft.events(t, eventsPath); again.response.StatusCode != 200 {
			t.Errorf("after a client has left: %s", again.response.Status)
		}
	})
}

// A client that reads nothing is disconnected and holds up nobody.
func TestEventsSlowClient(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		conn, err := ft.listener.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", eventsPath)
		good := ft.events(t, eventsPath+"?types=phase")
		good.comment("retry: 2000")
		good.want("snapshot")
		start := time.Now()
		for range 2000 { // more than the buffers of the connection hold
			publish(ft.testServer, run.EventPhaseComplete, bench.StateRunning, false)
			good.want("phase")
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("others waited %v", took)
		}
		if n := ft.Hub.Counts().Streams; n != 2 {
			t.Errorf("%d streams, want 2", n)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if n := ft.Hub.Counts().Streams; n != 1 {
			t.Errorf("%d streams, want 1", n)
		}
	})
}

// A stream is busy, not idle: connections beyond the bound do not end it, and the probes
// are answered.
func TestEventsAndProbes(t *testing.T) {
	withFeed(t, func(o *Options) { o.Limits.Connections = 2 }, func(t *testing.T, ft *feedTest) {
		a, b := ft.events(t, "/api/events"), ft.events(t, eventsPath)
		for _, c := range []*eventClient{a, b} {
			c.comment("retry: 2000")
			c.want("snapshot")
		}
		third := ft.events(t, "/healthz")
		if third.response.StatusCode != 200 {
			t.Errorf("probe: %s", third.response.Status)
		}
		if c := ft.events(t, "/api/events"); c.response.StatusCode != 503 {
			t.Errorf("another stream: %s", c.response.Status)
		}
		a.comment(": keep-alive")
		b.comment(": keep-alive")
	})
}

// Of a process that is killed, nothing is mistaken for the events of the next one.
func TestEventsAfterRestart(t *testing.T) {
	var last string
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		c := ft.events(t, eventsPath+"?types=phase")
		c.comment("retry: 2000")
		c.want("snapshot")
		publish(ft.testServer, run.EventPhaseStart, bench.StateRunning, false)
		last = c.want("phase").id
	})
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		for range 5 {
			publish(ft.testServer, run.EventPhaseStart, bench.StateRunning, false)
		}
		c := ft.events(t, eventsPath, "Last-Event-ID: "+last)
		c.comment("retry: 2000")
		c.want("snapshot")
	})
}

package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/run"
)

// feedTest is a server in virtual time with a listener in memory.
type feedTest struct {
	*testServer
	listener *memnet.Listener
	stop     context.CancelFunc
	done     chan error
}

// withFeed runs a test against a server that is stopped afterwards.
func withFeed(t *testing.T, change func(*Options), test func(*testing.T, *feedTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ft := &feedTest{testServer: newTestServer(t, change), listener: memnet.Listen(), done: make(chan error, 1)}
		var ctx context.Context
		ctx, ft.stop = context.WithCancel(t.Context())
		go func() { ft.done <- ft.Serve(ctx, ft.listener) }()
		test(t, ft)
		ft.stop()
		if err := <-ft.done; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
}

// client is one connection of a test.
type client struct {
	*websocket.Conn
	t *testing.T
}

func (ft *feedTest) dial(t *testing.T, header http.Header) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	d := websocket.Dialer{NetDialContext: ft.listener.DialContext, HandshakeTimeout: time.Minute}
	return d.DialContext(t.Context(), "ws://localhost/ws", header)
}

func (ft *feedTest) connect(t *testing.T) *client {
	t.Helper()
	conn, response, err := ft.dial(t, nil)
	if err != nil {
		if response != nil {
			t.Fatalf("%v: %s", err, response.Status)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{conn, t}
}

func (c *client) say(text string) {
	c.t.Helper()
	if err := c.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// hear returns the next message.
func (c *client) hear() string {
	c.t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		c.t.Fatal(err)
	}
	_, data, err := c.ReadMessage()
	if err != nil {
		c.t.Fatalf("no message: %v", err)
	}
	return string(data)
}

// event is the part of a message that tests check.
type event struct {
	Kind  string `json:"message_type"`
	Run   string `json:"run_id"`
	Seq   uint64 `json:"seq"`
	TS    int64  `json:"ts_ns"`
	Stats map[string]any
}

func (c *client) event() event {
	c.t.Helper()
	var e event
	if err := json.Unmarshal([]byte(c.hear()), &e); err != nil {
		c.t.Fatal(err)
	}
	return e
}

// ends expects the connection to be closed with a code.
func (c *client) ends(code int) {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	for {
		_, _, err := c.ReadMessage()
		if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
			if closed.Code != code {
				c.t.Errorf("closed with %d %s, want %d", closed.Code, closed.Text, code)
			}
			synctest.Wait() // until the server has freed its place
			return
		}
		if err != nil {
			c.t.Errorf("connection ended without a close frame: %v", err)
			return
		}
	}
}

// silent expects no message for two seconds.
func (c *client) silent() {
	c.t.Helper()
	time.Sleep(2 * time.Second)
	c.say(`{"type":"ping"}`)
	if got := c.hear(); got != `{"type":"pong"}` {
		c.t.Errorf("heard %s, want nothing", got)
	}
}

func publish(ts *testServer, kind run.EventType, state bench.State, final bool) {
	s := testSnapshot(final)
	ts.Hub.Publish(run.Event{
		Type: kind, RunID: idRunning, At: s.Wall, Run: testRun(idRunning, state), Phase: &s.Phases[0], Snapshot: s, State: state,
	})
}

func TestFeedControl(t *testing.T) {
	tests := []struct{ say, want string }{
		{`{"type":"ping"}`, `{"type":"pong"}`},
		{`{"type":"subscribe","message_types":["realtime_metrics","heartbeat"]}`, `{"type":"subscribed","message_types":["realtime_metrics","heartbeat"],"run":"` + idRunning + `"}`},
		{`{"type":"subscribe","message_types":["*"],"run":"*"}`, `{"type":"subscribed","message_types":["*"],"run":"*"}`},
		{`{"type":"subscribe","message_types":["nope","heartbeat"]}`, `{"type":"subscribed","message_types":["heartbeat"],"unknown":["nope"],"run":"` + idRunning + `"}`},
		{`{"type":"subscribe","run":"` + idDone + `"}`, `{"type":"subscribed","message_types":[],"run":"` + idDone + `"}`},
		{`{"type":"subscribe","message_types":[]}`, `{"type":"subscribed","message_types":[],"run":"` + idRunning + `"}`},
		{`{"type":"unsubscribe","message_types":["heartbeat"]}`, `{"type":"unsubscribed","message_types":["heartbeat"]}`},
		{`{"type":"subscribe","run":"` + idMissing + `"}`, `{"type":"error","code":"bad_message","message":"No such run: \"` + idMissing + `\""}`},
		{`{"type":"subscribe","run":"../x"}`, `{"type":"error","code":"bad_message","message":"No such run: \"../x\""}`},
		{`{"type":"subscribe","run":"*","since_seq":0}`, `{"type":"error","code":"bad_message","message":"since_seq requires a single run"}`},
		{`[1]`, `{"type":"error","code":"bad_message","message":"Payload must be a JSON object"}`},
		{`null`, `{"type":"error","code":"bad_message","message":"Payload must be a JSON object"}`},
		{`{"type":"subscribe","message_types":"x"}`, `{"type":"error","code":"bad_message","message":"message_types must be a list of strings"}`},
		{`{"type":"subscribe","message_types":[1]}`, `{"type":"error","code":"bad_message","message":"message_types must be a list of strings"}`},
		{`{"type":"subscribe","message_types":[null]}`, `{"type":"error","code":"bad_message","message":"message_types must be a list of strings"}`},
		{`{"type":"subscribe","message_types":null}`, `{"type":"error","code":"bad_message","message":"message_types must be a list of strings"}`},
		{`{}`, `{"type":"error","code":"unknown_type","message":"Unknown type \"\"; accepted are subscribe, unsubscribe and ping"}`},
		{`{"type":"<b>"}`, `{"type":"error","code":"unknown_type","message":"Unknown type \"<b>\"; accepted are subscribe, unsubscribe and ping"}`},
	}
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		c := ft.connect(t)
		for _, tt := range tests {
			c.say(tt.say)
			if diff := cmp.Diff(tt.want, c.hear()); diff != "" {
				t.Errorf("answer to %s (-want +got):\n%s", tt.say, diff)
			}
		}
		for _, bad := range []string{``, `nope`, `{"type":`, `{"type":"ping"} x`} {
			c.say(bad)
			if got := c.hear(); !strings.HasPrefix(got, `{"type":"error","code":"bad_json","message":"Invalid JSON: `) {
				t.Errorf("answer to %s = %s", bad, got)
			}
		}
	})
}

// A run from its start to its end, as a client sees it.
func TestFeedRun(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		all, some := ft.connect(t), ft.connect(t)
		all.say(`{"type":"subscribe","message_types":["*"]}`)
		some.say(`{"type":"subscribe","message_types":["benchmark_complete","results_exported"],"run":"` + idRunning + `"}`)
		all.hear()
		some.hear()
		publish(ft.testServer, run.EventQueued, bench.StateQueued, false)
		publish(ft.testServer, run.EventStateChanged, bench.StateRunning, false)
		publish(ft.testServer, run.EventPhaseStart, bench.StateRunning, false)
		publish(ft.testServer, run.EventPhaseProgress, bench.StateRunning, false)
		publish(ft.testServer, run.EventMetrics, bench.StateRunning, false)
		publish(ft.testServer, run.EventPhaseSent, bench.StateRunning, true)
		publish(ft.testServer, run.EventPhaseComplete, bench.StateRunning, true)
		publish(ft.testServer, run.EventStateChanged, bench.StateExporting, true)
		publish(ft.testServer, run.EventExported, bench.StateCompleted, true)
		publish(ft.testServer, run.EventStateChanged, bench.StateCompleted, true)
		publish(ft.testServer, run.EventComplete, bench.StateCompleted, true)
		want := []string{
			"run_state_changed", "system_state_changed", "credit_phase_start",
			"credit_phase_progress", "processing_stats", "worker_status_summary", "worker_health", "worker_group_stats",
			"realtime_metrics", "client_verdict", "credit_phase_sending_complete", "credit_phase_complete",
			"run_state_changed", "system_state_changed", "credits_complete", "all_records_received", "request_errors",
			"process_all_results", "results_exported", "run_state_changed", "system_state_changed", "benchmark_complete",
		}
		var got []string
		// run_queued has number 1; subscribers to the current run do not receive it.
		seq := uint64(1)
		for range want {
			e := all.event()
			got = append(got, e.Kind)
			if seq++; e.Seq != seq || e.Run != idRunning || e.TS < epoch.UnixNano() {
				t.Errorf("%s: seq %d, run %s, ts %d, want seq %d", e.Kind, e.Seq, e.Run, e.TS, seq)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		wantEnd := fmt.Sprintf(`{"message_type":"results_exported","service_id":"system_controller","run_id":%q,"seq":20,"ts_ns":1777888844000000000,"was_cancelled":false}`, idRunning)
		if diff := cmp.Diff(wantEnd, some.hear()); diff != "" {
			t.Errorf("results_exported (-want +got):\n%s", diff)
		}
		if e := some.event(); e.Kind != "benchmark_complete" {
			t.Errorf("last message = %s", e.Kind)
		}
	})
}

// Nulls are left out, other than in the REST twins.
func TestFeedOmitsNulls(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		publish(ft.testServer, run.EventStateChanged, bench.StateRunning, false)
		c := ft.connect(t)
		c.say(`{"type":"subscribe","message_types":["credit_phase_progress","realtime_metrics"]}`)
		c.hear()
		publish(ft.testServer, run.EventPhaseProgress, bench.StateRunning, false)
		e := c.event()
		if e.Stats["requests_sent"] != 128.0 || e.Stats["phase_name"] != "profiling" {
			t.Errorf("stats = %v", e.Stats)
		}
		if _, ok := e.Stats["sent_end_ns"]; ok {
			t.Error("sent_end_ns is there before it happened")
		}
		publish(ft.testServer, run.EventMetrics, bench.StateRunning, false)
		want := `"metrics":[{"tag":"request_count","header":"Request Count","unit":"requests","avg":500,"count":1},{"tag":"time_to_first_token"`
		if got := c.hear(); !strings.Contains(got, want) || strings.Contains(got, "internal_thing") {
			t.Errorf("realtime_metrics = %s", got)
		}
	})
}

func TestFeedSubscriptions(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		publish(ft.testServer, run.EventStateChanged, bench.StateRunning, false)
		c := ft.connect(t)
		say := func(text string) { c.say(text); c.hear() }
		c.silent() // nothing before a subscription
		say(`{"type":"subscribe","message_types":["realtime_metrics"]}`)
		say(`{"type":"subscribe","message_types":["realtime_metrics","results_exported"]}`)
		publish(ft.testServer, run.EventMetrics, bench.StateRunning, false)
		if e := c.event(); e.Kind != "realtime_metrics" {
			t.Errorf("heard %s", e.Kind)
		}
		c.silent() // once, although subscribed twice
		say(`{"type":"subscribe","message_types":["*"]}`)
		say(`{"type":"unsubscribe","message_types":["realtime_metrics"]}`)
		publish(ft.testServer, run.EventMetrics, bench.StateRunning, false)
		if e := c.event(); e.Kind != "realtime_metrics" {
			t.Errorf("heard %s, want the wildcard to stay", e.Kind)
		}
		if e := c.event(); e.Kind != "client_verdict" {
			t.Errorf("heard %s, want what the wildcard covers", e.Kind)
		}
		say(`{"type":"unsubscribe","message_types":["*"]}`)
		publish(ft.testServer, run.EventMetrics, bench.StateRunning, false)
		c.silent()
		say(`{"type":"subscribe","message_types":["realtime_metrics"],"run":"` + idDone + `"}`)
		publish(ft.testServer, run.EventMetrics, bench.StateRunning, false)
		c.silent() // of another run
	})
}

func TestFeedSnapshot(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		publish(ft.testServer, run.EventStateChanged, bench.StateRunning, false)
		publish(ft.testServer, run.EventMetrics, bench.StateRunning, false)
		publish(ft.testServer, run.EventPhaseProgress, bench.StateRunning, false)
		publish(ft.testServer, run.EventMetrics, bench.StateRunning, false)
		c := ft.connect(t)
		c.say(`{"type":"subscribe","message_types":["realtime_metrics","credit_phase_progress","system_state_changed"],"snapshot":true}`)
		c.hear()
		progress, metrics := c.event(), c.event()
		if progress.Kind != "credit_phase_progress" || progress.Seq != 5 || metrics.Kind != "realtime_metrics" || metrics.Seq != 10 {
			t.Errorf("snapshot = %+v, %+v", progress, metrics)
		}
		c.silent()

		// A run without events since the hub was made.
		old := ft.connect(t)
		old.say(`{"type":"subscribe","message_types":["snapshot"],"run":"` + idDone + `","snapshot":true}`)
		old.hear()
		got := old.hear()
		for _, want := range []string{
			`{"message_type":"snapshot","service_id":"system_controller","run_id":"` + idDone + `","seq":0,`,
			`"run":{"id":"` + idDone, `"progress":{"phases":{"profiling":{`, `"metrics":{"aiperf_version":"aiperfd/0.1.0"`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("snapshot = %s, want %s in it", got, want)
			}
		}
	})
}

func TestFeedReplay(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		publish(ft.testServer, run.EventStateChanged, bench.StateRunning, false)
		const events = 300 // more than the queue of a client holds
		for range events {
			publish(ft.testServer, run.EventPhaseComplete, bench.StateRunning, false)
		}
		c := ft.connect(t)
		c.say(`{"type":"subscribe","message_types":["*"],"since_seq":2}`)
		c.hear()
		publish(ft.testServer, run.EventPhaseSent, bench.StateRunning, false)
		for i := range events + 1 {
			if e := c.event(); e.Seq != uint64(3+i) {
				t.Fatalf("message %d has seq %d, want %d", i, e.Seq, 3+i)
			}
		}
		publish(ft.testServer, run.EventPhaseSent, bench.StateRunning, false)
		if e := c.event(); e.Seq != events+4 {
			t.Errorf("after the replay: seq %d, want %d", e.Seq, events+4)
		}

		gap := ft.connect(t)
		gap.say(`{"type":"subscribe","message_types":["snapshot"],"since_seq":9999}`)
		gap.hear()
		if got := gap.hear(); got != `{"type":"error","code":"gap","message":"Messages after 9999 are no longer available"}` {
			t.Errorf("gap = %s", got)
		}
		if e := gap.event(); e.Kind != "snapshot" || e.Seq != events+4 {
			t.Errorf("after the gap: %+v", e)
		}
	})
}

func TestFeedCloses(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		binary := ft.connect(t)
		if err := binary.WriteMessage(websocket.BinaryMessage, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		binary.ends(websocket.CloseUnsupportedData)

		large := ft.connect(t)
		large.say(strings.Repeat(" ", 64<<10) + `{"type":"ping"}`)
		if got := large.hear(); !strings.Contains(got, `"code":"too_large"`) {
			t.Errorf("answer to a large message = %s", got)
		}
		large.ends(websocket.CloseMessageTooBig)

		polite := ft.connect(t)
		if err := polite.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Time{}); err != nil {
			t.Fatal(err)
		}
		polite.ends(websocket.CloseNormalClosure)

		last := ft.connect(t)
		last.say(`{"type":"ping"}`)
		last.hear()
		ft.stop()
		last.ends(websocket.CloseGoingAway)
	})
	withFeed(t, func(o *Options) { o.OneShot = true }, func(t *testing.T, ft *feedTest) {
		ft.fake.queue.Running = nil // the run is over
		c := ft.connect(t)
		c.say(`{"type":"ping"}`)
		c.hear()
		ft.stop()
		c.ends(websocket.CloseNormalClosure)
	})
}

func TestFeedRefuses(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) { // with slots for two
		refused := func(header http.Header, status int, name string) {
			t.Helper()
			_, resp, err := ft.dial(t, header)
			if err == nil || resp == nil || resp.StatusCode != status {
				t.Errorf("handshake with %v: %v %v, want %d %s", header, resp, err, status, name)
				return
			}
			if got := resp.Header.Get("Content-Type"); got != "application/problem+json" {
				t.Errorf("Content-Type = %s", got)
			}
		}
		refused(http.Header{"Origin": {"https://evil.example"}}, 403, "forbidden-origin")
		refused(http.Header{"Host": {"evil.example"}}, 421, "misdirected-host")
		conn, _, err := ft.dial(t, http.Header{"Origin": {"http://localhost"}, "Sec-Websocket-Protocol": {"x"}})
		if err != nil {
			t.Fatal(err)
		}
		second := ft.connect(t)
		refused(nil, 503, "too-many-streams")
		conn.Close()
		time.Sleep(time.Second)
		third := ft.connect(t)
		for _, c := range []*client{second, third} {
			c.say(`{"type":"ping"}`)
			c.hear()
		}
	})
}

func TestFeedKeepAlive(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		pings := 0
		alive := ft.connect(t)
		answer := alive.PingHandler()
		alive.SetPingHandler(func(data string) error { pings++; return answer(data) })
		alive.say(`{"type":"subscribe","message_types":["heartbeat"]}`)
		alive.hear()
		beats := 0
		for start := time.Now(); time.Since(start) < 2*time.Minute; beats++ {
			if e := alive.event(); e.Kind != "heartbeat" || e.Seq != 0 || e.Run != "" {
				t.Fatalf("heard %+v", e)
			}
		}
		if beats != 24 || pings < 5 || pings > 6 {
			t.Errorf("%d heartbeats and %d pings in two minutes, want 24 and 5 or 6", beats, pings)
		}
		alive.Close()

		mute := ft.connect(t) // never reads, so that it answers no ping
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if n := ft.Hub.Counts().Clients; n != 0 {
			t.Errorf("%d clients after a minute of silence, want 0", n)
		}
		mute.Close()
	})
}

// A client that does not read is disconnected without effect on others.
func TestFeedSlowConsumer(t *testing.T) {
	withFeed(t, nil, func(t *testing.T, ft *feedTest) {
		publish(ft.testServer, run.EventStateChanged, bench.StateRunning, false)
		slow, quick := ft.connect(t), ft.connect(t)
		for _, c := range []*client{slow, quick} {
			c.say(`{"type":"subscribe","message_types":["*"]}`)
			c.hear()
		}
		start := time.Now()
		for i := range 20_000 {
			publish(ft.testServer, run.EventPhaseComplete, bench.StateRunning, false)
			if e := quick.event(); e.Kind != "credit_phase_complete" || e.Seq != uint64(i+3) {
				t.Fatalf("message %d = %+v", i, e)
			}
			if ft.Hub.Counts().Dropped > 0 {
				break
			}
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("the other client waited %s", took)
		}
		if ft.Hub.Counts().Dropped == 0 {
			t.Fatal("the slow client was not given up")
		}
		var last string
		for {
			_, data, err := slow.ReadMessage()
			if err != nil {
				if !websocket.IsCloseError(err, websocket.CloseTryAgainLater) {
					t.Errorf("slow client: %v, want 1013", err)
				}
				break
			}
			last = string(data)
		}
		if !strings.Contains(last, `"code":"slow_consumer"`) {
			t.Errorf("last message = %s", last)
		}
	})
}

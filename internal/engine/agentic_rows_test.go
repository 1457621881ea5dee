package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/tokenizer"
)

// The traces whose replay by AIPerf 0.13 was recorded. A grows by part of a block, starts a sub-agent that shares its first
// two blocks, is compacted, and grows again.
const (
	rowsTraceA = `{"id": "A", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "tool_tokens": 64, "system_tokens": 50, "requests": [
  {"t": 0, "type": "s", "model": "m", "in": 256, "out": 10, "hash_ids": [1, 2, 3, 4], "api_time": 1},
  {"t": 1.5, "type": "s", "model": "m", "in": 400, "out": 70, "hash_ids": [1, 2, 3, 4, 5, 6, 7], "api_time": 1, "think_time": 0.2},
  {"t": 2.6, "type": "subagent", "agent_id": "sub1", "subagent_type": "Explore", "duration_ms": 1400, "status": "completed", "models": ["m"],
   "tool_tokens": 64, "system_tokens": 50, "requests": [
    {"t": 2.7, "type": "s", "model": "m", "in": 192, "out": 20, "hash_ids": [1, 2, 50], "api_time": 0.4},
    {"t": 3.4, "type": "s", "model": "m", "in": 320, "out": 12, "hash_ids": [1, 2, 50, 51, 52], "api_time": 0.5}]},
  {"t": 4.5, "type": "s", "model": "m", "in": 576, "out": 33, "hash_ids": [1, 2, 3, 4, 5, 6, 8, 9, 10], "api_time": 0.5, "think_time": 0.3},
  {"t": 6, "type": "s", "model": "m", "in": 200, "out": 15, "hash_ids": [1, 2, 20, 21], "api_time": 0.5},
  {"t": 30, "type": "s", "model": "m", "in": 330, "out": 15, "hash_ids": [1, 2, 20, 22, 23, 24], "api_time": 0.5}]}`
	rowsTraceB = `{"id": "B", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": [
  {"t": 0, "type": "s", "model": "m", "in": 128, "out": 8, "hash_ids": [1, 2], "api_time": 0.2},
  {"t": 0.7, "type": "s", "model": "m", "in": 200, "out": 9, "hash_ids": [1, 2, 3], "api_time": 0.2},
  {"t": 1.4, "type": "s", "model": "m", "in": 264, "out": 9, "hash_ids": [1, 2, 3, 4], "api_time": 0.2},
  {"t": 2.2, "type": "s", "model": "m", "in": 330, "out": 9, "hash_ids": [1, 2, 3, 4, 5], "api_time": 0.2}]}`
)

// heardRequest is a request as the server saw it. Times are in seconds from the first one.
type heardRequest struct {
	from, until float64
	stream      string // correlation id
	max         int
	roles       string // first letters
	texts       []string
	tokens      []int // of the messages
}

// conversationRecorder notes what a server sees of chats.
type conversationRecorder struct {
	mu    sync.Mutex
	zero  time.Time
	heard []*heardRequest
}

func (c *conversationRecorder) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		var chat struct {
			Messages []struct{ Role, Content string }
			Max      int `json:"max_completion_tokens"`
		}
		if err == nil {
			err = json.Unmarshal(body, &chat)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		one := &heardRequest{stream: r.Header.Get("X-Correlation-Id"), max: chat.Max}
		for _, m := range chat.Messages {
			one.roles += m.Role[:1]
			one.texts = append(one.texts, m.Content)
			one.tokens = append(one.tokens, tokenizer.Builtin().Count(m.Content))
		}
		c.mu.Lock()
		if c.zero.IsZero() {
			c.zero = time.Now()
		}
		one.from = time.Since(c.zero).Seconds()
		c.heard = append(c.heard, one)
		c.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
		one.until = time.Since(c.zero).Seconds()
	})
}

// play replays the traces and returns what the server heard.
func playRows(t *testing.T, dataset, phase string, records ...string) (c *conversationRecorder, b *bed, id string) {
	t.Helper()
	c = new(conversationRecorder)
	b = newBed(t, timing(t, 50*time.Millisecond, 2*time.Millisecond), c.wrap)
	r := b.run(document(phase, "  tokenizer: {name: builtin}\n  dataset: {type: file, format: weka_trace, gapRule: aiperf, "+dataset+
		"records: ["+strings.Join(records, ", ")+"]}"))
	b.stop()
	return c, b, r.ID
}

// The replay with --gap-rule aiperf has the order, the lengths, the roles and the pauses that AIPerf 0.13.0 had with the
// same traces and a server of the same speed; prompts have the recorded tokens, where AIPerf's are up to one short.
func TestReplayAsAIPerf(t *testing.T) {
	// What AIPerf sent, by request: after which earlier one, and how much later, in seconds.
	type pause struct {
		after int
		wait  float64
	}
	inOrder := func(last, second, third float64) []pause {
		return []pause{{0, second}, {1, 0.1}, {2, 0.3}, {3, 0}, {4, third}, {5, last}}
	}
	for _, tt := range []struct {
		name, dataset string
		want          []pause
	}{
		{"as recorded", "", inOrder(23.5, 0.5, 1)},
		{"pauses of the trace of at most 3 s", "traceIdleGapCapSeconds: 3, ", inOrder(2.5, 0.5, 1)},
		{"think times, and pauses of at most 2 s", "useThinkTimeOnly: true, interTurnDelayCapSeconds: 2, ", inOrder(2, 0.2, 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, b, id := playRows(t, tt.dataset, "type: concurrency, concurrency: 1, sessions: 1", rowsTraceA)
				if len(c.heard) != 7 {
					t.Fatalf("%d requests, want 7", len(c.heard))
				}
				wantMax, wantRoles := []int{10, 70, 20, 12, 33, 15, 15}, strings.Fields("su suau su suau suauau su suau")
				wantTokens := []string{
					"[128 128]", "[128 128 64 80]", "[128 64]", "[128 64 64 64]", "[128 128 64 64 128 64]", "[128 72]", "[128 64 64 74]",
				}
				for i, got := range c.heard {
					if got.max != wantMax[i] || got.roles != wantRoles[i] || fmt.Sprint(got.tokens) != wantTokens[i] {
						t.Errorf("request %d: at most %d tokens, %s, %v; want %d, %s, %s",
							i, got.max, got.roles, got.tokens, wantMax[i], wantRoles[i], wantTokens[i])
					}
					if i == 0 {
						continue
					}
					want := tt.want[i-1]
					if wait := got.from - c.heard[want.after].until; math.Abs(wait-want.wait) > 0.001 {
						t.Errorf("request %d was sent %.3f s after the end of %d, want %v", i, wait, want.after, want.wait)
					}
				}
				if c.heard[2].texts[0] != c.heard[0].texts[0] {
					t.Error("the system message of the sub-agent is not that of the session")
				}
				if !strings.Contains(b.file(id, "profile_export_aiperf.json"), `"avg": 52.63157894736842`) {
					t.Error("the hit rate of the recording is not 52.63 %, as AIPerf's is")
				}
			})
		})
	}
}

// Two lanes that begin between 10 and 15 % of their sessions do what AIPerf 0.13.0 did with seed 7: three primers of one
// token, then the sub-agent, for which the root waits, and the other lane; a lane whose session has ended goes on with the
// next one from its first request. No time is left out before the sub-agent of a session that is at work.
func TestLanesAsAIPerf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := playRows(t, "cacheBust: {target: first_turn_prefix}, ",
			"type: agentic_replay, concurrency: 2, duration: 15, laneStart: spread, trajectoryStartMinRatio: 0.1, "+
				"trajectoryStartMaxRatio: 0.15, systemIdleGapCapSeconds: 10", rowsTraceA, rowsTraceB)
		// What AIPerf sent in its first six seconds: seconds, stream, most tokens, roles.
		want := []struct {
			at     float64
			stream int
			max    int
			roles  string
		}{
			{0, 0, 1, "suau"}, {1.19, 1, 1, "su"}, {1.345, 2, 1, "u"},
			{1.72, 1, 12, "suau"}, {1.82, 0, 33, "suauau"}, {1.88, 2, 9, "uau"}, {2.47, 2, 9, "uaau"}, {2.97, 0, 15, "su"},
			{3.15, 2, 9, "uaaau"}, {3.23, 3, 10, "su"}, {3.81, 3, 70, "suau"}, {4.13, 4, 20, "su"}, {4.53, 4, 12, "suau"},
			{4.62, 3, 33, "suauau"}, {5.75, 3, 15, "su"},
		}
		const tolerance = 0.2 // seconds; AIPerf itself took about 10 ms per request
		streams := map[string]int{}
		for i, w := range want {
			if i >= len(c.heard) {
				t.Fatalf("%d requests, want at least %d", len(c.heard), len(want))
			}
			got := c.heard[i]
			if _, known := streams[got.stream]; !known {
				streams[got.stream] = len(streams)
			}
			if streams[got.stream] != w.stream || got.max != w.max || got.roles != w.roles || math.Abs(got.from-w.at) > tolerance {
				t.Errorf("request %d: %.3f s, stream %d, at most %d tokens, %s; want %.3f s, %d, %d, %s",
					i, got.from, streams[got.stream], got.max, got.roles, w.at, w.stream, w.max, w.roles)
			}
		}
	})
}

// AIPerf's limit of idle time acts in the 0.1 s between a request and the sub-agent that it starts, and takes seconds of
// the pauses of other sessions. Here it does not: something is due within the limit.
func TestIdleLimitBeforeSubAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The session of the other lane pauses for 12.4 s, while that of A is at work for the first 2.5 s.
		const pausing = `{"id": "P", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": [
  {"t": 0, "type": "s", "model": "m", "in": 128, "out": 8, "hash_ids": [1, 2], "api_time": 0.2},
  {"t": 12.6, "type": "s", "model": "m", "in": 200, "out": 9, "hash_ids": [1, 2, 3], "api_time": 0.2}]}`
		c, _, _ := playRows(t, "cacheBust: {target: first_turn_prefix}, ",
			"type: agentic_replay, concurrency: 2, sessions: 2, laneStart: burst, trajectoryStartMinRatio: 0, "+
				"trajectoryStartMaxRatio: 0, systemIdleGapCapSeconds: 10", rowsTraceA, pausing)
		streams := map[string][]*heardRequest{}
		for _, h := range c.heard {
			streams[h.stream] = append(streams[h.stream], h)
		}
		paused, started := false, false
		for _, all := range streams {
			switch all[0].max {
			case 8:
				wait := all[1].from - all[0].until
				paused = math.Abs(wait-12.4) < 0.001
				if !paused {
					t.Errorf("the pause of 12.4 s took %.3f s", wait)
				}
			case 20:
				for _, before := range c.heard {
					started = started || before.max == 70 && math.Abs(all[0].from-before.until-0.1) < 0.001
				}
			}
		}
		if !paused || !started {
			t.Errorf("paused %t, sub-agent 0.1 s after the request that starts it %t", paused, started)
		}
	})
}

// A prompt that is too long ends its session, and counts as an error, which AIPerf hides. The lane goes on with the next
// session when the recording of this one is over, or with AIPerf's rule at once.
func TestOverflowEndsSession(t *testing.T) {
	const long = `{"id": "%s", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": [
  {"t": 0, "type": "s", "model": "m", "in": 128, "out": 1, "hash_ids": [1, 2], "api_time": 1},
  {"t": 1.5, "type": "s", "model": "m", "in": 400, "out": 1, "hash_ids": [1, 2, 3, 4, 5, 6], "api_time": 1},
  {"t": 10, "type": "s", "model": "m", "in": 130, "out": 1, "hash_ids": [1, 2], "api_time": 1}]}`
	for _, tt := range []struct {
		rule string
		wait float64 // from the response that says so to the next session, in seconds
	}{{"critical", 8.5}, {"aiperf", 0}} {
		synctest.Test(t, func(t *testing.T) {
			c := new(conversationRecorder)
			o := timing(t, time.Second, 0)
			o.MaxModelLen = 300
			b := newBed(t, o, c.wrap)
			r := b.run(document("type: agentic_replay, concurrency: 1, sessions: 2, trajectoryStartMinRatio: 0, trajectoryStartMaxRatio: 0",
				"  tokenizer: {name: builtin}\n  dataset: {type: file, format: weka_trace, gapRule: "+tt.rule+", records: ["+
					fmt.Sprintf(long, "A")+", "+fmt.Sprintf(long, "B")+"]}"))
			if len(c.heard) != 4 {
				t.Fatalf("%s: %d requests, want 2 of each session:\n%s", tt.rule, len(c.heard), b.transcript(r.ID))
			}
			if wait := c.heard[2].from - c.heard[1].until; math.Abs(wait-tt.wait) > 0.001 {
				t.Errorf("%s: the next session began %.3f s after the prompt that was too long, want %v", tt.rule, wait, tt.wait)
			}
			if r.Summary.Errors != 2 || strings.Count(b.file(r.ID, "profile_export.jsonl"), `"context_overflow"`) != 2 {
				t.Errorf("%s: %d errors, want 2 of the class context_overflow:\n%s", tt.rule, r.Summary.Errors, b.transcript(r.ID))
			}
			if trees := b.file(r.ID, "trees.jsonl"); strings.Count(trees, `"outcome":"cut"`) == 0 {
				t.Errorf("%s: trees:\n%s", tt.rule, trees)
			}
			b.stop()
		})
	}
}

// A cache warm-up asks for one token each, and the measured phase goes on with the recorded ones where it has ended.
func TestCacheWarmup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b, id := playRows(t, "cacheBust: {target: first_turn_prefix}, ",
			"type: agentic_replay, concurrency: 1, sessions: 1, laneStart: spread, trajectoryStartMinRatio: 0, "+
				"trajectoryStartMaxRatio: 0, warmupRequestsPerLane: 3", rowsTraceA)
		var most []int
		for _, h := range c.heard {
			most = append(most, h.max)
		}
		// Nothing had begun, so that there is no primer. The warm-up sends two turns and the first one of the sub-agent.
		if want := []int{1, 1, 1, 12, 33, 15, 15}; !slices.Equal(most, want) {
			t.Errorf("most tokens of the answers: %v, want %v", most, want)
		}
		got := b.transcript(id)
		if !strings.HasPrefix(got, "cache-warmup s0.0 0s-") || strings.Count(got, "cache-warmup ") != 3 || strings.Count(got, "profiling ") != 4 {
			t.Errorf("requests:\n%s", got)
		}
		if trees := b.file(id, "trees.jsonl"); strings.Count(trees, "\n") != 1 || !strings.Contains(trees, `"outcome":"completed"`) ||
			!strings.Contains(trees, `"left_truncated":true`) || !strings.Contains(trees, `"requests":4`) {
			t.Errorf("trees:\n%s", trees)
		}
	})
}

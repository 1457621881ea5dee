package mock

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// tiny returns the preset for tests, without jitter.
func tiny(t testing.TB) *batch.Params {
	t.Helper()
	p, err := options.Preset("tiny")
	if err != nil {
		t.Fatal(err)
	}
	p.Jitter = 0
	return p
}

// words returns a prompt of n tokens of token.Words, the first of which is number.
func words(number, n int) string {
	return fmt.Sprintf("%03d", number%1000) + strings.Repeat(" x", n-1)
}

func completion(number, in, out int, more string) string {
	return fmt.Sprintf(`{"prompt":%q,"max_tokens":%d%s}`, words(number, in), out, more)
}

// contentTimes returns when content events of a stream of completions arrived.
func contentTimes(lines []line) []time.Duration {
	var at []time.Duration
	for _, l := range lines {
		if strings.Contains(l.text, `"text":"`) && !strings.Contains(l.text, `"text":""`) {
			at = append(at, l.at)
		}
	}
	return at
}

// TestAcceleratorTimes checks that tokens are sent when the steps of the model end.
func TestAcceleratorTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Accelerator: tiny(t), TruthChunks: true})
		lines, err := r.stream(completionPath, completion(1, 100, 4, `,"stream":true,"stream_options":{"include_usage":true}`))
		if err != nil {
			t.Fatal(err)
		}
		us := func(f float64) time.Duration { return time.Duration(f * float64(time.Microsecond)) }
		// 200 µs of frontend; 1 ms + 100 × 4 µs of prefill; then 1 ms + 10 µs + context × 5 ns.
		first := us(200 + 1000 + 400)
		want := []time.Duration{first, first + us(1010.5), first + us(2*1010.5+.005), first + us(3*1010.5+.015)}
		got := contentTimes(lines)
		if len(got) != len(want) {
			t.Fatalf("%d events, want %d: %v", len(got), len(want), lines)
		}
		for i := range want {
			if d := got[i] - want[i]; d.Abs() > time.Microsecond {
				t.Errorf("event %d at %v, want %v", i, got[i], want[i])
			}
		}
		record := r.lastTruth()
		b := record.Batch
		if b == nil || b.QueueMs != 0 || b.MeanBatch != 1 || b.Preemptions != 0 || b.CachedTokens != 0 {
			t.Errorf("truth of the batch = %+v", b)
		}
		if b.QueuedNs-record.BodyReadNs != int64(200*time.Microsecond) || len(record.ChunkNs) != 4 || record.OutputTokens != 4 {
			t.Errorf("truth = %+v", record)
		}
		if last := lines[len(lines)-2].text; !strings.Contains(last, `"prompt_tokens":100,"total_tokens":104,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":0}`) {
			t.Errorf("usage event %s", last)
		}
	})
}

// TestAcceleratorQueue checks that requests that do not fit into the batch wait.
func TestAcceleratorQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := tiny(t)
		p.MaxSequences, p.MaxWaiting = 1, 1
		r := newRig(t, options.Options{Accelerator: p})
		ends := make([]reply, 3)
		var wg sync.WaitGroup
		for i := range ends {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 300 * time.Microsecond)
				ends[i] = r.post(completionPath, completion(i, 100, 10, ""))
			})
			if i == 2 {
				time.Sleep(2 * time.Millisecond)
				if got := r.server.engineStats(); got.Running != 1 || got.Waiting != 1 {
					t.Errorf("%d running and %d waiting, want 1 and 1", got.Running, got.Waiting)
				}
			}
		}
		wg.Wait()
		synctest.Wait()
		if ends[0].status != 200 || ends[1].status != 200 || ends[2].status != 503 {
			t.Fatalf("statuses %d, %d, %d, want 200, 200, 503", ends[0].status, ends[1].status, ends[2].status)
		}
		if !strings.Contains(ends[2].body, "the waiting queue is full") {
			t.Errorf("refusal %s", ends[2].body)
		}
		synctest.Wait() // a request ends a moment after its answer
		all := r.server.Truth()
		second := all[len(all)-1]
		// The first takes 1.4 ms and nine steps of 1.0105 ms and more; the second came 0.3 ms later.
		if second.Batch == nil || math.Abs(second.Batch.QueueMs-(1.4+9*1.0105-0.3)) > 0.001 {
			t.Errorf("second: batch %+v", second.Batch)
		}
		if all[0].Batch != nil {
			t.Errorf("the refused one was at the accelerator: %+v", all[0].Batch)
		}
	})
}

// TestAcceleratorPrefixCache: a prompt that was seen before is not computed
// again, unless its salt is another.
func TestAcceleratorPrefixCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Accelerator: tiny(t)})
		for _, tt := range []struct {
			more   string
			cached int
		}{{"", 0}, {"", 64}, {`,"cache_salt":"mine"`, 0}, {`,"cache_salt":"mine"`, 64}, {`,"model":"other"`, 0}} {
			a := r.post(completionPath, completion(7, 80, 2, tt.more))
			if want := fmt.Sprintf(`"prompt_tokens_details":{"cached_tokens":%d}`, tt.cached); !strings.Contains(a.body, want) {
				t.Errorf("%s: answer %s, want %s", tt.more, a.body, want)
			}
			if got := r.lastTruth().Batch; got.CachedTokens != tt.cached {
				t.Errorf("%s: record has %d cached tokens, want %d", tt.more, got.CachedTokens, tt.cached)
			}
		}
		stats := r.server.engineStats()
		if stats.PrefixQueries != 5*80 || stats.PrefixHits != 2*64 || stats.BlocksUsed != 0 {
			t.Errorf("stats %+v", stats)
		}
		r.server.accelerator.resetPrefixCache()
		if a := r.post(completionPath, completion(7, 80, 2, "")); !strings.Contains(a.body, `"cached_tokens":0`) {
			t.Errorf("after a reset: %s", a.body)
		}
	})
}

// TestAcceleratorConversation checks that the second turn finds the answer of the first
// in the prefix cache.
func TestAcceleratorConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Accelerator: tiny(t)})
		first := r.post(chatPath, `{"messages":[{"role":"user","content":"`+words(1, 40)+`"}],"max_tokens":56}`)
		_, text, _ := strings.Cut(first.body, `"content":"`)
		text, _, _ = strings.Cut(text, `","refusal"`)
		r.post(chatPath, `{"messages":[{"role":"user","content":"`+words(1, 40)+`"},{"role":"assistant","content":"`+text+
			`"},{"role":"user","content":"and now?"}],"max_tokens":2}`)
		record := r.lastTruth()
		// 96 tokens were generated; the last one was never computed: five whole blocks are cached.
		if record.Batch.CachedTokens != 80 {
			t.Errorf("%d of %d tokens were cached, want 80", record.Batch.CachedTokens, record.PromptTokens)
		}
	})
}

// TestAcceleratorPreemption checks that a full cache restarts requests, and that every
// request gets all its tokens.
func TestAcceleratorPreemption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := tiny(t)
		p.Blocks = 20
		r := newRig(t, options.Options{Accelerator: p})
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				lines, err := r.stream(completionPath, completion(i, 64, 40, `,"stream":true`))
				if n := len(contentTimes(lines)); err != nil || n != 40 {
					t.Errorf("stream %d: %d events, error %v, want 40", i, n, err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		preempted, batches := 0, 0.0
		for _, record := range r.server.Truth() {
			preempted += record.Batch.Preemptions
			batches += record.Batch.MeanBatch / 4
		}
		if stats := r.server.engineStats(); preempted == 0 || int64(preempted) != stats.Preemptions {
			t.Errorf("truths have %d preemptions, the engine %d", preempted, stats.Preemptions)
		}
		if batches <= 1 || batches >= 4 {
			t.Errorf("mean batch %v, want between 1 and 4", batches)
		}
	})
}

// TestAcceleratorLeave checks that the slot of a client that disconnects is released.
func TestAcceleratorLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Accelerator: tiny(t)})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if resp, err := r.send(ctx, completionPath, completion(1, 32, 1000, "")); err == nil {
			resp.Body.Close()
			t.Fatal("an answer came")
		}
		if record := r.lastTruth(); record.Outcome != api.OutcomeClientGone {
			t.Errorf("outcome %s", record.Outcome)
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		if stats := r.server.engineStats(); stats.Running != 0 || stats.Waiting != 0 || stats.BlocksUsed != 0 {
			t.Errorf("stats %+v", stats)
		}
	})
}

// TestAcceleratorShapes: several choices, chunks of several tokens, reasoning
// apart from the answer, answers without tokens, faults and comments.
func TestAcceleratorShapes(t *testing.T) {
	tests := []struct {
		name string
		opt  options.Options
		body string
		want map[string]int // how often the stream has these
		err  bool
	}{
		{"two choices", options.Options{}, `"n":2,"max_tokens":5`, map[string]int{`"index":0`: 7, `"index":1`: 7, `"content":"`: 12, "[DONE]": 1}, false},
		{"chunks", options.Options{TokensPerChunk: mustLength(t, "3")}, `"max_tokens":8`, map[string]int{`"content":"`: 4}, false},
		{"reasoning", options.Options{TokensPerChunk: mustLength(t, "4"), ReasoningTokens: 5}, `"max_tokens":10`,
			map[string]int{`"reasoning_content":"`: 2, `"content":"`: 3}, false},
		{"empty", options.Options{Faults: mustFaults(t, "empty:output")}, `"max_tokens":10`, map[string]int{`"content":"`: 1, `"finish_reason":"stop"`: 1}, false},
		{"close", options.Options{Faults: mustFaults(t, "close:after_tokens:3")}, `"max_tokens":10`, map[string]int{`"content":"`: 4, "[DONE]": 0}, true},
		{"error", options.Options{Faults: mustFaults(t, "stream_error:after_tokens:2")}, `"max_tokens":10`, map[string]int{`"content":"`: 3, `"error":`: 1}, false},
		{"comments", options.Options{Comments: 400 * time.Microsecond}, `"max_tokens":3`, map[string]int{": keep-alive": 2 + 2*2}, false},
		{"early role", options.Options{RoleChunk: options.RoleEarly}, `"max_tokens":3`, map[string]int{`"role":`: 1, `"content":"`: 4}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.opt.Accelerator = tiny(t)
				r := newRig(t, tt.opt)
				lines, err := r.stream(chatPath, `{"messages":[{"role":"user","content":"hello"}],"stream":true,`+tt.body+`}`)
				if (err != nil) != tt.err {
					t.Errorf("error %v", err)
				}
				var all strings.Builder
				for _, l := range lines {
					all.WriteString(l.text + "\n")
				}
				for text, n := range tt.want {
					if got := strings.Count(all.String(), text); got != n {
						t.Errorf("%s comes %d times, want %d:\n%s", text, got, n, all.String())
					}
				}
			})
		})
	}
}

// TestAcceleratorShutdown: Close ends requests that wait for tokens.
func TestAcceleratorShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Accelerator: tiny(t)})
		var wg sync.WaitGroup
		wg.Go(func() { r.post(completionPath, completion(1, 32, 1000, "")) })
		time.Sleep(5 * time.Millisecond)
		r.server.Stop()
		wg.Wait()
		if record := r.lastTruth(); record.Outcome != api.OutcomeShutdown {
			t.Errorf("outcome %s", record.Outcome)
		}
	})
}

func TestAcceleratorOptions(t *testing.T) {
	small := tiny(t)
	small.Blocks, small.MaxSequences, small.Base = 4, 0, math.NaN()
	for name, tt := range map[string]struct {
		opt  options.Options
		want string
	}{
		"ttft":   {options.Options{Accelerator: tiny(t), TTFT: random.ConstDelay(1)}, "ttft cannot be combined with an accelerator"},
		"fast":   {options.Options{Accelerator: tiny(t), Fast: true}, "fast cannot be combined with an accelerator"},
		"length": {options.Options{Accelerator: tiny(t), MaxModelLen: 20_000}, "max-model-len is 20000, but the cache has room for 16384 tokens (1024 blocks of 16)"},
		"params": {options.Options{Accelerator: small}, "max sequences is 0, want ≥ 1"},
		"nan":    {options.Options{Accelerator: small}, "step base is NaN, want a finite number ≥ 0"},
	} {
		if _, err := New(tt.opt); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: New = %v, want %q", name, err, tt.want)
		}
	}
	if _, err := options.Preset("b200"); err == nil || !strings.Contains(err.Error(), `preset is "b200", want one of h100-8b, h100x8-70b, l4-8b, tiny`) {
		t.Errorf("Preset = %v", err)
	}
}

// TestAcceleratorCurve: through the server, closed loops get the latencies
// of the reference simulation.
func TestAcceleratorCurve(t *testing.T) {
	for _, tt := range []struct {
		clients   int
		ttft, itl float64 // ms
	}{{1, 1.7, 1.01}, {8, 5.3, 1.09}, {16, 7.6, 1.25}, {24, 26.5, 1.32}} {
		t.Run(fmt.Sprint(tt.clients), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, options.Options{Accelerator: tiny(t)})
				const each = 30
				var wg sync.WaitGroup
				for c := range tt.clients {
					wg.Go(func() {
						for i := range each {
							lines, err := r.stream(completionPath, completion(c*each+i, 128, 32, `,"stream":true`))
							if err != nil || len(contentTimes(lines)) != 32 {
								t.Errorf("stream: %d lines, %v", len(lines), err)
							}
						}
					})
				}
				wg.Wait()
				synctest.Wait()
				truths := r.server.Truth()
				counted := truths[len(truths)/5 : len(truths)*4/5] // all clients are active
				var ttft, itl float64
				for _, record := range counted {
					ttft += *record.TTFTMs / float64(len(counted))
					itl += *record.ITLMs / float64(len(counted))
				}
				// The first step is shared by random clients, which stay synchronised from then on.
				if math.Abs(ttft-tt.ttft) > 0.15*tt.ttft || math.Abs(itl-tt.itl) > 0.03*tt.itl {
					t.Errorf("TTFT %.4g ms, ITL %.4g ms, want %.4g and %.4g", ttft, itl, tt.ttft, tt.itl)
				}
			})
		})
	}
}

package mock

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/options"
)

// TestSleep checks that a sleeping engine answers no requests, over the front or
// net/http, and has lost its cache when it wakes up.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Accelerator: tiny(t)})
		checkSleep(t, r)
		body := completion(1, 40, 1, "")
		r.post(completionPath, body)
		r.post("/sleep", "")
		r.post("/wake_up", "")
		if a := r.post(completionPath, body); !strings.Contains(a.body, `"cached_tokens":0`) {
			t.Errorf("after sleep: %s, want nothing cached", a.body)
		}
	})
}

func TestSleepOfFront(t *testing.T) { checkSleep(t, newTCPRig(t, options.Options{Fast: true})) }

func checkSleep(t *testing.T, r *rig) {
	t.Helper()
	ask := func() int { return r.post(completionPath, `{"prompt":"x","max_tokens":1}`).status }
	if got := ask(); got != 200 {
		t.Errorf("awake: status %d", got)
	}
	if a := r.post("/sleep?level=2", ""); a.status != 200 {
		t.Errorf("sleep: %+v", a)
	}
	if got := ask(); got != 503 {
		t.Errorf("asleep: status %d, want 503", got)
	}
	if a := r.get("/is_sleeping"); a.body != `{"is_sleeping":true}` {
		t.Errorf("is_sleeping: %s", a.body)
	}
	if a := r.get("/health"); a.status != 200 {
		t.Errorf("health of a sleeping server: %d", a.status)
	}
	if !strings.Contains(r.get("/metrics").body, `vllm:engine_sleep_state{engine="0",model_name="mock-model"} 1`) {
		t.Error("the metrics do not say that it sleeps")
	}
	if a := r.post("/sleep?level=3", ""); a.status != 400 || !strings.Contains(a.body, `level is \"3\", want 1 or 2`) {
		t.Errorf("level 3: %+v", a)
	}
	r.post("/wake_up", "")
	if got := ask(); got != 200 {
		t.Errorf("awake again: status %d", got)
	}
	if a := r.get("/is_sleeping"); a.body != `{"is_sleeping":false}` {
		t.Errorf("is_sleeping: %s", a.body)
	}
}

// TestState checks that the state reflects the requests of clients.
func TestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Accelerator: tiny(t), ServedModels: []string{"m"}})
		body := completion(1, 40, 2, "")
		r.post(completionPath, body)
		r.post(completionPath, body)
		if a := r.post("/flush_cache", ""); a.body != "Cache flushed.\n" {
			t.Errorf("flush_cache: %+v", a)
		}
		r.post("/start_profile", "")
		r.post("/start_profile", "")
		if a := r.post("/reset_prefix_cache", ""); a.status != 200 || a.body != "" {
			t.Errorf("reset_prefix_cache: %+v", a)
		}
		r.post(completionPath, body)
		go r.post(completionPath, completion(2, 40, 1000, ""))
		time.Sleep(10 * time.Millisecond)
		if a := r.get("/load"); a.body != `{"server_load":1}` {
			t.Errorf("load: %s", a.body)
		}
		var got State
		if err := json.Unmarshal([]byte(r.get("/mock/state").body), &got); err != nil {
			t.Fatal(err)
		}
		want := State{
			Requests: 4, Running: 1, MaxConcurrency: 1, Profiling: true, Profiles: 1, CacheResets: 2,
			Accelerator: &AcceleratorState{Blocks: 1024, BlocksUsed: 4, CacheUsage: 4.0 / 1024, PrefixQueries: 160, PrefixHits: 32, PrefixHitRatio: 0.2, Steps: got.Accelerator.Steps},
		}
		if g := got.GPUs; len(g) != 1 || g[0].Power != 70 || !near(g[0].Energy, 70*r.server.since().Seconds(), 1e-6) {
			t.Errorf("GPUs %+v", g)
		}
		got.GPUs = nil
		if diff := cmp.Diff(want, got); diff != "" || got.Accelerator.Steps < 10 {
			t.Errorf("state after %d steps (-want +got):\n%s", got.Accelerator.Steps, diff)
		}
		r.post("/stop_profile", "")
		if s := r.server.State(); s.Profiling || s.Profiles != 1 {
			t.Errorf("after stop_profile: %+v", s)
		}
		if a := r.get("/server_info"); !strings.Contains(a.body, `"max_num_seqs":16`) || !strings.Contains(a.body, `"model":"m"`) {
			t.Errorf("server_info: %s", a.body)
		}
		r.server.Stop()
	})
}

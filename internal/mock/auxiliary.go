package mock

import (
	"fmt"
	"net/http"
	"strconv"

	"aiperfd/internal/mock/api"
)

// State is the response to GET /mock/state.
type State struct {
	Requests       int64 `json:"requests"` // inference requests since the start
	Running        int   `json:"running"`
	Waiting        int   `json:"waiting"`
	MaxConcurrency int64 `json:"max_concurrency"`
	SleepLevel     int64 `json:"sleep_level"` // 0 = awake
	Profiling      bool  `json:"profiling"`
	Profiles       int64 `json:"profiles"`            // started
	CacheResets    int64 `json:"prefix_cache_resets"` // requested by clients

	Accelerator *AcceleratorState `json:"accelerator"` // null without one
}

// AcceleratorState is the part of [State] about the accelerator.
type AcceleratorState struct {
	Blocks         int     `json:"blocks"`
	BlocksUsed     int     `json:"blocks_used"`
	CacheUsage     float64 `json:"kv_cache_usage"` // 0–1
	PrefixQueries  int64   `json:"prefix_cache_queries"`
	PrefixHits     int64   `json:"prefix_cache_hits"`
	PrefixHitRatio float64 `json:"prefix_cache_hit_rate"` // 0–1
	Preemptions    int64   `json:"preemptions"`
	Steps          int64   `json:"steps"`
}

// State returns the current state of the server.
func (s *Server) State() State {
	stats := s.engineStats()
	out := State{
		Requests: s.seq.Load(), Running: stats.Running, Waiting: stats.Waiting, MaxConcurrency: s.peak.Load(),
		SleepLevel: s.asleep.Load(), Profiling: s.profiling.Load(), Profiles: s.profiles.Load(),
		CacheResets: s.cacheResets.Load(),
	}
	if s.accelerator == nil {
		return out
	}
	a := &AcceleratorState{
		Blocks: stats.Blocks, BlocksUsed: stats.BlocksUsed, CacheUsage: float64(stats.BlocksUsed) / float64(stats.Blocks),
		PrefixQueries: stats.PrefixQueries, PrefixHits: stats.PrefixHits,
		Preemptions: stats.Preemptions, Steps: stats.Steps,
	}
	if stats.PrefixQueries > 0 {
		a.PrefixHitRatio = float64(stats.PrefixHits) / float64(stats.PrefixQueries)
	}
	out.Accelerator = a
	return out
}

func serveState(s *Server, w http.ResponseWriter, _ *http.Request) { respondLine(w, s.State()) }

// serveLoad responds as vLLM does with --enable-server-load-tracking.
func serveLoad(s *Server, w http.ResponseWriter, _ *http.Request) {
	api.OK(w, map[string]int64{"server_load": s.running.Load()})
}

// serveServerInfo responds with the configuration that is relevant to clients.
func serveServerInfo(s *Server, w http.ResponseWriter, _ *http.Request) {
	config := map[string]any{
		"model": s.model.Models()[0], "served_model_name": s.model.Models(), "max_model_len": s.opt.MaxModelLen,
	}
	if p := s.opt.Accelerator; p != nil {
		config["max_num_seqs"], config["max_num_batched_tokens"] = p.MaxSequences, p.MaxBatched
		config["block_size"], config["num_gpu_blocks"], config["enable_prefix_caching"] = p.BlockSize, p.Blocks, p.PrefixCache
	}
	respondLine(w, map[string]any{"vllm_config": config})
}

// serveFlushCache forgets cached prefixes under SGLang's name, with SGLang's response.
func serveFlushCache(s *Server, w http.ResponseWriter, _ *http.Request) {
	forgetPrefixes(s)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("Cache flushed.\n")) // the client has disconnected
}

// forgetPrefixes removes cached prefixes; without an accelerator there are none.
func forgetPrefixes(s *Server) {
	s.cacheResets.Add(1)
	if s.accelerator != nil {
		s.accelerator.resetPrefixCache()
	}
}

func (s *Server) startProfile() {
	if !s.profiling.Swap(true) {
		s.profiles.Add(1)
	}
}

// serveSleep puts the engine to sleep: its cache is lost, and inference requests are
// answered with 503 until it wakes up. Requests in service continue.
func serveSleep(s *Server, w http.ResponseWriter, r *http.Request) {
	level := int64(1)
	if text := r.URL.Query().Get("level"); text != "" {
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v < 1 || v > 2 {
			api.Refuse(w, api.BadRequest("level", fmt.Sprintf("level is %q, want 1 or 2", text)))
			return
		}
		level = v
	}
	s.asleep.Store(level)
	forgetPrefixes(s)
	w.WriteHeader(http.StatusOK)
}

func serveIsSleeping(s *Server, w http.ResponseWriter, _ *http.Request) {
	api.OK(w, map[string]bool{"is_sleeping": s.asleep.Load() > 0})
}

func serveGPUMetrics(s *Server, w http.ResponseWriter, r *http.Request) { s.gpuHandler.ServeHTTP(w, r) }

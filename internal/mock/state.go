package mock

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

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
	GPUs        []GPUState        `json:"gpus"`
}

// GPUState is the part of [State] about one card: the truth, whatever /dcgm/metrics shows.
type GPUState struct {
	Power  float64 `json:"power_watts"`
	Energy float64 `json:"energy_joules"` // since the start of the server
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
		CacheResets: s.cacheResets.Load(), GPUs: []GPUState{},
	}
	cards, _ := s.gpus.look(s.now())
	for i := range cards {
		out.GPUs = append(out.GPUs, GPUState{cards[i].power, cards[i].energy})
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

// modelCard is the object of a model in vLLM's form.
type modelCard struct {
	ID          string  `json:"id"`
	Object      string  `json:"object"`
	Created     int64   `json:"created"`
	OwnedBy     string  `json:"owned_by"`
	Root        string  `json:"root"`
	Parent      *string `json:"parent"` // always null
	MaxModelLen int     `json:"max_model_len"`
	Permission  []int   `json:"permission"` // always empty
}

func newModelCard(s *Server, name string) modelCard {
	return modelCard{
		ID: name, Object: "model", Created: s.startNs / int64(time.Second), OwnedBy: "aiperfd-mock", Root: name,
		MaxModelLen: s.opt.MaxModelLen, Permission: []int{},
	}
}

// serveModels responds with the list of models in vLLM's form.
func serveModels(s *Server, w http.ResponseWriter, _ *http.Request) {
	list := struct {
		Object  string      `json:"object"`
		Data    []modelCard `json:"data"`
		HasMore bool        `json:"has_more,omitempty"` // Anthropic's member: every name is served
	}{Object: "list", HasMore: len(s.opt.ServedModels) == 0}
	for _, name := range s.model.Models() {
		list.Data = append(list.Data, newModelCard(s, name))
	}
	api.OK(w, list)
}

// serveModel handles GET /v1/models/NAME; names may contain slashes.
func serveModel(s *Server, w http.ResponseWriter, r *http.Request) {
	_, name, _ := strings.Cut(r.URL.Path, "/v1/models/")
	if !s.model.Serves(name) {
		api.Refuse(w, api.NoModel(name))
		return
	}
	api.OK(w, newModelCard(s, name))
}

func serveVersion(_ *Server, w http.ResponseWriter, _ *http.Request) {
	api.OK(w, map[string]string{"version": api.Version})
}

// respondLine is [api.OK] for what people read: with a line end.
func respondLine(w http.ResponseWriter, v any) {
	api.Respond(w, http.StatusOK, append(api.AppendJSON(nil, v), '\n'))
}

// defaultRequestsLimit is the default number of records that GET /mock/requests returns.
const defaultRequestsLimit = 100

// Summary is the response to GET /mock/summary. Counts by path and outcome, tokens and
// distributions cover the requests that [Server.Truth] returns.
type Summary struct {
	Requests       int64          `json:"requests"` // inference requests since the start
	Running        int64          `json:"running"`
	MaxConcurrency int64          `json:"max_concurrency"`
	Finished       int            `json:"finished"` // truths that the rest covers
	ByPath         map[string]int `json:"by_path"`
	ByOutcome      map[string]int `json:"by_outcome"`
	PromptTokens   int            `json:"prompt_tokens"`
	OutputTokens   int            `json:"output_tokens"`
	TTFTMs         Spread         `json:"ttft_ms"` // of streamed requests that are ok
	ITLMs          Spread         `json:"itl_ms"`  // of the same, one mean each
	LatencyMs      Spread         `json:"latency_ms"`
}

// Summary summarises the requests so far.
func (s *Server) Summary() Summary {
	truths := s.Truth()
	out := Summary{
		Requests: s.seq.Load(), Running: s.running.Load(), MaxConcurrency: s.peak.Load(),
		Finished: len(truths), ByPath: map[string]int{}, ByOutcome: map[string]int{},
	}
	var ttft, itl, latency []float64
	for i := range truths {
		t := &truths[i]
		out.ByPath[t.Path]++
		out.ByOutcome[t.Outcome]++
		out.PromptTokens += t.PromptTokens
		out.OutputTokens += t.OutputTokens
		if t.Outcome != api.OutcomeOK {
			continue
		}
		latency = append(latency, t.LatencyMs)
		if t.TTFTMs != nil {
			ttft = append(ttft, *t.TTFTMs)
		}
		if t.ITLMs != nil {
			itl = append(itl, *t.ITLMs)
		}
	}
	out.TTFTMs, out.ITLMs, out.LatencyMs = spreadOf(ttft), spreadOf(itl), spreadOf(latency)
	return out
}

func serveSummary(s *Server, w http.ResponseWriter, _ *http.Request) {
	respondLine(w, s.Summary())
}

// serveRequests responds with the last records, oldest first, as lines of JSON.
func serveRequests(s *Server, w http.ResponseWriter, r *http.Request) {
	limit := defaultRequestsLimit
	if text := strings.TrimSpace(r.URL.Query().Get("limit")); text != "" {
		v, err := strconv.Atoi(text)
		if err != nil || v < 1 {
			api.Refuse(w, api.BadRequest("limit", fmt.Sprintf("limit is %q, want a whole number ≥ 1", text)))
			return
		}
		limit = v
	}
	var lines []byte
	for _, t := range s.truths.last(limit) {
		lines = appendTruth(lines, &t)
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	_, _ = w.Write(lines)
}

// Spread describes a set of numbers. All members are 0 when Count is.
// Percentiles are nearest-rank: members of the set.
type Spread struct {
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// spreadOf sorts values in place.
func spreadOf(values []float64) Spread {
	n := len(values)
	if n == 0 {
		return Spread{}
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	rank := func(percent int) float64 { return values[(n*percent+99)/100-1] }
	return Spread{
		Count: n, Mean: sum / float64(n), Min: values[0], Max: values[n-1],
		P50: rank(50), P90: rank(90), P95: rank(95), P99: rank(99),
	}
}

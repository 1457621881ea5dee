package mock

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/mock/api"
)

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

package mock

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"aiperfd/internal/mock/truth"
	"aiperfd/internal/mock/wire"
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
	TTFTMs         truth.Spread   `json:"ttft_ms"` // of streamed requests that are ok
	ITLMs          truth.Spread   `json:"itl_ms"`  // of the same, one mean each
	LatencyMs      truth.Spread   `json:"latency_ms"`
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
		if t.Outcome != truth.OutcomeOK {
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
	out.TTFTMs, out.ITLMs, out.LatencyMs = truth.SpreadOf(ttft), truth.SpreadOf(itl), truth.SpreadOf(latency)
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
			wire.Refuse(w, wire.BadRequest("limit", fmt.Sprintf("limit is %q, want a whole number ≥ 1", text)))
			return
		}
		limit = v
	}
	var lines []byte
	for _, t := range s.truths.Last(limit) {
		lines = truth.AppendLine(lines, &t)
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	_, _ = w.Write(lines)
}

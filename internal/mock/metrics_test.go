package mock

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{ServedModels: []string{"m"}, Faults: mustFaults(t, "close:after_tokens:1,requests=3")})
		for range 3 {
			if _, err := r.stream(completionPath, `{"prompt":"a b","max_tokens":3,"stream":true}`); err != nil {
				t.Logf("stream: %v", err) // the third
			}
		}
		synctest.Wait()
		want := `# HELP vllm:generation_tokens_total Number of generation tokens processed.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 7
# HELP vllm:num_requests_running Number of requests in service.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 0
# HELP vllm:num_requests_waiting Number of requests that are held before service.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 0
# HELP vllm:prompt_tokens_total Number of prefill tokens processed.
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 6
# HELP vllm:request_success_total Count of finished requests by reason.
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="abort",model_name="m"} 0
vllm:request_success_total{engine="0",finished_reason="error",model_name="m"} 1
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 2
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 0
`
		names := []string{
			"vllm:generation_tokens_total", "vllm:num_requests_running", "vllm:num_requests_waiting",
			"vllm:prompt_tokens_total", "vllm:request_success_total",
		}
		if err := testutil.GatherAndCompare(r.server.metrics().registry, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
		text := r.get("/metrics").body
		for _, line := range []string{
			`vllm:time_to_first_token_seconds_bucket{engine="0",model_name="m",le="0.01"} 0`,
			`vllm:time_to_first_token_seconds_bucket{engine="0",model_name="m",le="0.02"} 3`,
			`vllm:inter_token_latency_seconds_sum{engine="0",model_name="m"} 0.02`,
			`vllm:inter_token_latency_seconds_count{engine="0",model_name="m"} 4`,
			`vllm:e2e_request_latency_seconds_sum{engine="0",model_name="m"} 0.06`,
			`vllm:e2e_request_latency_seconds_count{engine="0",model_name="m"} 2`,
		} {
			if !strings.Contains(text, line+"\n") {
				t.Errorf("/metrics lacks %s", line)
			}
		}
		problems, err := testutil.GatherAndLint(r.server.metrics().registry)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			ours := p.Text != "metric names should not contain ':'" && // vLLM's names do
				p.Metric != "vllm:iteration_tokens_total" // a histogram in spite of its name
			if ours {
				t.Errorf("%s: %s", p.Metric, p.Text)
			}
		}
	})
}

func TestMetricsGaugesDuringRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Faults: mustFaults(t, "slow_headers:1s,requests=2")})
		for range 3 {
			go r.post(completionPath, `{"prompt":"x","max_tokens":500,"model":"bad `+"\xff"+`name"}`)
			synctest.Wait()
		}
		text := r.get("/metrics").body
		for _, line := range []string{
			`vllm:num_requests_running{engine="0",model_name="mock-model"} 2`,
			`vllm:num_requests_waiting{engine="0",model_name="mock-model"} 1`,
			`vllm:prompt_tokens_total{engine="0",model_name="bad ` + "\uFFFD" + `name"} 2`,
		} {
			if !strings.Contains(text, line+"\n") {
				t.Errorf("/metrics lacks %s", line)
			}
		}
		time.Sleep(time.Minute)
	})
}

func TestModelLabelsAreBounded(t *testing.T) {
	s, err := New(options.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 3 * maxModelLabels {
		s.metrics().forModel(fmt.Sprintf("model-%d", i)).promptTokens.Inc()
	}
	if n := testutil.CollectAndCount(s.metrics().prompt); n != maxModelLabels+1 {
		t.Errorf("%d model names, want %d and %q", n, maxModelLabels, otherModel)
	}
	if got := testutil.ToFloat64(s.metrics().prompt.WithLabelValues(otherModel, "0")); got != 2*maxModelLabels+1 {
		t.Errorf("%q counts %v", otherModel, got)
	}
}

func TestSummaryAndRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Faults: mustFaults(t, "status:500,requests=3")})
		for range 3 {
			go r.stream(chatPath, `{"messages":[{"role":"user","content":"x"}],"max_tokens":11,"stream":true}`)
			synctest.Wait()
		}
		time.Sleep(time.Second)
		r.post(completionPath, `{"prompt":"x","max_tokens":1}`)
		var got Summary
		if err := json.Unmarshal([]byte(r.get("/mock/summary").body), &got); err != nil {
			t.Fatal(err)
		}
		same := func(n int, v float64) Spread {
			return Spread{Count: n, Mean: v, Min: v, P50: v, P90: v, P95: v, P99: v, Max: v}
		}
		want := Summary{
			Requests: 4, MaxConcurrency: 3, Finished: 4,
			ByPath:       map[string]int{chatPath: 3, completionPath: 1},
			ByOutcome:    map[string]int{"ok": 3, "fault:status:500,requests=3": 1},
			PromptTokens: 4, OutputTokens: 23,
			TTFTMs: same(2, 20), ITLMs: same(2, 5),
			LatencyMs: Spread{Count: 3, Mean: 160.0 / 3, Min: 20, P50: 70, P90: 70, P95: 70, P99: 70, Max: 70},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("summary (-want +got):\n%s", diff)
		}
		lines := strings.Split(strings.TrimSpace(r.get("/mock/requests?limit=2").body), "\n")
		var last api.Truth
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) != 2 || last.Seq != 4 {
			t.Errorf("%d lines, the last of request %d, error %v; want 2, 4", len(lines), last.Seq, err)
		}
		if bad := r.get("/mock/requests?limit=x"); bad.status != 400 {
			t.Errorf("limit=x: status %d, want 400", bad.status)
		}
	})
}

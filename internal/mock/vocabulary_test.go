package mock

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/options"
)

// The pages of SGLang and TensorRT-LLM have their names, and count when a request ends.
func TestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := batch.Params{Base: 10, MaxSequences: 1, MaxBatched: 64, Blocks: 100, BlockSize: 4}
		r := newRig(t, options.Options{Accelerator: &p, ServedModels: []string{"m"}, Metrics: options.MetricsTensorRTLLM})
		go r.post(completionPath, `{"prompt":"a b c","max_tokens":100}`)
		go func() {
			time.Sleep(5 * time.Millisecond)
			r.post(completionPath, `{"prompt":"a b","max_tokens":2}`)
		}()
		time.Sleep(205 * time.Millisecond)
		has := func(path string, lines ...string) {
			t.Helper()
			text := r.get(path).body
			for _, line := range lines {
				if !strings.Contains(text, line+"\n") {
					t.Errorf("%s lacks %s:\n%s", path, line, text)
				}
			}
		}
		const sglang = `{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"}`
		const trtllm = `{engine_type="trtllm",model_name="m"}`
		has("/sglang/metrics", "sglang:num_running_reqs"+sglang+" 1", "sglang:max_total_num_tokens"+sglang+" 400",
			"sglang:num_queue_reqs"+sglang+" 0", // the gauges are of the first step, when nobody waited
			`sglang:prompt_tokens_total{engine_type="unified",model_name="m"} 0`)
		has("/prometheus/metrics", "trtllm_num_requests_running"+trtllm+" 1", "trtllm_num_requests_waiting"+trtllm+" 1",
			"trtllm_kv_cache_max_blocks"+trtllm+" 100", "trtllm_kv_cache_tokens_per_block"+trtllm+" 4")
		var iterations []iteration
		if err := json.Unmarshal([]byte(r.get("/metrics").body), &iterations); err != nil || len(iterations) != 1 ||
			iterations[0].Active != 1 || iterations[0].Queued != 1 || iterations[0].Cache.Max != 100 {
			t.Errorf("iterations %+v, %v", iterations, err)
		}
		time.Sleep(300 * time.Millisecond)
		has("/sglang/metrics", "sglang:num_queue_reqs"+sglang+" 1") // step 40 has set them
		time.Sleep(time.Second)
		has("/sglang/metrics", `sglang:prompt_tokens_total{engine_type="unified",model_name="m"} 5`,
			`sglang:generation_tokens_total{engine_type="unified",model_name="m"} 102`,
			`sglang:num_requests_total{engine_type="unified",model_name="m"} 2`,
			`sglang:num_aborted_requests_total{engine_type="unified",model_name="m"} 0`,
			"sglang:num_running_reqs"+sglang+" 1") // an idle scheduler sets its gauges every 30 s
		has("/trtllm/metrics", `trtllm_request_success_total{engine_type="trtllm",finished_reason="length",model_name="m"} 2`,
			`trtllm_request_queue_time_seconds_count`+trtllm+" 2", "trtllm_num_requests_running"+trtllm+" 0")
		time.Sleep(30 * time.Second)
		has("/sglang/metrics", "sglang:num_running_reqs"+sglang+" 0")
	})
}

// After the reset the metrics count from zero, once.
func TestMetricsReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := batch.Params{Base: 10, MaxSequences: 1, MaxBatched: 64, Blocks: 100, BlockSize: 4, PrefixCache: true}
		r := newRig(t, options.Options{Accelerator: &p, ServedModels: []string{"m"}, MetricsReset: time.Minute})
		post := func() { r.post(completionPath, `{"prompt":"a b c d e f g h","max_tokens":2}`) }
		post()
		time.Sleep(time.Minute)
		const labels = `{engine="0",model_name="m"}`
		for _, want := range []string{"0", "8", "16"} {
			text := r.get("/metrics").body
			for _, name := range []string{"vllm:prompt_tokens_total", "vllm:prefix_cache_queries_total"} {
				if line := name + labels + " " + want + "\n"; !strings.Contains(text, line) {
					t.Errorf("the page lacks %s", line)
				}
			}
			post()
		}
		if page := r.get("/prometheus/metrics"); page.status != 404 {
			t.Errorf("vLLM has a page of TensorRT-LLM: %d", page.status)
		}
	})
}

// Nothing but a valid header of a sampled trace has a parent.
func TestSampledParent(t *testing.T) {
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for header, want := range map[string]bool{
		"": false, "00-" + trace + "-" + parent + "-01": true, "00-" + trace + "-" + parent + "-00": false,
		"01-" + trace + "-" + parent + "-01": false, "00-" + trace + "x-" + parent + "-01": false,
		"00-" + strings.Repeat("z", 32) + "-" + parent + "-01": false,
	} {
		if id, _, ok := sampledParent(header); ok != want || ok && len(id) != 16 {
			t.Errorf("sampledParent(%q) = %x, %v", header, id, ok)
		}
	}
}

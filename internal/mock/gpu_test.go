package mock

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// gpuValue reads one metric of one card.
func (r *rig) gpuValue(name string, card int) float64 {
	r.t.Helper()
	text := r.get("/dcgm/metrics").body
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "DCGM_FI_"+name+"{") || !strings.Contains(line, fmt.Sprintf(`gpu="%d"`, card)) {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 64)
		if err != nil {
			r.t.Fatal(err)
		}
		return v
	}
	r.t.Fatalf("no %s of card %d in\n%s", name, card, text)
	return 0
}

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

func TestGPUIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{GPUs: 2, GPU: "l4", Accelerator: tiny(t)})
		time.Sleep(10*time.Second + 50*time.Millisecond)
		for name, want := range map[string]float64{
			"DEV_GPU_UTIL": 5, "DEV_POWER_USAGE": 16, "DEV_TOTAL_ENERGY_CONSUMPTION": 16 * 10_050, "DEV_GPU_TEMP": 35,
			"DEV_SM_CLOCK": 795, "DEV_MEM_CLOCK": 6251, "DEV_FB_TOTAL": 24 * 1024, "DEV_FB_USED": 4915, "DEV_FB_FREE": 24*1024 - 4915 - 512,
			"DEV_XID_ERRORS": 0, "DEV_POWER_MGMT_LIMIT": 72, "DEV_POWER_VIOLATION": 0,
		} {
			if got := r.gpuValue(name, 1); !near(got, want, 1e-6*want) {
				t.Errorf("%s = %v, want %v", name, got, want)
			}
		}
	})
}

// TestGPUBusy: under load the cards draw power, and energy is its integral.
func TestGPUBusy(t *testing.T) {
	for _, tt := range []struct {
		name string
		opt  options.Options
	}{{"accelerator", options.Options{Accelerator: tiny(t)}}, {"independent", options.Options{ITL: random.ConstDelay(time.Millisecond)}}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, tt.opt)
				var wg sync.WaitGroup
				for i := range 16 {
					wg.Go(func() {
						for begin := time.Now(); time.Since(begin) < 5*time.Second; {
							r.stream(completionPath, completion(i, 16, 500, `,"stream":true`))
						}
					})
				}
				energy := 0.0 // J
				for range 50 {
					time.Sleep(100 * time.Millisecond)
					energy += r.gpuValue("DEV_POWER_USAGE", 0) / 10
				}
				if util, power := r.gpuValue("DEV_GPU_UTIL", 0), r.gpuValue("DEV_POWER_USAGE", 0); util < 90 || power < 600 || power > 700 {
					t.Errorf("under load: %v %% and %v W", util, power)
				}
				if got := r.gpuValue("DEV_TOTAL_ENERGY_CONSUMPTION", 0) / 1000; !near(got, energy, 0.02*energy) {
					t.Errorf("energy %v J, the integral of power is %v J", got, energy)
				}
				wg.Wait()
				r.gpuValue("DEV_GPU_UTIL", 0) // ends the interval over which independent tokens are spread
				time.Sleep(6 * time.Second)
				if util, power := r.gpuValue("DEV_GPU_UTIL", 0), r.gpuValue("DEV_POWER_USAGE", 0); util != 5 || !near(power, 70, 1) {
					t.Errorf("afterwards: %v %% and %v W", util, power)
				}
			})
		})
	}
}

// TestGPURefresh: the exporter shows what it has collected last, a little later, however often it is read; the
// state of the server has the truth.
func TestGPURefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{GPU: "l4", GPURefresh: 2 * time.Second, GPULag: 300 * time.Millisecond, Accelerator: tiny(t)})
		for _, tt := range []struct {
			at, shown time.Duration // since the start
		}{
			{100 * time.Millisecond, 0}, {2250 * time.Millisecond, 0}, {2300 * time.Millisecond, 2 * time.Second},
			{4200 * time.Millisecond, 2 * time.Second}, {4350 * time.Millisecond, 4 * time.Second}, {31 * time.Second, 30 * time.Second},
		} {
			time.Sleep(tt.at - r.server.since())
			if got, want := r.gpuValue("DEV_TOTAL_ENERGY_CONSUMPTION", 0), 16*float64(tt.shown.Milliseconds()); !near(got, want, 1e-6*want) {
				t.Errorf("at %v: %v mJ, want %v", tt.at, got, want)
			}
			if got, want := r.server.State().GPUs[0].Energy, 16*tt.at.Seconds(); !near(got, want, 1e-6*want) {
				t.Errorf("at %v the truth is %v J, want %v", tt.at, got, want)
			}
		}
	})
}

func TestGPUOptions(t *testing.T) {
	for want, opt := range map[string]options.Options{
		`gpu is "tpu", want one of h100-sxm, h100-pcie`:  {GPU: "tpu"},
		"gpus is 65, want at most 64":                    {GPUs: 65},
		"gpus is -1, want ≥ 0":                           {GPUs: -1},
		"gpu-refresh is 250ms, want a multiple of 100ms": {GPURefresh: 250 * time.Millisecond},
		"gpu-lag is 2s, want at most gpu-refresh":        {GPULag: 2 * time.Second, GPURefresh: time.Second},
	} {
		if _, err := New(opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, want %q", err, want)
		}
	}
}

// TestMetricsOfAccelerator checks that the metrics of queue, cache and phases agree with
// the requests.
func TestMetricsOfAccelerator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := tiny(t)
		p.MaxSequences, p.Blocks, p.Base, p.Decode, p.Context, p.Prefill, p.Frontend = 1, 100, 100, 0, 0, 0, 0
		r := newRig(t, options.Options{Accelerator: p, ServedModels: []string{"m"}, OldMetricNames: true})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { r.post(completionPath, completion(1, 64, 5, "")) })
			time.Sleep(40 * time.Millisecond)
		}
		has := func(lines ...string) {
			t.Helper()
			text := r.get("/metrics").body
			for _, line := range lines {
				if !strings.Contains(text, line+"\n") {
					t.Errorf("/metrics lacks %s", line)
				}
			}
		}
		const labels = `{engine="0",model_name="m"}`
		has("vllm:num_requests_running"+labels+" 1", "vllm:num_requests_waiting"+labels+" 1",
			"vllm:kv_cache_usage_perc"+labels+" 0.04", "vllm:gpu_cache_usage_perc"+labels+" 0.04",
			`vllm:cache_config_info{block_size="16",enable_prefix_caching="True",engine="0",num_gpu_blocks="100"} 1`)
		wg.Wait()
		synctest.Wait()
		has("vllm:num_requests_running"+labels+" 0", "vllm:num_requests_waiting"+labels+" 0", "vllm:kv_cache_usage_perc"+labels+" 0",
			"vllm:prefix_cache_queries_total"+labels+" 128", "vllm:prefix_cache_hits_total"+labels+" 48",
			"vllm:num_preemptions_total"+labels+" 0",
			"vllm:prompt_tokens_total"+labels+" 128", "vllm:generation_tokens_total"+labels+" 10",
			// 64, then 16 that were not cached, and four decode steps each
			"vllm:iteration_tokens_total_sum"+labels+" 88", "vllm:iteration_tokens_total_count"+labels+" 10",
			"vllm:request_queue_time_seconds_sum"+labels+" 0.46", "vllm:request_queue_time_seconds_count"+labels+" 2",
			"vllm:request_prefill_time_seconds_sum"+labels+" 0.2", "vllm:request_decode_time_seconds_sum"+labels+" 0.8",
			"vllm:request_inference_time_seconds_sum"+labels+" 1", "vllm:e2e_request_latency_seconds_sum"+labels+" 1.46",
			"vllm:request_time_per_output_token_seconds_sum"+labels+" 0.2",
			"vllm:request_prompt_tokens_sum"+labels+" 128", "vllm:request_generation_tokens_sum"+labels+" 10",
			"vllm:request_max_num_generation_tokens_sum"+labels+" 10", "vllm:request_params_n_sum"+labels+" 2",
			"vllm:request_params_max_tokens_sum"+labels+" 10",
			`vllm:request_params_max_tokens_bucket{engine="0",model_name="m",le="1000"} 2`)
	})
}

package flags

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
)

// base is the command line of AIPerf's measured resolutions.
var base = []string{"--model", "test-model", "--url", "http://localhost:9", "--tokenizer", "builtin", "--ui", "none"}

func flagsDocument(t testing.TB, env map[string]string, argv ...string) (*config.Document, []problem.Problem, error) {
	t.Helper()
	f, _ := parseFlags(append(slices.Clone(base), argv...), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	return f.Document()
}

func mustFlags(t testing.TB, argv ...string) *config.Document {
	t.Helper()
	d, _, err := flagsDocument(t, nil, argv...)
	if err != nil {
		t.Fatalf("%q: %v", argv, err)
	}
	return d
}

// phaseText describes the load of a phase.
func phaseText(ph config.Phase) string {
	var out []string
	for _, m := range []struct {
		name  string
		value any
	}{
		{"kind", ph.Kind}, {"type", ph.Type}, {"rate", ph.Rate}, {"sessionRate", ph.SessionRate}, {"users", ph.Users}, {"smoothness", ph.Smoothness}, {"concurrency", ph.Concurrency},
		{"requests", ph.Requests}, {"sessions", ph.Sessions}, {"duration", ph.Duration}, {"gracePeriod", ph.GracePeriod},
		{"concurrencyRamp", ph.ConcurrencyRamp}, {"prefillConcurrency", ph.PrefillConcurrency}, {"prefillRamp", ph.PrefillRamp},
		{"rateRamp", ph.RateRamp}, {"rateSeries", ph.RateSeries},
	} {
		text, _ := json.Marshal(m.value) //nolint:errchkjson // plain values
		if v := strings.Trim(string(text), `"`); v != "null" {
			out = append(out, m.name+" "+v)
		}
	}
	return strings.Join(out, ", ")
}

func TestResolutionVectors(t *testing.T) {
	rows := []struct {
		argv    string
		phases  []string
		entries int
	}{
		{"", []string{"kind profiling, type concurrency, concurrency 1, requests 10, gracePeriod inf"}, 100},
		{"--request-rate 2", []string{"kind profiling, type poisson, rate 2, requests 10, gracePeriod inf"}, 100},
		{"--request-rate 2 --arrival-smoothness 3", []string{"kind profiling, type gamma, rate 2, smoothness 3, requests 10, gracePeriod inf"}, 100},
		{"--request-rate 2 --arrival-pattern CONSTANT", []string{"kind profiling, type constant, rate 2, requests 10, gracePeriod inf"}, 100},
		{"--concurrency 2 --benchmark-duration 10", []string{"kind profiling, type concurrency, concurrency 2, duration 10, gracePeriod 30"}, 100_000},
		{"--concurrency 4, --benchmark-duration 10 --benchmark-grace-period inf", []string{"kind profiling, type concurrency, concurrency 4, duration 10, gracePeriod inf"}, 100_000},
		{"--request-rate 2 --concurrency 5 --request-count 50 --warmup-request-count 3", []string{
			"kind warmup, type poisson, rate 2, concurrency 5, requests 3, gracePeriod inf",
			"kind profiling, type poisson, rate 2, concurrency 5, requests 50, gracePeriod inf"}, 53},
		{"--warmup-duration 5 --concurrency 7 --benchmark-duration 9", []string{
			"kind warmup, type concurrency, concurrency 7, duration 5, gracePeriod inf",
			"kind profiling, type concurrency, concurrency 7, duration 9, gracePeriod 30"}, 200_000},
		{"--warmup-duration 5 --warmup-concurrency 2 --warmup-grace-period 1 --concurrency 7", []string{
			"kind warmup, type concurrency, concurrency 2, duration 5, gracePeriod 1",
			"kind profiling, type concurrency, concurrency 7, requests 10, gracePeriod inf"}, 100_000},
		{"--num-warmup-sessions 5 --warmup-request-rate 9 --warmup-arrival-pattern constant --request-rate 3 --arrival-smoothness 2", []string{
			"kind warmup, type constant, rate 9, sessions 5, gracePeriod inf",
			"kind profiling, type gamma, rate 3, smoothness 2, requests 10, gracePeriod inf"}, 100},
		{"--user-centric-rate 2 --num-users 4 --conversation-turn-mean 3", []string{"kind profiling, type user_centric, rate 2, users 4, requests 10, gracePeriod inf"}, 100},
		{"--user-centric-rate 2 --num-users 4 --conversation-turn-mean 3 --concurrency 3 --warmup-request-count 3", []string{
			"kind warmup, type concurrency, concurrency 3, requests 3, gracePeriod inf",
			"kind profiling, type user_centric, rate 2, users 4, concurrency 3, requests 10, gracePeriod inf"}, 100},
		{"--session-rate 2 --arrival-smoothness 3 --num-warmup-sessions 2", []string{
			"kind warmup, type gamma, sessionRate 2, smoothness 3, sessions 2, gracePeriod inf",
			"kind profiling, type gamma, sessionRate 2, smoothness 3, requests 10, gracePeriod inf"}, 100},
		{"--request-rate 20 --benchmark-duration 20", []string{"kind profiling, type poisson, rate 20, duration 20, gracePeriod 30"}, 480},
		{"--request-rate 20 --benchmark-duration 20 --prompt-corpus random", []string{"kind profiling, type poisson, rate 20, duration 20, gracePeriod 30"}, 100},
		{"--request-rate 20 --request-count 120 --warmup-request-count 8 --random-range-ratio 0.5 --isl 9 --osl 9", []string{
			"kind warmup, type poisson, rate 20, requests 8, gracePeriod inf",
			"kind profiling, type poisson, rate 20, requests 120, gracePeriod inf"}, 120},
		{"--request-count 120 --warmup-request-count 8 --dataset-sampling-strategy shuffle", []string{
			"kind warmup, type concurrency, concurrency 1, requests 8, gracePeriod inf",
			"kind profiling, type concurrency, concurrency 1, requests 120, gracePeriod inf"}, 120},
		{"--request-count 9000000 --warmup-request-count 9000000", []string{
			"kind warmup, type concurrency, concurrency 1, requests 9000000, gracePeriod inf",
			"kind profiling, type concurrency, concurrency 1, requests 9000000, gracePeriod inf"}, 10_000_000},
		{"--request-rate 20 --benchmark-duration 20 --num-dataset-entries 100", []string{"kind profiling, type poisson, rate 20, duration 20, gracePeriod 30"}, 100},
		{"--request-count 5 --num-sessions 3", []string{"kind profiling, type concurrency, concurrency 1, requests 5, sessions 3, gracePeriod inf"}, 3},
		{"--request-count 5 --num-prompts 8", []string{"kind profiling, type concurrency, concurrency 1, requests 5, gracePeriod inf"}, 8},
	}
	for _, row := range rows {
		t.Run(row.argv, func(t *testing.T) {
			d := mustFlags(t, strings.Fields(row.argv)...)
			var got []string
			for _, ph := range d.Benchmark.Phases {
				got = append(got, phaseText(ph))
			}
			if diff := cmp.Diff(row.phases, got); diff != "" {
				t.Errorf("phases (-want +got):\n%s", diff)
			}
			if n := d.Benchmark.Datasets[0].Entries; n != row.entries {
				t.Errorf("entries = %d, want %d", n, row.entries)
			}
		})
	}
}

func TestExtraAndHeaders(t *testing.T) {
	rows := []struct {
		name         string
		argv         []string
		extra, heads string
	}{
		{"merged", []string{"--extra-inputs", "temperature:0.5,top_p:0.9", "--extra-inputs", `{"a":{"b":1}}`}, `{"temperature":0.5,"top_p":0.9,"a":{"b":1}}`, `{}`},
		{"several tokens", []string{"--extra-inputs", "a:1", "b:2", "--streaming"}, `{"a":1,"b":2}`, `{}`},
		{"types", []string{"--extra-inputs", "a:TRUE,b:none,c:007,d:1e3,e:-5,f:,g:x:y"}, `{"a":true,"b":null,"c":"007","d":"1e3","e":-5,"f":"","g":"x:y"}`, `{}`},
		{"comma in a value", []string{"--extra-inputs", "stop:a,b,n:2"}, `{"stop":"a,b","n":2}`, `{}`},
		{"nested", []string{"--extra-inputs", "x.y:1,x.z.w:2", "--extra-inputs", "x.y:3"}, `{"x":{"y":3,"z":{"w":2}}}`, `{}`},
		{"exact numbers", []string{"--extra-inputs", `{"n":12345678901234567890.10}`}, `{"n":12345678901234567890.10}`, `{}`},
		{"headers", []string{"--header", "A:b", "--header", "C:d:e"}, `{}`, `{"A":"b","C":"d:e"}`},
		{"commas in headers", []string{"-H", "Accept: a,b:c", `{"X-J":"1,2"}`}, `{}`, `{"Accept":"a,b:c","X-J":"1,2"}`},
		{"glued header", []string{"-HX-A: 1", "-H=X-B: 2"}, `{}`, `{"X-A":"1","X-B":"2"}`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			d := mustFlags(t, row.argv...)
			if got := compatText(t, d, "endpoint", "extra"); got != row.extra {
				t.Errorf("extra = %s, want %s", got, row.extra)
			}
			if got := compatText(t, d, "endpoint", "headers"); got != row.heads {
				t.Errorf("headers = %s, want %s", got, row.heads)
			}
		})
	}
}

func TestFlagProblems(t *testing.T) {
	rows := []struct {
		name string
		argv []string
		want string
	}{
		{"rate", []string{"--request-rate", "-5"}, "--request-rate -5: must be greater than 0"},
		{"type", []string{"--concurrency", "many"}, "--concurrency many: must be a whole number"},
		{"fraction", []string{"--concurrency", "1.5"}, "--concurrency 1.5: must be a whole number"},
		{"enum", []string{"--arrival-pattern", "poison", "--request-rate", "1"}, `--arrival-pattern poison: must be {arrivals}; did you mean "poisson"?`},
		{"warm-up grace", []string{"--warmup-grace-period", "5"}, "--warmup-grace-period: needs --warmup-request-count, --warmup-duration or --num-warmup-sessions"},
		{"grace", []string{"--benchmark-grace-period", "5"}, "--benchmark-grace-period: needs a duration"},
		{"users without a rate", []string{"--num-users", "4", "--user-replacement", "on-completion"}, "--num-users: needs --user-centric-rate\n--user-replacement: needs --user-centric-rate"},
		{"users without a number", []string{"--user-centric-rate", "2", "--conversation-turn-mean", "3"}, "--num-users: a phase of type user_centric needs a number of users"},
		{"users without turns", []string{"--user-centric-rate", "2", "--num-users", "4"}, "--num-users: needs conversations of at least 2 turns on average; give the dataset turns, on a command line --conversation-turn-mean"},
		{"more users than requests", []string{"--user-centric-rate", "2", "--num-users", "40", "--conversation-turn-mean", "3"},
			"--num-users: without a bound, 10 requests are sent, fewer than users; give requests, sessions or a duration"},
		{"more users than sessions", []string{"--user-centric-rate", "2", "--num-users", "40", "--conversation-turn-mean", "3", "--num-sessions", "39"},
			"--num-sessions: 39 is less than the number of users, 40: each needs one at least"},
		{"users and a rate", []string{"--user-centric-rate", "2", "--num-users", "4", "--conversation-turn-mean", "3", "--request-rate", "3", "--arrival-pattern", "gamma"},
			"--request-rate: a phase of users has --user-centric-rate, and no other arrivals\n--arrival-pattern: a phase of users has --user-centric-rate, and no other arrivals"},
		{"users and a schedule", []string{"--fixed-schedule", "--user-centric-rate", "2", "--num-users", "4"},
			"--fixed-schedule: needs a dataset with timestamps; synthetic data has none\n--user-centric-rate: conflicts with --fixed-schedule, which takes the times from the dataset\n--num-users: conflicts with --fixed-schedule, which takes the times from the dataset"},
		{"two rates", []string{"--request-rate", "2", "--session-rate", "4"}, "--session-rate: excludes rate, which counts the requests of all turns; --session-rate counts new conversations"},
		{"saturation", []string{"--request-rate", "2", "--saturation", "drop"}, "--saturation: needs a concurrency: without one, no arrival waits for a slot"},
		{"AIPerf's option stream", []string{"--stream"}, "--stream: needs a value; it selects what is sent to OpenTelemetry; for streamed responses use --streaming"},
		{"stream as a switch of something else", []string{"--otel-url", "h", "--stream", "tokens"},
			"--stream: tokens: must be metrics, timing or default; it selects what is sent to OpenTelemetry; for streamed responses use --streaming"},
		{"stream without a collector", []string{"--stream", "timing"}, "--stream: needs the URL of a collector (--otel-url)"},
		{"provider without a collector", []string{"--gen-ai-provider", "vllm"}, "--gen-ai-provider: needs the URL of a collector (--otel-url or --otel-traces-url)"},
		{"attributes without names", []string{"--otel-url", "h", "--otel-resource-attributes", "=c"}, "--otel-resource-attributes: must be name=value or a JSON object"},
		{"collector behind a socket", []string{"--otel-url", "http+unix://%2Fx"}, "--otel-url http+unix://%2Fx: must be an http or https URL"},
		{"path of gRPC", []string{"--otel-url", "h:4317/v1/metrics"}, "--otel-url h:4317/v1/metrics: must have no path with the protocol grpc"},
		{"of AIPerf, for files", []string{"--wandb-project", "u"}, "--wandb-project: not supported by aiperfd yet; --ignore-unsupported runs without it"},
		{"GPU telemetry of nothing", []string{"--gpu-telemetry", "u"}, "--gpu-telemetry: u: must be the URL of an exporter of GPU metrics, pynvml, amdsmi, dashboard, or a CSV file with fields of DCGM"},
		{"AMD's GPUs of this machine and others", []string{"--gpu-telemetry", "amdsmi", "h:9400"}, "--gpu-telemetry: conflicts with the collector amdsmi, which reads the cards of this machine"},
		{"GPU telemetry of this machine and of others", []string{"--gpu-telemetry", "pynvml", "h:9400"}, "--gpu-telemetry: conflicts with the collector pynvml, which reads the cards of this machine"},
		{"GPU telemetry off and on without a value", []string{"--gpu-telemetry", "--no-gpu-telemetry"}, "--gpu-telemetry: conflicts with --no-gpu-telemetry; use only one of them"},
		{"server metrics off and on without a value", []string{"--no-server-metrics", "--server-metrics"}, "--server-metrics: conflicts with --no-server-metrics; use only one of them"},
		{"GPU telemetry off and on", []string{"--gpu-telemetry", "h:9400", "--no-gpu-telemetry"}, "--gpu-telemetry: conflicts with --no-gpu-telemetry; use only one of them"},
		{"server metrics off and on", []string{"--server-metrics", "u", "--no-server-metrics"}, "--server-metrics: conflicts with --no-server-metrics; use only one of them"},
		{"of AIPerf, for numbers", []string{"--accuracy-benchmark", "mmlu", "--ignore-unsupported"}, "--accuracy-benchmark: not supported by aiperfd yet"},
		{"round trip measured and given", []string{"--network-latency-automatic", "--network-latency-mean", "2"}, "--network-latency-automatic: conflicts with --network-latency-mean: the round trip is either measured or given; use only one of them"},
		{"round trip given, and the pause between probes", []string{"--network-latency-mean", "2", "--network-latency-ping-interval", "2"}, "--network-latency-ping-interval: conflicts with --network-latency-mean, with which nothing is probed"},
		{"pause between probes alone", []string{"--network-latency-ping-interval", "2"}, "--network-latency-ping-interval: needs --network-latency-automatic"},
		{"round trip below 0", []string{"--network-latency-mean", "-1"}, "--network-latency-mean -1: must be at least 0"},
		{"swept value", []string{"--concurrency", "1,0"}, "concurrency 0: must be at least 1"},
		{"swept value among several", []string{"--isl", "10,20", "--osl", "5,-1"}, "isl 10, osl -1: mean -1: must be at least 1"},
		{"swept value, empty", []string{"--concurrency", "1,,2"}, "--concurrency: the list 1,,2 has an empty value"},
		{"sweep type", []string{"--concurrency", "1,2", "--sweep-type", "foo"}, "--sweep-type: must be grid or zip, not foo"},
		{"confidence level", []string{"--num-profile-runs", "2", "--confidence-level", "95"}, "--confidence-level: must be less than 1, not 95"},
		{"seed of one run", []string{"--set-consistent-seed"}, "--set-consistent-seed: needs more than one run or a sweep"},
		{"zip of unequal lists", []string{"--concurrency", "1,2", "--request-count", "5,6,7", "--sweep-type", "zip"}, "phases.profiling.requests: zip takes lists of equal length; this one has 3 values and that of phases.profiling.concurrency has 2"},
		{"sweep type without lists", []string{"--sweep-type", "zip"}, "--sweep-type: needs lists of values, for example --concurrency 1,2,4"},
		{"order without a sweep", []string{"--parameter-sweep-mode", "independent"}, "--parameter-sweep-mode: needs a sweep, for example --concurrency 1,2,4, or --search-recipe"},
		{"list and variants", []string{"--concurrency", "1,2", "--variant", "rate=1", "--variant", "rate=2"}, "--variant: conflicts with the list of values of --concurrency"},
		{"one variant", []string{"--variant", "a: concurrency=1"}, "--variant: give at least two variants, each with a flag of its own"},
		{"malformed variant", []string{"--variant", "a: concurrency", "--variant", "b: concurrency=2"}, "--variant: a: concurrency is not of the form [name:] path=value, …"},
		{"list and schedule", []string{"--concurrency", "1,2", "--fixed-schedule"}, "--concurrency: a list of values conflicts with --fixed-schedule\n--fixed-schedule: needs a dataset with timestamps; synthetic data has none"},
		{"pattern alone", []string{"--arrival-pattern", "constant"}, "--arrival-pattern: needs --request-rate"},
		{"smoothness alone", []string{"--vllm-burstiness", "2"}, "--vllm-burstiness: needs --request-rate"},
		{"smoothness of poisson", []string{"--request-rate", "2", "--arrival-smoothness", "3", "--arrival-pattern", "poisson"}, "--arrival-smoothness: only valid for the type {shaped}"},
		{"objectives as several arguments", []string{"--streaming", "--goodput", "ttft:200", "tpot:30", "e2el:5", "--ui", "none"}, `--goodput: takes all objectives as one argument: --goodput "ttft:200 tpot:30 e2el:5"`},
		{"objective with a unit", []string{"--goodput", "itl:5 ttft:21ms"}, "--goodput: ttft:21ms: the limit is a number without a unit, in the unit of the metric (latencies in milliseconds)"},
		{"infinite rate", []string{"--request-rate", "inf"}, "--request-rate inf: leave it out; without a rate, --concurrency requests are in flight at all times"},
		{"pattern misspelt and alone", []string{"--arrival-pattern", "possion"}, `--arrival-pattern possion: must be {arrivals}; did you mean "poisson"?`},
		{"goodput", []string{"--goodput", "a=1"}, `--goodput: expected one quoted string, e.g. "time_to_first_token:500 inter_token_latency:50"`},
		{"unknown", []string{"--concurency", "4"}, `unknown option --concurency; did you mean "--concurrency"?`},
		{"of vllm bench", []string{"--random-input-len", "512"}, "unknown option --random-input-len; vllm bench serve's --random-input-len: use --isl 512 (docs/coming-from.md)"},
		{"of guidellm", []string{"--profile=kind=poisson,rate=3"}, "unknown option --profile; guidellm's --profile: use --request-rate 3 (docs/coming-from.md)"},
		{"one dash", []string{"-model", "x"}, `unknown option -model; did you mean "--model"?`},
		{"argument", []string{"--streaming", "false"}, `unexpected argument "false"; flags begin with --`},
		{"positional URL", []string{"localhost:41000"}, `unexpected argument "localhost:41000"; did you mean --url localhost:41000?`},
		{"positional URL with scheme", []string{"--streaming", "https://h/v1"}, `unexpected argument "https://h/v1"; did you mean --url https://h/v1?`},
		{"extra with =", []string{"--extra-inputs", "temperature=0.7"}, "--extra-inputs: an extra input must be name:value or a JSON object; did you mean temperature:0.7?"},
		{"extra with = and a secret", []string{"--extra-inputs", "api_key=sk-1"}, "--extra-inputs: an extra input must be name:value or a JSON object; did you mean api_key:…?"},
		{"goodput twice by two names", []string{"--goodput", "tpot:20 inter_token_latency:30"}, "--goodput: the objective inter_token_latency is given twice"},
		{"no value", []string{"--concurrency", "--streaming"}, "--concurrency: needs a value"},
		{"no words", []string{"--header"}, "--header: needs a value"},
		{"header", []string{"--header", "Accept"}, "--header: a header must be Name:Value"},
		{"extra", []string{"--extra-inputs", "x"}, "--extra-inputs: an extra input must be name:value or a JSON object"},
		{"extra json", []string{"--extra-inputs", `{"a":1,"a":2}`}, "--extra-inputs: must be a JSON object with unique names"},
		{"spread alone", []string{"--osl-stddev", "5"}, "--osl-stddev: needs --osl"},
		{"verbose twice", []string{"-v", "-vv"}, "-vv: -v sets the same value; use only one of them"},
		{"host alone", []string{"--api-host", "::"}, "--api-host: needs a port"},
		{"wait mode alone", []string{"--wait-for-model-mode", "models"}, "--wait-for-model-mode: needs a --wait-for-model-timeout above 0"},
		{"wait interval", []string{"--wait-for-model-timeout", "3", "--wait-for-model-interval", "0"}, "--wait-for-model-interval 0: must be greater than 0"},
		{"path of a reset", []string{"--reset-kv-cache=false", "--reset-kv-cache-path", "/x"}, "--reset-kv-cache-path: contradicts --reset-kv-cache=false"},
		{"path of a profiler", []string{"--server-profiler-stop-path", "/x", "--server-profiler=false"}, "--server-profiler-stop-path: contradicts --server-profiler=false"},
		{"reset elsewhere", []string{"--reset-kv-cache", "--reset-kv-cache-path", "http://x/"}, "--reset-kv-cache-path http://x/: must be a path on the server, without spaces or fragment"},
		{"url strategy", []string{"--url-strategy", "least"}, "--url-strategy least: must be round_robin, random or least_inflight; did you mean \"least_inflight\"?"},
		{"url parameter", []string{"--url-param", "a:b"}, "--url-param: a URL parameter must be name=value or a JSON object"},
		{"auth style", []string{"--auth-style", "basic"}, "--auth-style: must be type, bearer, x-api-key, both, api-key or none"},
		{"affinity header", []string{"--affinity-header", "X-A,x-a"}, "--affinity-header: the header x-a is given twice"},
		{"proxy", []string{"--proxy", "ftp://x"}, "--proxy ftp://x: must be the URL of a proxy, for example http://proxy:3128, https://proxy:443 or socks5://proxy:1080"},
		{"certificate alone", []string{"--tls-cert-file", "testdata/prompts.jsonl"}, "--tls-cert-file: needs --tls-key-file"},
		{"ipv6", []string{"--url", "::1:8000"}, "--url ::1:8000: IPv6 addresses need brackets, for example http://[::1]:8000"},
		{"like one that is not supported", []string{"--optuna-sample", "5"}, "unknown option --optuna-sample"},
		{"url that is no URL", []string{"--url", "localhost:9", "temperature=0.7"}, `--url temperature=0.7: must be a URL; a host name cannot contain "="`},
		{"url", []string{"--url", "ftp://x"}, "--url ftp://x: must be an http or https URL"},
		{"missing file", []string{"--input-file", "nope.jsonl"}, "--input-file nope.jsonl: no such file"},
		{"synthetic with file", []string{"--input-file", "testdata/prompts.jsonl", "--isl", "5", "--turns", "3"}, "--isl: only valid for datasets of type synthetic\nunknown option --turns; did you mean \"--session-turns-mean\"?"},
		{"format without file", []string{"--custom-dataset-type", "single-turn"}, "--custom-dataset-type: only valid for datasets of type file"},
		{"boolean value", []string{"--streaming=maybe"}, "--streaming maybe: must be true or false, or have no value"},
		{"inherited", []string{"--concurrency", "0", "--warmup-request-count", "1"}, "--concurrency 0: must be at least 1"},
		{"key is not shown", []string{"--api-key", "<redacted>"}, "--api-key: contains a redaction placeholder; give the actual value"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			d, _, err := flagsDocument(t, nil, row.argv...)
			var invalid *problem.Invalid
			if !errors.As(err, &invalid) || d != nil {
				t.Fatalf("error = %v, want *Invalid", err)
			}
			// The base gives --url and others; only the added ones are at fault.
			if got, want := err.Error(), new(plan.Choices()).Expand(row.want); got != want {
				t.Errorf("problems:\n%s\nwant:\n%s", got, want)
			}
		})
	}
	t.Run("no model", func(t *testing.T) {
		f, err := parseFlags(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := f.Document()
		if err != nil || len(d.Benchmark.Models.Items) != 0 || d.Benchmark.Tokenizer.Name != "" {
			t.Errorf("document %v, error %v: want one without models, for the server to name them", d, err)
		}
	})
}

func TestFlagGrammar(t *testing.T) {
	d := mustFlags(t, "--request_timeout_seconds=5", "-u", "h1", "h2,h3", "--url=h4", "--model", "a,b", "-m", "c", "-b", "2",
		"--isl-stddev", "9", "--conversation-turn-stddev", "2", "--random-seed", "0", "--no-stream-usage", "--no-preconnect", "--insecure", "--streaming=true",
		"--custom-endpoint", "/x", "--goodput", "time_to_first_token:100 request_latency:2.5", "--export-level", "RAW", "--api-key", "-dash",
		"--failed-request-threshold", ".5", "--no-gpu-telemetry", "--no-server-metrics", "--no-fixed-schedule")
	b := d.Benchmark
	var urls, models []string
	for _, u := range b.Endpoint.URLs {
		urls = append(urls, u.Reveal())
	}
	for _, m := range b.Models.Items {
		models = append(models, m.Name)
	}
	got := []any{urls, models, float64(b.Endpoint.Timeout), b.Datasets[0].Prompts.BatchSize, *b.Datasets[0].Prompts.ISL.Mean, b.Datasets[0].Prompts.ISL.Stddev,
		*b.Datasets[0].Turns.Mean, *d.RandomSeed, b.Endpoint.StreamUsage, b.Endpoint.Preconnect, b.Endpoint.TLSVerify, b.Endpoint.Streaming, *b.Endpoint.Path,
		b.ServerMetrics.Enabled, b.SLOs["request_latency"], b.Artifacts.Level, b.Endpoint.APIKey.Reveal(), *b.Phases[0].FailedRequestThreshold}
	want := []any{[]string{"http://localhost:9", "http://h1", "http://h2", "http://h3", "http://h4"}, []string{"test-model", "a", "b", "c"}, 5.0, 2, 550.0, 9.0,
		1.0, int64(0), false, false, false, true, "/x", false, 2.5, "raw", "-dash", 0.5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestVerbose(t *testing.T) {
	for flag, want := range map[string]string{"-v": "DEBUG", "--verbose": "DEBUG", "-vv": "TRACE"} {
		f, _ := parseFlags([]string{"-m", "x", flag}, nil)
		d, _, err := f.Document()
		if err != nil || d.Benchmark.Logging.Level != want || d.Benchmark.Runtime.UI != "simple" {
			t.Errorf("%s: level %v, want %s with the simple UI (%v)", flag, d, want, err)
		}
	}
}

func TestCertify(t *testing.T) {
	for flag, want := range map[string]string{"--streaming": "none", "--certify": "before", "--certify=true": "before", "--certify=false": "none"} {
		f, _ := parseFlags([]string{"-m", "x", flag}, nil)
		d, _, err := f.Document()
		if err != nil || d.Benchmark.Client.Certify != want {
			t.Errorf("%s: certify %+v (%v), want %s", flag, d, err, want)
		}
	}
}

func TestFlagsOverFile(t *testing.T) {
	file := func(t *testing.T, doc string) string {
		name := filepath.Join(t.TempDir(), "bench.yaml")
		if err := os.WriteFile(name, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const closed = "benchmark: {model: m, endpoint: {url: h, headers: {A: b}}, dataset: {isl: {mean: 5, stddev: 1}}, phases: {concurrency: 1, duration: 5}}"
	rows := []struct{ name, doc, argv, want string }{
		{"nothing typed", closed, "", "kind profiling, type concurrency, concurrency 1, duration 5, gracePeriod 30"},
		{"count", closed, "--request-count 500", "kind profiling, type concurrency, concurrency 1, requests 500, duration 5, gracePeriod 30"},
		{"rate", closed, "--request-rate 5", "kind profiling, type poisson, rate 5, duration 5, gracePeriod 30"},
		{"rate and cap", closed, "--request-rate 5 --concurrency 9", "kind profiling, type poisson, rate 5, concurrency 9, duration 5, gracePeriod 30"},
		{"users", "benchmark: {model: m, dataset: {turns: 3}, phases: {concurrency: 1, duration: 5}}", "--user-centric-rate 5 --num-users 2", "kind profiling, type user_centric, rate 5, users 2, duration 5, gracePeriod 30"},
		{"users in place of a process", "benchmark: {model: m, dataset: {turns: 3}, phases: {sessionRate: 2, type: gamma, smoothness: 3, duration: 5}}", "--user-centric-rate 5 --num-users 2", "kind profiling, type user_centric, rate 5, users 2, duration 5, gracePeriod 30"},
		{"rate of users", "benchmark: {model: m, dataset: {turns: 3}, phases: {users: 4, type: user-centric, rate: 3, duration: 5}}", "--request-rate 5", "kind profiling, type user_centric, rate 5, users 4, duration 5, gracePeriod 30"},
		{"rate of sessions", "benchmark: {model: m, phases: {type: gamma, rate: 2, smoothness: 3, duration: 5}}", "--session-rate 4", "kind profiling, type gamma, sessionRate 4, smoothness 3, duration 5, gracePeriod 30"},
		{"pattern", "benchmark: {model: m, phases: {type: gamma, rate: 2, smoothness: 3, duration: 5}}", "--arrival-pattern constant", "kind profiling, type constant, rate 2, duration 5, gracePeriod 30"},
		{"warm-up made", closed, "--warmup-request-count 3", "kind warmup, type concurrency, concurrency 1, requests 3, gracePeriod inf; kind profiling, type concurrency, concurrency 1, duration 5, gracePeriod 30"},
		{"warm-up merged", "benchmark: {model: m, warmup: {requests: 4}, profiling: {duration: 5}}", "--warmup-concurrency 3", "kind warmup, type concurrency, concurrency 3, requests 4, gracePeriod inf; kind profiling, type concurrency, concurrency 1, duration 5, gracePeriod 30"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f, err := parseFlags(append([]string{"-f", file(t, row.doc)}, strings.Fields(row.argv)...), nil)
			if err != nil {
				t.Fatal(err)
			}
			d, _, err := f.Document()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, ph := range d.Benchmark.Phases {
				got = append(got, phaseText(ph))
			}
			if s := strings.Join(got, "; "); s != row.want {
				t.Errorf("phases = %s\nwant %s", s, row.want)
			}
		})
	}
	t.Run("values", func(t *testing.T) {
		f, _ := parseFlags([]string{"--config", file(t, closed), "--isl", "99", "-H", "C:d", "--model", "n", "--random-seed", "3"}, nil)
		d, _, err := f.Document()
		if err != nil {
			t.Fatal(err)
		}
		b := d.Benchmark
		got := []any{*b.Datasets[0].Prompts.ISL.Mean, b.Datasets[0].Prompts.ISL.Stddev, compatText(t, d, "endpoint", "headers"), b.Models.Items[0].Name, *d.RandomSeed}
		if diff := cmp.Diff([]any{99.0, 1.0, `{"A":"b","C":"d"}`, "n", int64(3)}, got); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
	})
	t.Run("problems", func(t *testing.T) {
		f, _ := parseFlags([]string{"--config", file(t, "benchmark:\n  model: m\n  foo: 1\n  phases:\n  - {duration: 5}\n"), "--request-rate", "-1", "--input-file", "x"}, nil)
		_, _, err := f.Document()
		const want = "--request-rate -1: must be greater than 0\n--input-file x: no such file\nline 3: benchmark/foo: unknown field \"foo\""
		if err == nil || err.Error() != want {
			t.Errorf("error:\n%v\nwant:\n%s", err, want)
		}
	})
	t.Run("several phases", func(t *testing.T) {
		f, _ := parseFlags([]string{"--config", file(t, "benchmark: {model: m, phases: [{name: a, kind: profiling, duration: 5}, {name: b, kind: profiling, duration: 5}]}"), "--concurrency", "2"}, nil)
		_, _, err := f.Document()
		if err == nil || err.Error() != "--concurrency: the configuration file has several phases of kind profiling" {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("no such file", func(t *testing.T) {
		f, _ := parseFlags([]string{"--config", "nope.yaml"}, nil)
		if _, _, err := f.Document(); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error = %v, want not exist", err)
		}
	})
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{"AIPERFD_API_KEY": "from-env", "AIPERF_API_SERVER_PORT": "81", "AIPERF_API_SERVER_HOST": "::1", "AIPERF_HTTP_SSL_VERIFY": "False"}
	d, _, err := flagsDocument(t, env)
	if err != nil {
		t.Fatal(err)
	}
	b := d.Benchmark
	got := []any{b.Endpoint.APIKey.Reveal(), *b.Runtime.APIPort, *b.Runtime.APIHost, b.Endpoint.TLSVerify}
	if diff := cmp.Diff([]any{"from-env", 81, "::1", false}, got); diff != "" {
		t.Errorf("from the environment (-want +got):\n%s", diff)
	}
	d, _, err = flagsDocument(t, env, "--api-key", "typed", "--api-port", "82")
	if err != nil || d.Benchmark.Endpoint.APIKey.Reveal() != "typed" || *d.Benchmark.Runtime.APIPort != 82 {
		t.Errorf("a typed option does not win: %v %v", d, err)
	}
	_, _, err = flagsDocument(t, map[string]string{"AIPERF_HTTP_SSL_VERIFY": "perhaps"})
	if err == nil || err.Error() != "AIPERF_HTTP_SSL_VERIFY perhaps: must be true or false" {
		t.Errorf("error = %v", err)
	}
}

// TestAIPerfVariables: AIPerf's variables about requests have the same effect, or
// are named as lacking.
func TestAIPerfVariables(t *testing.T) {
	for _, tt := range []struct {
		name     string
		env      map[string]string
		argv     []string
		proxy    bool
		affinity []string
		stats    config.Seconds
		want     string // problem or warning
	}{
		{"none", nil, nil, false, []string{"X-Session-Affinity"}, 0, ""},
		{"trust", map[string]string{"AIPERF_HTTP_TRUST_ENV": "true"}, nil, true, []string{"X-Session-Affinity"}, 0, ""},
		{"trust, with a proxy", map[string]string{"AIPERF_HTTP_TRUST_ENV": "1"}, []string{"--proxy", "http://p:1"}, false, []string{"X-Session-Affinity"}, 0, ""},
		{"trust, badly", map[string]string{"AIPERF_HTTP_TRUST_ENV": "perhaps"}, nil, false, nil, 0, "AIPERF_HTTP_TRUST_ENV perhaps: must be true or false"},
		{"interval", map[string]string{"AIPERF_UI_REALTIME_METRICS_INTERVAL": "7.5"}, nil, false, []string{"X-Session-Affinity"}, 7.5, ""},
		{"interval typed", map[string]string{"AIPERF_UI_REALTIME_METRICS_INTERVAL": "7.5"}, []string{"--stats-interval", "2"}, false, []string{"X-Session-Affinity"}, 2, ""},
		{"affinity", map[string]string{"AIPERF_HTTP_X_SESSION_ID_FROM_CORRELATION_ID": "true", "AIPERF_HTTP_X_SMG_ROUTING_KEY_FROM_CORRELATION_ID": "on"}, nil,
			false, []string{"X-Session-Affinity", "X-Session-ID", "X-SMG-Routing-Key"}, 0, ""},
		{"no affinity", map[string]string{"AIPERF_HTTP_X_SESSION_AFFINITY_FROM_CORRELATION_ID": "false"}, nil, false, nil, 0, ""},
		{"affinity typed", map[string]string{"AIPERF_HTTP_X_SESSION_ID_FROM_CORRELATION_ID": "true"}, []string{"--affinity-header", "X-Mine"}, false, []string{"X-Mine"}, 0, ""},
		{"affinity twice", map[string]string{"AIPERF_HTTP_X_SESSION_ID_FROM_CORRELATION_ID": "true"}, []string{"--session-header", "X-Session-ID"}, false, []string{"X-Session-Affinity"}, 0, ""},
		{"lacking", map[string]string{"AIPERF_HTTP_SO_RCVBUF": "6"}, nil, false, []string{"X-Session-Affinity"}, 0,
			"AIPERF_HTTP_SO_RCVBUF: not supported by aiperfd yet; it has no effect"},
		{"ip version", map[string]string{"AIPERF_HTTP_IP_VERSION": "5"}, nil, false, nil, 0, "AIPERF_HTTP_IP_VERSION 5: must be auto, 4 or 6; did you mean \"4\"?"},
		{"about processes", map[string]string{"AIPERF_WORKER_MAX_WORKERS_CAP": "6"}, nil, false, []string{"X-Session-Affinity"}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, warnings, err := flagsDocument(t, tt.env, append(tt.argv, "--request-count", "200")...)
			got := ""
			if err != nil {
				got = err.Error()
			} else if len(warnings) > 0 {
				got = warnings[0].Detail
			}
			if got != tt.want {
				t.Errorf("said %q, want %q", got, tt.want)
			}
			if err != nil {
				return
			}
			e := d.Benchmark.Endpoint
			if e.ProxyFromEnv != tt.proxy || !slices.Equal(e.AffinityHeaders, tt.affinity) {
				t.Errorf("proxy from the environment %t, affinity %q, want %t, %q", e.ProxyFromEnv, e.AffinityHeaders, tt.proxy, tt.affinity)
			}
			if s := d.Benchmark.Runtime.StatsInterval; (s == nil) != (tt.stats == 0) || s != nil && *s != tt.stats {
				t.Errorf("interval %v, want %v", s, tt.stats)
			}
		})
	}
}

func TestAPIKeyFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(name, []byte(" sk-file \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := mustFlags(t, "--api-key-file", name).Benchmark.Endpoint.APIKey.Reveal(); got != "sk-file" {
		t.Errorf("key = %q, want sk-file", got)
	}
	_, _, err := flagsDocument(t, nil, "--api-key-file", name, "--api-key", "x")
	if err == nil || err.Error() != "--api-key: --api-key-file sets the same value; use only one of them" {
		t.Errorf("error = %v", err)
	}
}

func TestInertFlags(t *testing.T) {
	_, warnings, err := flagsDocument(t, nil, "--workers-max", "4", "--zmq-dual-bind", "--benchmark-duration", "5")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.Flag+" "+w.Code)
	}
	if diff := cmp.Diff([]string{"--workers-max no-effect", "--zmq-dual-bind no-effect"}, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// aiperfFlags reads AIPerf 0.13's options: group, spellings, negated spelling,
// priority.
func aiperfFlags(t *testing.T) [][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/aiperf-flags.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(data)) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows
}

// The number of requests is called a default if it was not given.
func TestShortRunByDefault(t *testing.T) {
	for _, tt := range []struct{ argv, want string }{
		{"", "only 10 requests, the default of --request-count: p75 and higher percentiles are unreliable"},
		{"--warmup-request-count 3", "only 10 requests in phase profiling, the default of --request-count: p75 and higher percentiles are unreliable"},
		{"--concurrency 20", "only 10 requests, the default of --request-count: concurrency 20 is never reached, and p75 and higher percentiles are unreliable"},
		{"--request-count 10", "only 10 requests: p75 and higher percentiles are unreliable"},
		{"--num-requests 5", "only 5 requests: percentiles are not meaningful"},
	} {
		_, warnings, err := flagsDocument(t, nil, strings.Fields(tt.argv)...)
		if err != nil || len(warnings) != 1 || warnings[0].Detail != tt.want {
			t.Errorf("%q: %v, %v; want %q", tt.argv, warnings, err, tt.want)
		}
	}
}

func TestEverySpellingIsKnown(t *testing.T) {
	table := flagTable()
	rows := aiperfFlags(t)
	spellings, seen := 0, 0
	for _, row := range rows {
		for _, name := range append(strings.Fields(row[1]), strings.Fields(row[2])...) {
			spellings++
			o, ok := table[name]
			if !ok || o.group != row[0] {
				t.Errorf("%s of group %s: in table %v, group %q", name, row[0], ok, o.group)
				continue
			}
			if (name == o.negated) != (name == row[2]) {
				t.Errorf("%s: negated is %q, want %q", name, o.negated, row[2])
			}
			f, err := parseFlags([]string{name, "x"}, nil)
			if o.status == refused && o.kind == optBool && name == o.negated {
				if !f.Given(name) {
					t.Errorf("%s asks for what happens anyway, and is not taken: %v", name, err)
				}
				continue
			}
			if o.status == refused && (err == nil || !strings.HasPrefix(err.Error(), name+": not supported by aiperfd yet")) {
				t.Errorf("%s: error = %v, want a refusal by name", name, err)
			}
			if o.status != refused && !f.Given(name) {
				t.Errorf("%s: not taken: %v", name, err)
			}
		}
	}
	for _, o := range options() {
		seen += len(o.spellings())
		if o.help == "" || o.status == supported && o.path == "" && o.names != "--config -f" && o.group != "Fixed Schedule" && o.group != "Workers" {
			t.Errorf("%s: no help or no path", o.names)
		}
	}
	for _, row := range optionRows() {
		for name := range strings.FieldsSeq(row.names) {
			if table[name].name != name {
				t.Errorf("flags.md has no section of %s", name)
			}
		}
	}
	if len(rows) != 264 || spellings != 321 || seen != spellings+113 || len(table) != seen {
		t.Errorf("%d options, %d spellings, %d in the table, %d distinct", len(rows), spellings, seen, len(table))
	}
}

// Every refused option among AIPerf's common options is refused on purpose.
// TestSystemPromptOfCompletions: an API without roles gets the system prompt in
// front of the prompt.
func TestSystemPromptOfCompletions(t *testing.T) {
	for _, argv := range [][]string{{"--system-prompt", "x"}, {"--shared-system-prompt-length", "5"}} {
		mustFlags(t, append(argv, "--endpoint-type", "completions")...)
	}
}

func TestEverydayOptions(t *testing.T) {
	table := flagTable()
	for _, row := range aiperfFlags(t) {
		name := strings.Fields(row[1])[0]
		if row[3] == "P0" && table[name].status == refused {
			t.Errorf("%s: status %v", name, table[name].status)
		}
	}
}

func TestFlagKinds(t *testing.T) {
	f, _ := parseFlags(nil, nil)
	argv := []string{"profile", "-m", "m", "--api-key", "sk-1", "-H", "X-A: 1", "Authorization: Bearer x", "--url=http://u:p@h", "h2/?api_key=S", "--streaming", "--extra-inputs", "api_key:X", "--api-key-file", "/p"}
	want := "aiperfd profile -m 'm' --api-key '<redacted>' -H 'X-A: 1' '<redacted>' --url='http://<redacted>@h' 'h2/?api_key=<redacted>' --streaming --extra-inputs 'api_key:<redacted>' --api-key-file '/p'"
	if got := redact.CommandLine("aiperfd", argv, f); got != want {
		t.Errorf("command line = %s\nwant %s", got, want)
	}
}

func TestUsage(t *testing.T) {
	var all, short bytes.Buffer
	if err := errors.Join(Usage(&all, new(plan.Choices())), UsageShort(&short, new(plan.Choices()))); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nEndpoint\n", "  --model-names, --model, -m TEXT…\n",
		"  --concurrency NUMBER\n      Number of concurrent sessions; with a request rate, the maximum. (default:\n      1 without a rate, unlimited with one)\n",
		"  --header, -H NAME:VALUE\n", "  --insecure\n",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("help lacks %q", want)
		}
	}
	if !strings.HasPrefix(all.String(), "\nLoad Generator\n") || strings.Index(all.String(), "\nOutput\n") > strings.Index(all.String(), "\nEndpoint\n") {
		t.Error("load and output are not the first groups")
	}
	if strings.Contains(all.String(), "--optuna-sampler") || strings.Contains(all.String(), "--zmq-host") {
		t.Error("help shows options that do nothing")
	}
	for _, name := range commonFlags() {
		if !strings.Contains(short.String(), name) || !slices.Contains(strings.FieldsFunc(all.String(), func(r rune) bool { return r == ' ' || r == ',' || r == '\n' }), name) {
			t.Errorf("%s is not in both helps", name)
		}
	}
	for _, text := range []string{all.String(), short.String()} {
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > usageWidth {
				t.Errorf("a line of the help has %d columns: %s", n, line)
			}
		}
	}
	if n := strings.Count(short.String(), "\n"); n > 80 {
		t.Errorf("the short help has %d lines", n)
	}
}

// The examples of the help are command lines that are taken.
func TestUsageExamples(t *testing.T) {
	text := strings.ReplaceAll(usageExamples, "\\\n", " ")
	count := 0
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "aiperfd profile ")
		if !ok {
			continue
		}
		count++
		words := strings.Fields(rest)
		if before, after, quoted := strings.Cut(rest, `"`); quoted {
			words = append(strings.Fields(before), strings.TrimSuffix(after, `"`))
		}
		f, err := parseFlags(words, nil)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if slices.Contains(words, "--input-file") {
			continue // a file of the user's
		}
		if _, _, err := f.Document(); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if count != 6 {
		t.Errorf("%d examples", count)
	}
}

// TestLastValueCounts: of an option that is given twice, the last value counts.
func TestLastValueCounts(t *testing.T) {
	d := mustFlags(t, "--concurrency", "8", "--isl", "5", "--streaming", "--concurrency=3", "--prompt-input-tokens-mean", "7", "--streaming=false")
	if c, isl := *d.Benchmark.Phases[0].Concurrency, *d.Benchmark.Datasets[0].Prompts.ISL.Mean; c != 3 || isl != 7 || d.Benchmark.Endpoint.Streaming {
		t.Errorf("concurrency %d, ISL %v, streaming %v; want 3, 7, false", c, isl, d.Benchmark.Endpoint.Streaming)
	}
}

func TestComplete(t *testing.T) {
	for _, c := range []struct {
		before []string
		word   string
		want   string // words without their meaning
		files  bool
	}{
		{nil, "--concurrency-s", "--concurrency-steps", false},
		{[]string{"--streaming"}, "--benchmark-g", "--benchmark-grace-period", false},
		{[]string{"--ui"}, "", "dashboard simple none", false},
		{[]string{"--endpoint-type"}, "rer", "rerank", false},
		{[]string{"-m", "x"}, "--report=b", "--report=brief", false},
		{[]string{"--image-format"}, "", "jpeg png random", false},
		{[]string{"--arrival-pattern"}, "", "constant poisson gamma", false},
		{[]string{"--search-recipe"}, "max-g", "max-goodput-under-slo", false},
		{[]string{"--search-planner"}, "", "bayesian optuna monotonic_sla smooth_isotonic capacity", false},
		{[]string{"--sweep-type"}, "", "grid zip", false},
		{[]string{"--convergence-mode"}, "ci", "ci_width", false},
		{[]string{"--input-file"}, "a", "", true},
		{[]string{"--request-count"}, "", "", false},
		{nil, "--optuna-sam", "", false},
	} {
		words, files := Complete(new(plan.Choices()), c.before, c.word)
		for i, w := range words {
			words[i], _, _ = strings.Cut(w, "\t")
		}
		if got := strings.Join(words, " "); got != c.want || files != c.files {
			t.Errorf("Complete(%q, %q) = %q, files %v, want %q, %v", c.before, c.word, got, files, c.want, c.files)
		}
	}
}

// The options of the connection, from flags into the document.
func TestConnectionFlags(t *testing.T) {
	e := mustFlags(t,
		"--url-strategy", "random", "--url-affinity", "request", "--url-param", "api-version=2024-10-21", "--url-param", "sig=a=b",
		"--unix-socket", "/run/vllm.sock", "--auth-style", "api-key", "--affinity-header", "X-Session-ID,X-SMG-Routing-Key",
		"--tls-server-name", "h", "--tls-min-version", "1.3", "--http-version", "h2c",
		"--wait-for-model-timeout", "90", "--wait-for-model-mode", "both", "--wait-for-model-interval", "2",
		"--reset-kv-cache", "--reset-kv-cache-timeout-seconds", "7",
		"--server-profiler-stop-path", "/off", "--server-profiler", "--server-profiler-start-path", "/on",
	).Benchmark.Endpoint
	got := []any{
		e.URLStrategy, e.URLAffinity, e.URLParams["api-version"].Reveal(), e.URLParams["sig"].Reveal(), *e.UnixSocket, e.AuthStyle,
		e.AffinityHeaders, *e.TLS.ServerName, e.TLS.MinVersion, e.HTTPVersion, e.WaitForModelTimeout, e.WaitForModelMode,
		e.WaitForModelInterval, *e.ResetKVCache.Timeout, e.ResetKVCache.Path == nil, e.ServerProfiler.StartPath.String(), e.ServerProfiler.StopPath.String(),
	}
	want := []any{
		"random", "request", "2024-10-21", "a=b", "/run/vllm.sock", "api-key",
		[]string{"X-Session-ID", "X-SMG-Routing-Key"}, "h", "1.3", "h2c", config.Seconds(90), "both",
		config.Seconds(2), config.Seconds(7), true, "/on", "/off",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	if e := mustFlags(t, "--affinity-header", "none", "--proxy", "socks5://p:1080").Benchmark.Endpoint; len(e.AffinityHeaders) != 0 || e.Proxy.Reveal() != "socks5://p:1080" {
		t.Errorf("headers %v, proxy %v; want none, socks5://p:1080", e.AffinityHeaders, e.Proxy)
	}
}

// A key of the environment is used only if nothing else authenticates, and
// the document names its origin.
func TestKeyVariables(t *testing.T) {
	both := map[string]string{"AIPERFD_API_KEY": "ours", "OPENAI_API_KEY": "theirs"}
	openai := map[string]string{"OPENAI_API_KEY": "theirs"}
	key := filepath.Join(t.TempDir(), "key")
	file := filepath.Join(t.TempDir(), "c.yaml")
	for name, text := range map[string]string{key: "filed", file: "benchmark: {endpoint: {apiKeyFile: " + key + "}, phases: [{requests: 3}]}"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		env  map[string]string
		argv []string
		want string
	}{
		{"ours first", both, nil, "ours"},
		{"fallback", openai, nil, "theirs"},
		{"typed", both, []string{"--api-key", "typed"}, "typed"},
		{"header", openai, []string{"-H", "authorization:Basic x"}, ""},
		{"none", both, []string{"--auth-style", "none"}, ""},
		{"file of a document", both, []string{"--config", file}, "filed"},
		{"typed over the file of a document", both, []string{"--config", file, "--api-key", "typed"}, "typed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, _, err := flagsDocument(t, tt.env, tt.argv...)
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Benchmark.Endpoint.APIKey.Reveal(); got != tt.want {
				t.Errorf("key = %q, want %q", got, tt.want)
			}
			said := slices.ContainsFunc(d.Defaulted(), func(v config.Default) bool {
				return v.Pointer == "#/benchmark/endpoint/apiKey" && strings.HasPrefix(v.Reason, "the environment variable")
			})
			if from := tt.want == "ours" || tt.want == "theirs"; said != from {
				t.Errorf("the document says that the key is of the environment: %v, want %v", said, from)
			}
		})
	}
}

// Short names of objectives stand for the metrics that they usually mean.
func TestObjectiveAliases(t *testing.T) {
	got := mustFlags(t, "--goodput", "ttft:200 ITL:30 e2e:5000").Benchmark.SLOs
	want := config.Objectives{"time_to_first_token": 200, "inter_token_latency": 30, "request_latency": 5000}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objectives (-want +got):\n%s", diff)
	}
}

// An unknown objective gets the nearest name, also the nearest short one.
func TestObjectiveSuggestions(t *testing.T) {
	for value, want := range map[string]string{
		"tttf:200":        `--goodput: "tttf" is not a metric; did you mean "ttft"?`,
		"first_token:200": `--goodput: "first_token" is not a metric; did you mean "time_to_first_token"?`,
		"nothing:1":       `--goodput: "nothing" is not a metric`,
	} {
		f, err := parseFlags([]string{"--model", "m", "--goodput", value}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.Document(); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", value, err, want)
		}
	}
}

// A problem that is found after the flags were read names the flag that it is
// about, and no pointer into a document that the user never saw.
func TestExplain(t *testing.T) {
	f, err := parseFlags([]string{"--warmup-request-count", "5", "--request-rate", "7", "--image-width-mean", "9", "--goodput", "ttft:1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"#/benchmark/phases/0":                   "--warmup-request-count: text",
		"#/benchmark/phases/1/rate":              "--request-rate: text",
		"#/benchmark/datasets/0/images":          "--image-width-mean: text",
		"#/benchmark/datasets/0/images/width":    "--image-width-mean: text",
		"#/benchmark/slos":                       "--goodput: text",
		"#/benchmark/endpoint/connectionReuse":   "--connection-reuse-strategy: text",
		"#/benchmark/datasets/0/audio":           "text",
		"#/benchmark/tokenizer/name":             "--tokenizer: text",
		"#/benchmark/endpoint/jobs/pollInterval": "--poll-interval: text",
	} {
		err := f.Explain(&problem.Invalid{Problems: []problem.Problem{{Pointer: pointer, Detail: "text"}}})
		if err.Error() != want {
			t.Errorf("%s: %q, want %q", pointer, err, want)
		}
	}
	if got := f.Explain(&problem.Invalid{Problems: []problem.Problem{{Pointer: "#/x/rate", Line: 3, Detail: "rate: text"}}}).Error(); got != "line 3: x/rate: text" {
		t.Errorf("a problem of a file became %q", got)
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aiperfd/internal/app/terminal"
	"aiperfd/internal/engine/tokenizer"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
	"aiperfd/internal/mock/token"
)

// mockEnvPrefix is the prefix of the environment variables of the mock's flags.
const mockEnvPrefix = "AIPERFD_MOCK_"

const mockLong = `Run a simulated inference server with the OpenAI API.

The first token of a response is sent --ttft after the request, each further one
--itl after the previous one. Both are distributions: 20ms, const:20ms,
uniform:10ms:30ms, normal:20ms:5ms, lognormal:20ms:0.5, exp:20ms,
gamma:20ms:0.5 or bimodal:0.01:const:20ms:const:2s (the second with that
probability).

With --preset, times come from a model of a server with continuous batching:
requests queue, share steps and a key-value cache, reuse cached prefixes, and
are preempted if the cache is full. Each parameter of the preset has a flag.

Every flag can also be set by an environment variable (AIPERFD_MOCK_TTFT for
--ttft; lists are separated by newlines) and by a key of the YAML file given by
--config (ttft: 20ms). The command line has precedence over the environment, and
the environment over the file.

Routes: those of the endpoint types; GET /v1/models, /v1/models/NAME,
/v1/responses/ID (the most recent ones), /health, /ping, /version, /load,
/server_info, /metrics (of the server that --metrics names), /vllm/metrics,
/sglang/metrics, /trtllm/metrics, /dcgm/metrics (GPU exporter),
/mock/summary and /mock/requests?limit=N (what the server did, by its own
clock), /mock/state, /mock/cases; POST /sleep, /wake_up, /reset_prefix_cache,
/start_profile, /stop_profile.

A request controls its own response by headers: X-Mock-Status: 429,
X-Mock-Action: RULE (as for --fault), X-Mock-TTFT and X-Mock-ITL: DISTRIBUTION,
X-Mock-Tokens: N, X-Mock-Case: ID (a recorded response of --cases),
X-Mock-Time-Scale: 0.1 (a factor for its times).

Vectors, scores and tokens are derived from the words of the texts, so that
similar texts get high scores: POST /v1/embeddings, /pooling, /score, /v1/score,
/rerank, /v1/rerank, /v2/rerank, /classify, /tokenize, /detokenize (vLLM, Jina,
Cohere); /embed, /embed_all, /embed_sparse, /predict, /similarity, /decode, and
/rerank with texts (TEI); /v1/ranking, /v1/infer (NIM); /api/embed,
/api/embeddings (Ollama).

Fault rules (--fault, repeatable):
` + options.FaultHelp

const mockExample = `  aiperfd mock
  aiperfd mock --port 0 --ttft lognormal:80ms:0.3 --itl 12ms --truth truth.jsonl
  aiperfd mock --preset h100-8b --max-num-seqs 128
  aiperfd mock --tls-self-signed ca.pem   # and: profile --tls-ca-file ca.pem
  aiperfd mock --fault status:503,rate=0.1 --fault reset:after_tokens:5,every=10`

// mockFlags are the flags of the mock.
type mockFlags struct {
	host      string
	port      int
	portFile  string
	keepAlive time.Duration
	tokenizer string
	uds       string
	config    string
	print     bool
	cases     string
	tls       mockTLS
	preset    string
	spans     string       // URL that gets spans; empty = none
	batch     batch.Params // see [batchFlags]
	opt       options.Options
}

// newMockCommand returns the command that runs the simulated server until SIGINT
// or SIGTERM. It prints its address on standard output and logs on standard error.
func newMockCommand() *cobra.Command {
	f := new(mockFlags)
	cmd := &cobra.Command{
		Use:     "mock",
		Short:   "Run a simulated inference server",
		Long:    mockLong,
		Example: mockExample,
		Args:    cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SilenceUsage = true // later errors are not about flags
			if err := flagsFromEnv(cmd.Flags(), mockEnvPrefix, os.LookupEnv); err != nil {
				return exitWith(exitUsage, err)
			}
			if err := flagsFromFile(cmd.Flags(), f.config, onlyOnCommandLine()...); err != nil {
				return exitWith(exitUsage, err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.print {
				return printFlags(cmd.OutOrStdout(), cmd.Flags())
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return f.run(ctx, cmd)
		},
	}
	f.serverFlags(cmd.Flags())
	f.timingFlags(cmd.Flags())
	f.acceleratorFlags(cmd.Flags())
	f.specFlags(cmd.Flags())
	f.outputFlags(cmd.Flags())
	f.streamFlags(cmd.Flags())
	f.jobFlags(cmd.Flags())
	f.metricFlags(cmd.Flags())
	return cmd
}

func (f *mockFlags) serverFlags(fs *pflag.FlagSet) {
	o := &f.opt
	fs.StringVar(&f.host, "host", "127.0.0.1", "address to listen on")
	fs.IntVar(&f.port, "port", 8000, "port to listen on; 0 picks a free one")
	fs.StringVar(&f.uds, "uds", "", "listen on this Unix `socket` instead of host and port")
	fs.StringVar(&f.config, "config", "", "read flags from this YAML `file` of names and values")
	fs.BoolVar(&f.print, "print-config", false, "print the resulting flags as YAML, without secrets, and exit")
	fs.StringVar(&f.portFile, "port-file", "", "write the port number to this `file`")
	fs.StringVar(&o.Prefix, "prefix", "", "also serve every route below this `path`, such as /v2/EP/openai")
	fs.StringArrayVar(&o.ServedModels, "served-model-name", nil, "serve only this `model` (repeatable); default any")
	fs.IntVar(&o.MaxModelLen, "max-model-len", options.DefaultMaxModelLen, "context length in `tokens`")
	fs.Int64Var(&o.MaxBody, "max-body", options.DefaultMaxBody, "largest request body in `bytes`")
	fs.StringVar(&o.APIKey, "api-key", "", "require this bearer token on /v1 routes")
	fs.BoolVar(&o.RequestIDHeaders, "enable-request-id-headers", false, "answer with X-Request-Id")
	fs.DurationVar(&f.keepAlive, "keep-alive-timeout", 0, "close idle connections after this time; 0 = never")
	fs.DurationVar(&o.ReadyAfter, "ready-after", 0, "answer 503 for this long after the start")
	fs.BoolVar(&o.NoModelsRoute, "no-models-route", false, "answer 404 to GET /v1/models")
	fs.Var((*faultList)(&o.Faults), "fault", "a fault `rule` (repeatable), see above")
	f.tls.register(fs)
}

func (f *mockFlags) metricFlags(fs *pflag.FlagSet) {
	o := &f.opt
	fs.StringVar(&o.GPU, "gpu", options.DefaultGPU, "GPU `model` on /dcgm/metrics (one of "+strings.Join(options.GPUs(), ", ")+")")
	fs.IntVar(&o.GPUs, "gpus", 1, "number of GPUs on /dcgm/metrics")
	fs.DurationVar(&o.GPURefresh, "gpu-refresh", 0,
		"how often /dcgm/metrics collects its values, as dcgm-exporter -c does; 0 = whenever it is read")
	fs.DurationVar(&o.GPULag, "gpu-lag", 0, "how much later /dcgm/metrics shows what it has collected")
	fs.StringVar(&f.spans, "otlp-traces-endpoint", "",
		"send spans of requests with a sampled traceparent to this `URL` (OTLP/HTTP), with vLLM's attributes")
	fs.DurationVar(&o.Spans.Delay, "otlp-traces-delay", options.DefaultSpanDelay, "how long spans are kept before they are sent")
	choiceVar(fs, &o.Metrics, "metrics", "whose metrics the server exposes; each also has a page of its own, such as /sglang/metrics")
	fs.DurationVar(&o.MetricsReset, "metrics-reset", 0,
		"when all metrics begin again at zero, once, as those of a restarted server do; 0 = never")
	fs.BoolVar(&o.OldMetricNames, "old-metric-names", false, "also export metrics under vLLM's old names")
	fs.BoolVar(&o.NoControlHeaders, "no-control-headers", false, "ignore X-Mock- headers of requests")
	fs.StringVar(&f.cases, "cases", "",
		"JSON `file` with recorded responses, selected by X-Mock-Case: ID or by the path /mock/case/ID")
	fs.Float64Var(&o.TimeScale, "time-scale", 1, "`factor` for the times of recorded responses")
	fs.StringVar(&o.TruthFile, "truth", "", "write one JSON line per request with the server's timestamps to this `file`")
	fs.BoolVar(&o.TruthChunks, "truth-chunks", false, "include the time of every content event in --truth")
	fs.IntVar(&o.TruthLimit, "truth-limit", options.DefaultTruthLimit,
		"number of requests kept for /mock/summary and /mock/requests")
}

func (f *mockFlags) timingFlags(fs *pflag.FlagSet) {
	o := &f.opt
	fs.TextVar(&o.TTFT, "ttft", mock.ConstDelay(options.DefaultTTFT), "time to first token, a `distribution`")
	fs.TextVar(&o.ITL, "itl", mock.ConstDelay(options.DefaultITL), "inter-token latency, a `distribution`")
	fs.BoolVar(&o.ITLPerRequest, "itl-per-request", false, "draw --itl once per request instead of once per token")
	fs.DurationVar(&o.PrefillPerToken, "prefill-per-token", 0, "added to --ttft for every prompt token")
	fs.BoolVar(&o.Fast, "fast", false, "no delays at all")
	fs.Uint64Var(&o.Seed, "seed", 0, "seed for all random choices")
}

func (f *mockFlags) acceleratorFlags(fs *pflag.FlagSet) {
	fs.StringVar(&f.preset, "preset", "", "simulate a server with continuous batching on this `accelerator` (one of "+
		strings.Join(options.Presets(), ", ")+")")
	f.batch.PrefixCache = true
	batchFlags(fs, &f.batch)
}

func (f *mockFlags) specFlags(fs *pflag.FlagSet) {
	o := &f.opt.Spec
	fs.IntVar(&o.Tokens, "spec-tokens", 0, "speculative decoding with this many draft `tokens` per step; 0 = none")
	fs.Var((*acceptanceList)(&o.Acceptance), "spec-acceptance", fmt.Sprintf(
		"how likely a draft token is accepted if those before it were, or TEXT=RATE for requests that contain TEXT (`rule`, repeatable; default %v)",
		options.DefaultAcceptance))
	choiceVar(fs, &o.Report, "spec-report", "how responses report speculative decoding: as vLLM, vLLM with all steps, SGLang or TensorRT-LLM")
}

func (f *mockFlags) outputFlags(fs *pflag.FlagSet) {
	o := &f.opt
	fs.StringVar(&f.tokenizer, "tokenizer", "builtin",
		"tokenizer: builtin (o200k_base), another tiktoken encoding, the `path` of a tokenizer.json, or words (a simple one)")
	choiceVar(fs, &o.OutputMode, "output-mode",
		"exact: max_tokens is the length; natural: an end is drawn from --output-tokens")
	fs.TextVar(&o.OutputTokens, "output-tokens", options.DefaultOutputTokens(),
		"output length if the request has no limit, a `distribution`")
	choiceVar(fs, &o.Content, "content", "text of responses")
	fs.IntVar(&o.ReasoningTokens, "reasoning-tokens", 0, "reasoning `tokens` before the text, if the API separates them")
	o.ToolRate = fs.Float64("tool-rate", options.DefaultToolRate, "`share` of requests with tools that get a tool call")
	fs.IntVar(&o.ParallelTools, "parallel-tools", 1, "number of `calls` in a response with tool calls")
	fs.Float64Var(&o.RefusalRate, "refusal-rate", 0, "`share` of chats that are refused")
	fs.StringVar(&o.ReasoningField, "reasoning-field", options.DefaultReasoningField,
		"`name` of the field with the reasoning of chat responses")
}

func (f *mockFlags) streamFlags(fs *pflag.FlagSet) {
	o := &f.opt
	fs.TextVar(&o.TokensPerChunk, "tokens-per-chunk", random.ConstLength(1), "tokens per event, a `distribution`")
	fs.IntVar(&o.Coalesce, "coalesce", 1, "events per network write")
	choiceVar(fs, &o.RoleChunk, "role-chunk", "position of the role in chat streams")
	choiceVar(fs, &o.Usage, "usage", "when to send token counts")
	choiceVar(fs, &o.FinishChunk, "finish-chunk", "position of the finish reason in streams")
	fs.BoolVar(&o.NoDone, "no-done", false, "end streams without [DONE]")
	choiceVar(fs, &o.Done, "done", "end marker of streams")
	choiceVar(fs, &o.StreamType, "stream-type", "content type of streams")
	fs.BoolVar(&o.BOM, "bom", false, "begin streams with a byte order mark")
	fs.BoolVar(&o.NoSpace, "no-space-after-colon", false, "write data: without a space after it")
	fs.BoolVar(&o.ExtraFields, "extra-fields", false, "add id, retry and unknown fields to every event")
	fs.BoolVar(&o.MultiLine, "multi-line-data", false, "spread events over several data lines")
	fs.Float64Var(&o.EmptyChunks, "empty-chunks", 0, "`share` of content events that follow an empty one")
	fs.StringVar(&o.Trailing, "trailing", "", "send this `text` after the last event of a stream")
	fs.DurationVar(&o.Comments, "comments", 0, "send a comment after this time of silence in a stream; 0 = never")
	choiceVar(fs, &o.Split, "split", "how events are split into writes: bytes:N, or")
	choiceVar(fs, &o.LineEnd, "line-end", "line ends of streams")
}

func (f *mockFlags) jobFlags(fs *pflag.FlagSet) {
	o := &f.opt.Jobs
	fs.IntVar(&o.Workers, "job-workers", options.DefaultJobWorkers,
		"concurrent jobs, separately for the Runpod queue and for videos")
	fs.TextVar(&o.ColdStart, "job-cold-start", mock.ConstDelay(0), "start-up time of a worker, a `distribution`")
	fs.TextVar(&o.Time, "job-time", mock.ConstDelay(options.DefaultJobTime), "time to generate a video, a `distribution`")
	fs.DurationVar(&o.Expiry, "job-expiry", 0,
		"delete a result this long after its job has ended; 0 = 1m for /runsync, 30m for all others")
	choiceVar(fs, &o.Output, "runpod-output",
		"what Runpod's workers put out: pieces of a stream's text, or lists of tokens")
}

// choiceVar adds a flag with a closed list of values, which mock.New checks.
func choiceVar(fs *pflag.FlagSet, p *string, name, usage string) {
	list := options.Choices(name)
	fs.StringVar(p, name, list[0], usage+" (one of "+strings.Join(list, ", ")+")")
}

// faultList is a repeatable flag of fault rules.
type faultList []mock.Fault

// Set implements pflag.Value. A value from the environment may have several lines,
// one rule per line.
func (l *faultList) Set(text string) error {
	for line := range strings.Lines(text) {
		rule, err := mock.ParseFault(strings.TrimSpace(line))
		if err != nil {
			return err
		}
		*l = append(*l, rule)
	}
	return nil
}

// String implements pflag.Value.
func (l *faultList) String() string {
	rules := make([]string, len(*l))
	for i, r := range *l {
		rules[i] = r.String()
	}
	return strings.Join(rules, "\n")
}

// Type implements pflag.Value.
func (l *faultList) Type() string { return ruleType }

// ruleType is the type of flags that are lists of rules, which are separated by newlines.
const ruleType = "rule"

// acceptanceList is a repeatable flag of rules of acceptance.
type acceptanceList []options.Acceptance

// Set implements pflag.Value. A value from the environment may have several lines, one rule
// per line.
func (l *acceptanceList) Set(text string) error {
	for line := range strings.Lines(text) {
		rule, err := options.ParseAcceptance(strings.TrimSpace(line))
		if err != nil {
			return err
		}
		*l = append(*l, rule)
	}
	return nil
}

// String implements pflag.Value.
func (l *acceptanceList) String() string {
	rules := make([]string, len(*l))
	for i, r := range *l {
		rules[i] = r.String()
	}
	return strings.Join(rules, "\n")
}

// Type implements pflag.Value.
func (l *acceptanceList) Type() string { return ruleType }

// run serves until ctx ends.
func (f *mockFlags) run(ctx context.Context, cmd *cobra.Command) (err error) {
	if err := f.resolve(cmd.Flags()); err != nil {
		return err
	}
	secure, err := f.tls.config(f.host)
	if err != nil {
		return err
	}
	if f.tokenizer != "words" {
		t, err := tokenizer.Load(f.tokenizer)
		if err != nil {
			return fmt.Errorf("load tokenizer: %w", err)
		}
		f.opt.Tokenizer = token.FromCodec(t)
	}
	if f.cases != "" {
		list, err := options.LoadCases(f.cases)
		if err != nil {
			return err
		}
		f.opt.Cases = list
	}
	if f.spans != "" {
		// Spans are sent while the server ends, too.
		f.opt.Spans.Send, err = spanSender(f.spans, f.logger(cmd)) //nolint:contextcheck
		if err != nil {
			return exitWith(exitUsage, err)
		}
	}
	server, err := mock.New(f.opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	ln, err := f.listen(ctx)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	log := f.logger(cmd)
	if err := f.announce(cmd, ln); err != nil {
		return errors.Join(err, ln.Close())
	}
	f.logStart(log, ln)
	err = mock.Serve(ctx, ln, server, mock.ServeOptions{KeepAlive: f.keepAlive, TLS: secure})
	sum := server.Summary()
	log.Info().Int64("requests", sum.Requests).Int("ok", sum.ByOutcome[mock.OutcomeOK]).
		Int64("max_concurrency", sum.MaxConcurrency).Msg("mock server stopped")
	return err
}

// logger returns a logger that writes readable lines to a terminal, else JSON.
func (f *mockFlags) logger(cmd *cobra.Command) zerolog.Logger {
	if terminal.IsTerminal(os.Stderr) {
		return terminal.NewLogger(os.Stderr, zerolog.InfoLevel, terminal.Colored(os.Stderr))
	}
	return zerolog.New(cmd.ErrOrStderr()).With().Timestamp().Logger()
}

// logStart logs the start, unless announce prints it on the same terminal.
func (f *mockFlags) logStart(log zerolog.Logger, ln net.Listener) {
	if terminal.IsTerminal(os.Stdout) && terminal.IsTerminal(os.Stderr) {
		return
	}
	hello := log.Info().Stringer("address", ln.Addr()).Int("faults", len(f.opt.Faults))
	if f.opt.Accelerator != nil {
		hello.Str("preset", f.preset)
	} else {
		hello.Stringer("ttft", f.opt.TTFT).Stringer("itl", f.opt.ITL)
	}
	hello.Msg("mock server is listening")
}

// announce writes the address of the server: to the port file, and to standard
// output as text for a terminal, else as one line of JSON.
func (f *mockFlags) announce(cmd *cobra.Command, ln net.Listener) error {
	if f.portFile != "" {
		_, port, err := net.SplitHostPort(ln.Addr().String())
		if err != nil {
			return fmt.Errorf("read own port: %w", err)
		}
		if err := os.WriteFile(f.portFile, []byte(port+"\n"), 0o644); err != nil {
			return fmt.Errorf("write port file: %w", err)
		}
	}
	address := "http://" + ln.Addr().String()
	switch {
	case f.uds != "":
		address = "unix://" + f.uds
	case f.tls != mockTLS{}:
		address = "https://" + ln.Addr().String()
	}
	if terminal.IsTerminal(os.Stdout) {
		_, err := io.WriteString(cmd.OutOrStdout(), f.hello(address))
		return err
	}
	line, err := json.Marshal(map[string]string{"listening": address})
	if err != nil {
		return fmt.Errorf("announce address: %w", err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", line)
	return err
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"aiperfd/internal/engine/mock"
	"aiperfd/internal/engine/tokenizer"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mockEnvPrefix starts the environment variables of the mock's flags.
const mockEnvPrefix = "AIPERFD_MOCK_"

const mockLong = `Run a simulated inference server with the OpenAI API.

The first token of a response is sent --ttft after the request, each following token
--itl after the previous one. Both are distributions: 20ms, const:20ms,
uniform:10ms:30ms, normal:20ms:5ms, lognormal:20ms:0.5, exp:20ms, gamma:20ms:0.5 or
bimodal:0.01:const:20ms:const:2s (the second one with probability 0.01).

With --preset, a model of a batching server computes the times instead: requests
queue, share steps and a key-value cache with prefix caching, and are preempted if
the cache is full. Each parameter of the preset can be changed by a flag.

Every flag can also be set by an environment variable (--ttft is AIPERFD_MOCK_TTFT;
list items are separated by newlines) or in the YAML file given by --config
(ttft: 20ms). The command line takes precedence over the environment, and the
environment over the file.

Routes: those of the endpoint types (GET /mock/requests lists the requests), GET
/v1/models, /v1/models/NAME, /v1/responses/ID (the most recent ones), /health,
/ping, /version, /load, /server_info, /metrics (vLLM's names), /dcgm/metrics
(those of the GPU exporter), /mock/summary and /mock/requests?limit=N (what the
server did, by its own clock), /mock/state, /mock/cases; POST /sleep, /wake_up,
/reset_prefix_cache, /start_profile, /stop_profile.

Request headers control the response: X-Mock-Status: 429, X-Mock-Action: RULE (as
--fault), X-Mock-TTFT and X-Mock-ITL: DISTRIBUTION, X-Mock-Tokens: N, X-Mock-Case: ID
(a recorded response of --cases), X-Mock-Time-Scale: 0.1 (factor of its times).

Embeddings, scores and tokens, computed from the words of the texts, so that similar
texts score high: POST /v1/embeddings, /pooling, /score, /v1/score, /rerank,
/v1/rerank, /v2/rerank, /classify, /tokenize, /detokenize (vLLM, Jina, Cohere);
/embed, /embed_all, /embed_sparse, /predict, /similarity, /decode, and /rerank with
texts (TEI); /v1/ranking, /v1/infer (NIM); /api/embed, /api/embeddings (Ollama).

Fault rules (--fault, repeatable):
` + mock.FaultHelp

const mockExample = `  aiperfd mock
  aiperfd mock --port 0 --ttft lognormal:80ms:0.3 --itl 12ms --truth truth.jsonl
  aiperfd mock --preset h100-8b --max-num-seqs 128
  aiperfd mock --tls-self-signed ca.pem   # and: profile --tls-ca-file ca.pem
  aiperfd mock --fault status:503,rate=0.1 --fault reset:after_tokens:5,every=10`

// mockFlags is what the command line of the mock sets.
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
	batch     batchFlags
	opt       mock.Options
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
			cmd.SilenceUsage = true // from here on, usage would not help
			if err := flagsFromEnv(cmd.Flags(), mockEnvPrefix, os.LookupEnv); err != nil {
				return exitError{exitUsage, err}
			}
			if err := flagsFromFile(cmd.Flags(), f.config); err != nil {
				return exitError{exitUsage, err}
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
	f.batch.register(cmd.Flags())
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
	fs.StringVar(&o.Prefix, "prefix", "", "serve every route below this `path` too, such as /v2/EP/openai")
	fs.StringArrayVar(&o.ServedModels, "served-model-name", nil, "accept only this `model` (repeatable); default any")
	fs.IntVar(&o.MaxModelLen, "max-model-len", mock.DefaultMaxModelLen, "context length in `tokens`")
	fs.Int64Var(&o.MaxBody, "max-body", mock.DefaultMaxBody, "largest request body in `bytes`")
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
	fs.StringVar(&o.GPU, "gpu", mock.DefaultGPU, "the `card` of /dcgm/metrics (one of "+strings.Join(mock.GPUs(), ", ")+")")
	fs.IntVar(&o.GPUs, "gpus", 1, "number of cards in /dcgm/metrics")
	fs.BoolVar(&o.OldMetricNames, "old-metric-names", false, "expose metrics under vLLM's old names too")
	fs.BoolVar(&o.NoControlHeaders, "no-control-headers", false, "ignore X-Mock- request headers")
	fs.StringVar(&f.cases, "cases", "", "JSON `file` with recorded responses; requests select one by X-Mock-Case: ID or by the path /mock/case/ID")
	fs.Float64Var(&o.TimeScale, "time-scale", 1, "`factor` applied to the times of recorded responses")
	fs.StringVar(&o.TruthFile, "truth", "", "write one JSON line per request with the server's timestamps to this `file`")
	fs.BoolVar(&o.TruthChunks, "truth-chunks", false, "record the time of every content event in --truth")
	fs.IntVar(&o.TruthLimit, "truth-limit", mock.DefaultTruthLimit, "number of requests to keep for /mock/summary and /mock/requests")
}

func (f *mockFlags) timingFlags(fs *pflag.FlagSet) {
	o := &f.opt
	fs.TextVar(&o.TTFT, "ttft", mock.ConstDelay(mock.DefaultTTFT), "time to first token, a `distribution`")
	fs.TextVar(&o.ITL, "itl", mock.ConstDelay(mock.DefaultITL), "inter-token latency, a `distribution`")
	fs.BoolVar(&o.ITLPerRequest, "itl-per-request", false, "draw --itl once per request instead of once per token")
	fs.DurationVar(&o.PrefillPerToken, "prefill-per-token", 0, "added to --ttft for every prompt token")
	fs.BoolVar(&o.Fast, "fast", false, "no delays")
	fs.Uint64Var(&o.Seed, "seed", 0, "random seed")
}

func (f *mockFlags) outputFlags(fs *pflag.FlagSet) {
	o := &f.opt
	fs.StringVar(&f.tokenizer, "tokenizer", "builtin", "tokenizer: builtin (o200k_base), another tiktoken encoding, the `path` of a tokenizer.json, or words (a simple one)")
	choiceVar(fs, &o.OutputMode, "output-mode", "exact: responses have max_tokens tokens; natural: the length is drawn from --output-tokens")
	fs.TextVar(&o.OutputTokens, "output-tokens", mock.DefaultOutputTokens(), "response length if the request does not set one, a `distribution`")
	choiceVar(fs, &o.Content, "content", "content of responses")
	fs.IntVar(&o.ReasoningTokens, "reasoning-tokens", 0, "reasoning `tokens` before the answer, if the API separates them")
	o.ToolRate = fs.Float64("tool-rate", mock.DefaultToolRate, "`share` of requests with optional tools that are answered by a tool call")
	fs.IntVar(&o.ParallelTools, "parallel-tools", 1, "number of `calls` in a response with tool calls")
	fs.Float64Var(&o.RefusalRate, "refusal-rate", 0, "`share` of chats that are refused")
	fs.StringVar(&o.ReasoningField, "reasoning-field", mock.DefaultReasoningField, "`name` of the field with the reasoning of a chat response")
}

func (f *mockFlags) streamFlags(fs *pflag.FlagSet) {
	o := &f.opt
	fs.TextVar(&o.TokensPerChunk, "tokens-per-chunk", mock.ConstLength(1), "tokens per event, a `distribution`")
	fs.IntVar(&o.Coalesce, "coalesce", 1, "events per network write")
	choiceVar(fs, &o.RoleChunk, "role-chunk", "where a chat stream sends the role")
	choiceVar(fs, &o.Usage, "usage", "when to send token counts")
	choiceVar(fs, &o.FinishChunk, "finish-chunk", "where a stream sends the finish reason")
	fs.BoolVar(&o.NoDone, "no-done", false, "end streams without [DONE]")
	choiceVar(fs, &o.Done, "done", "how a stream sends [DONE]")
	choiceVar(fs, &o.StreamType, "stream-type", "content type of streams")
	fs.BoolVar(&o.BOM, "bom", false, "begin streams with a byte order mark")
	fs.BoolVar(&o.NoSpace, "no-space-after-colon", false, "write data: without a following space")
	fs.BoolVar(&o.ExtraFields, "extra-fields", false, "put id, retry and unknown fields into every event")
	fs.BoolVar(&o.MultiLine, "multi-line-data", false, "spread events over several data lines")
	fs.Float64Var(&o.EmptyChunks, "empty-chunks", 0, "`share` of content events preceded by an empty one")
	fs.StringVar(&o.Trailing, "trailing", "", "send this `text` after the last event of a stream")
	fs.DurationVar(&o.Comments, "comments", 0, "send a comment after this time of silence in a stream; 0 = never")
	choiceVar(fs, &o.Split, "split", "how events are split into writes: bytes:N, or")
	choiceVar(fs, &o.LineEnd, "line-end", "line ends of streams")
}

func (f *mockFlags) jobFlags(fs *pflag.FlagSet) {
	o := &f.opt.Jobs
	fs.IntVar(&o.Workers, "job-workers", mock.DefaultJobWorkers, "concurrent jobs, for Runpod and for videos each")
	fs.TextVar(&o.ColdStart, "job-cold-start", mock.ConstDelay(0), "start-up time of a worker before its first job, a `distribution`")
	fs.TextVar(&o.Time, "job-time", mock.ConstDelay(mock.DefaultJobTime), "time to generate a video, a `distribution`")
	fs.DurationVar(&o.Expiry, "job-expiry", 0, "delete a result this long after its job has ended; 0 = 1m for /runsync, 30m for others")
	choiceVar(fs, &o.Output, "runpod-output", "output of Runpod workers: pieces of a stream's text, or lists of tokens")
}

// choiceVar adds a flag with a closed list of values, which mock.New checks.
func choiceVar(fs *pflag.FlagSet, p *string, name, usage string) {
	list := mock.Choices(name)
	fs.StringVar(p, name, list[0], usage+" (one of "+strings.Join(list, ", ")+")")
}

// faultList is a repeatable flag of fault rules.
type faultList []mock.Fault

// Set implements pflag.Value. A value from the environment may hold several
// lines.
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
func (l *faultList) Type() string { return "rule" }

// flagsFromEnv sets every flag that the command line left alone from its
// environment variable, and returns all problems.
func flagsFromEnv(fs *pflag.FlagSet, prefix string, lookup func(string) (string, bool)) error {
	var errs []error
	fs.VisitAll(func(flag *pflag.Flag) {
		name := prefix + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		text, ok := lookup(name)
		if !ok || flag.Changed || flag.Name == "help" {
			return
		}
		values := []string{text}
		if flag.Value.Type() == "stringArray" {
			values = strings.Split(text, "\n")
		}
		for _, v := range values {
			if err := fs.Set(flag.Name, v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	})
	return errors.Join(errs...)
}

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
		f.opt.Tokenizer = mock.FromCodec(t)
	}
	if f.cases != "" {
		cases, err := mock.LoadCases(f.cases)
		if err != nil {
			return err
		}
		f.opt.Cases = cases
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

// logger logs for people on a terminal, else in JSON.
func (f *mockFlags) logger(cmd *cobra.Command) zerolog.Logger {
	if isTerminal(os.Stderr) {
		return newLogger(os.Stderr, zerolog.InfoLevel, colored(os.Stderr))
	}
	return zerolog.New(cmd.ErrOrStderr()).With().Timestamp().Logger()
}

// logStart logs the start, unless the terminal was told already.
func (f *mockFlags) logStart(log zerolog.Logger, ln net.Listener) {
	if isTerminal(os.Stdout) && isTerminal(os.Stderr) {
		return
	}
	hello := log.Info().Stringer("address", ln.Addr()).Int("faults", len(f.opt.Faults))
	if f.opt.Accelerator != nil {
		hello.Str("preset", f.batch.preset)
	} else {
		hello.Stringer("ttft", f.opt.TTFT).Stringer("itl", f.opt.ITL)
	}
	hello.Msg("mock server is listening")
}

// announce reports where the server listens: in the port file, and on standard
// output in words for a terminal, else as one line of JSON.
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
	if isTerminal(os.Stdout) {
		return f.hello(address).write(cmd.OutOrStdout())
	}
	line, err := json.Marshal(map[string]string{"listening": address})
	if err != nil {
		return fmt.Errorf("announce address: %w", err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", line)
	return err
}

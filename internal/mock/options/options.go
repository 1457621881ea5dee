// Package options has the options of the simulated server, their defaults and their
// limits.
package options

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/random"
	"aiperfd/internal/mock/token"
)

// Defaults for zero values.
const (
	DefaultTTFT           = 20 * time.Millisecond
	DefaultITL            = 5 * time.Millisecond
	DefaultModel          = "mock-model"
	DefaultMaxModelLen    = 131072
	DefaultMaxBody        = 64 << 20
	DefaultTruthLimit     = 100_000
	DefaultReasoningField = "reasoning_content"
)

// DefaultOutputTokens is the default distribution of answer lengths,
// lognormal:128:0.5.
func DefaultOutputTokens() random.Length {
	l, _ := random.ParseLength("lognormal:128:0.5") // a valid distribution
	return l
}

// Option values. The first of each list is the default.
const (
	OutputExact   = "exact"   // max_tokens, if set, is the length
	OutputNatural = "natural" // the length is drawn; max_tokens limits it

	ContentCorpus  = "corpus"  // prose, cycled
	ContentEcho    = "echo"    // the last user message, cycled
	ContentUnicode = "unicode" // characters of many scripts, of up to four bytes, cycled

	RoleSeparate  = "separate"         // a role event right before the first token
	RoleWithFirst = "with_first_token" // role and first token in one event
	RoleNone      = "none"             // never
	RoleEarly     = "early"            // a role event right after the headers

	UsageOnRequest  = "on_request"  // if stream_options requests it
	UsageAlways     = "always"      // on every stream
	UsageNever      = "never"       // never, not even in plain answers
	UsageEveryChunk = "every_chunk" // on every event and at the end

	FinishSeparate = "separate"        // a separate event without text
	FinishWithLast = "with_last_token" // on the last token's event
	FinishMissing  = "missing"         // no finish_reason at all

	LineLF    = "lf"
	LineCRLF  = "crlf"
	LineCR    = "cr"
	LineMixed = "mixed" // each in turn, from event to event

	SplitNone          = "none"           // one write per event; bytes:N is N bytes per write
	SplitEveryByte     = "every-byte"     // one write and flush per byte
	SplitRandom        = "random"         // anywhere
	SplitMidUTF8       = "mid-utf8"       // in the middle of characters
	SplitBeforeNewline = "before-newline" // before every line feed

	DoneYes       = "yes"
	DoneNo        = "no"
	DoneTwice     = "twice"
	DoneNoNewline = "no_newline"  // without its blank line
	DoneNamed     = "event_named" // with a line "event: done"

	StreamTypeRight   = "right"
	StreamTypeMissing = "missing"
	StreamTypePlain   = "text_plain"
	StreamTypeJSON    = "json"

	MetricsVLLM        = "vllm"
	MetricsSGLang      = "sglang"
	MetricsTensorRTLLM = "trtllm"
)

// choice is an option with a closed list of values, default first.
type choice struct {
	name   string // on the command line
	value  *string
	values []string
}

func (o *Options) choices() []choice {
	return []choice{
		{"output-mode", &o.OutputMode, []string{OutputExact, OutputNatural}},
		{"content", &o.Content, []string{ContentCorpus, ContentEcho, ContentUnicode}},
		{"role-chunk", &o.RoleChunk, []string{RoleSeparate, RoleWithFirst, RoleNone, RoleEarly}},
		{"usage", &o.Usage, []string{UsageOnRequest, UsageAlways, UsageNever, UsageEveryChunk}},
		{"finish-chunk", &o.FinishChunk, []string{FinishSeparate, FinishWithLast, FinishMissing}},
		{"line-end", &o.LineEnd, []string{LineLF, LineCRLF, LineCR, LineMixed}},
		{"split", &o.Split, []string{SplitNone, SplitEveryByte, SplitRandom, SplitMidUTF8, SplitBeforeNewline}},
		{"done", &o.Done, []string{DoneYes, DoneNo, DoneTwice, DoneNoNewline, DoneNamed}},
		{"stream-type", &o.StreamType, []string{StreamTypeRight, StreamTypeMissing, StreamTypePlain, StreamTypeJSON}},
		{"runpod-output", &o.Jobs.Output, []string{OutputEvents, OutputTokens}},
		{"metrics", &o.Metrics, []string{MetricsVLLM, MetricsSGLang, MetricsTensorRTLLM}},
		{"spec-report", &o.Spec.Report, []string{SpecSummary, SpecDetailed, SpecSGLang, SpecTensorRTLLM, SpecNone}},
	}
}

// Choices returns the values of an option with a closed list, default first; nil for any
// other option. Option names are those of the command line.
func Choices(option string) []string {
	for _, c := range new(Options).choices() {
		if c.name == option {
			return c.values
		}
	}
	return nil
}

// Options configures a server. The zero value of every field is valid and means the
// documented default. Slices must not be changed afterwards.
type Options struct {
	Prefix           string   // extra path prefix under which every route is served as well
	ServedModels     []string // model names that are served; empty = any name
	MaxModelLen      int      // tokens, prompt plus output; DefaultMaxModelLen
	MaxBody          int64    // bytes; DefaultMaxBody
	APIKey           string   // bearer token that /v1 routes require; "" = none
	RequestIDHeaders bool     // responses have X-Request-Id
	ReadyAfter       time.Duration
	NoModelsRoute    bool // GET /v1/models is 404

	TTFT            random.Delay  // time from the body's last byte to the first token
	ITL             random.Delay  // time from token to token
	ITLPerRequest   bool          // draw ITL once per request instead of once per token
	PrefillPerToken time.Duration // added to TTFT for every prompt token
	Fast            bool          // no delays at all: TTFT, ITL and prefill are 0
	// Accelerator computes the times of tokens instead: requests queue, share
	// steps and memory. It excludes the options above. nil = independent requests.
	Accelerator *batch.Params
	Spec        SpecOptions // speculative decoding
	Seed        uint64      // of all random numbers

	Tokenizer       token.Tokenizer // nil = token.Words
	OutputMode      string
	OutputTokens    random.Length // if the request does not limit them; DefaultOutputTokens
	Content         string
	ReasoningTokens int      // tokens of reasoning before the answer, if the API separates them
	ReasoningField  string   // of chat; DefaultReasoningField
	ToolRate        *float64 // share of requests with optional tools that are answered by a call; nil = DefaultToolRate
	ParallelTools   int      // calls in an answer that calls tools; 1
	RefusalRate     float64  // share of chats that are refused

	TokensPerChunk random.Length // 1; a chunk is written when its last token is due
	Coalesce       int           // events per network write, 1
	RoleChunk      string
	Usage          string
	FinishChunk    string
	NoDone         bool          // leave out the [DONE] event; the same as DoneNo
	Done           string        // form of the end of a stream
	StreamType     string        // the content type of streams
	BOM            bool          // streams begin with a byte order mark
	NoSpace        bool          // "data:" without a space after it
	ExtraFields    bool          // id, retry and unknown fields in every event
	MultiLine      bool          // events with several data lines
	EmptyChunks    float64       // share of content events of OpenAI's text routes with an empty one before them
	Trailing       string        // text after the last event of a stream
	Comments       time.Duration // comment after a silence of this duration in a stream; 0 = never
	Split          string
	LineEnd        string

	Jobs JobOptions

	Faults []Fault // first match wins

	NoControlHeaders bool // ignore the X-Mock- headers with which requests control their answers

	Cases     []Case  // recorded answers that requests can select by X-Mock-Case
	TimeScale float64 // factor of the times of cases; 0 = 1

	GPU  string // the card of /dcgm/metrics, one of [GPUs]; DefaultGPU
	GPUs int    // number of cards; 1
	// GPURefresh is how often the exporter of /dcgm/metrics collects the values of the cards, in whole tenths of a
	// second; 0 = whenever it is read. GPULag is how much later it shows them.
	GPURefresh, GPULag time.Duration

	Metrics        string // whose metrics the server has, where that server has them
	OldMetricNames bool   // vLLM's page has old names as well: vllm:gpu_cache_usage_perc
	// MetricsReset is when all metrics begin again at zero, once, as those of a server that is restarted do; requests
	// in flight then are not counted. 0 = never.
	MetricsReset time.Duration

	Spans SpanOptions // of requests of sampled traces

	TruthFile   string // JSONL file of api.Truth, created or truncated; "" = none
	TruthChunks bool   // record api.Truth.ChunkNs
	TruthLimit  int    // records kept in memory; DefaultTruthLimit
}

// DefaultSpanDelay is the default of SpanOptions.Delay, that of OpenTelemetry's batch processor.
const DefaultSpanDelay = 5 * time.Second

// SpanOptions say where the server sends spans of its requests.
type SpanOptions struct {
	// Send sends an ExportTraceServiceRequest in protobuf; nil = there are no spans. It is called by one goroutine at
	// a time, and may block.
	Send  func(payload []byte)
	Delay time.Duration // that spans are kept; DefaultSpanDelay
}

// WithDefaults returns o with defaults for zero values, or all its errors.
func (o Options) WithDefaults() (Options, error) {
	var p problems
	o.fillAccelerator(&p)
	orElse(&o.TTFT, random.ConstDelay(DefaultTTFT))
	orElse(&o.ITL, random.ConstDelay(DefaultITL))
	orElse(&o.OutputTokens, DefaultOutputTokens())
	orElse(&o.TokensPerChunk, random.ConstLength(1))
	orElse(&o.Tokenizer, token.Tokenizer(token.Words{}))
	orElse(&o.ReasoningField, DefaultReasoningField)
	orElse(&o.TimeScale, 1)
	orElse(&o.GPU, DefaultGPU)
	orElse(&o.Spans.Delay, DefaultSpanDelay)
	orElse(&o.Jobs.ColdStart, random.ConstDelay(0))
	orElse(&o.Jobs.Time, random.ConstDelay(DefaultJobTime))
	if o.Fast {
		o.TTFT, o.ITL, o.PrefillPerToken = random.ConstDelay(0), random.ConstDelay(0), 0
		o.Jobs.ColdStart, o.Jobs.Time = random.ConstDelay(0), random.ConstDelay(0)
	}
	if o.ToolRate == nil {
		rate := DefaultToolRate
		o.ToolRate = &rate
	}
	o.Prefix = strings.TrimRight(o.Prefix, "/")
	o.fillNumbers(&p)
	o.fillChoices(&p)
	o.check(&p)
	o.checkSpeculation(&p)
	return o, errors.Join(p...)
}

// orElse replaces a zero value.
func orElse[T comparable](p *T, otherwise T) {
	var zero T
	if *p == zero {
		*p = otherwise
	}
}

// problems are the errors of options.
type problems []error

// want adds an error unless ok.
func (p *problems) want(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

func (o *Options) fillNumbers(p *problems) {
	for _, f := range []struct {
		name string
		p    *int
		def  int
	}{
		{"max-model-len", &o.MaxModelLen, DefaultMaxModelLen},
		{"coalesce", &o.Coalesce, 1},
		{"truth-limit", &o.TruthLimit, DefaultTruthLimit},
		{"reasoning-tokens", &o.ReasoningTokens, 0},
		{"gpus", &o.GPUs, 1},
		{"parallel-tools", &o.ParallelTools, 1},
		{"job-workers", &o.Jobs.Workers, DefaultJobWorkers},
	} {
		p.want(*f.p >= 0, "%s is %d, want ≥ 0 (0 = default)", f.name, *f.p)
		orElse(f.p, f.def)
	}
	p.want(o.MaxBody >= 0, "max-body is %d, want ≥ 0 (0 = default)", o.MaxBody)
	orElse(&o.MaxBody, DefaultMaxBody)
	p.want(o.Jobs.Expiry >= 0, "job-expiry is %v, want ≥ 0 (0 = default)", o.Jobs.Expiry)
	for _, f := range []struct {
		name string
		v    time.Duration
	}{
		{"prefill-per-token", o.PrefillPerToken}, {"comments", o.Comments}, {"ready-after", o.ReadyAfter},
		{"gpu-lag", o.GPULag}, {"metrics-reset", o.MetricsReset},
		{"otlp-traces-delay", o.Spans.Delay},
	} {
		p.want(f.v >= 0, "%s is %v, want ≥ 0", f.name, f.v)
	}
	const tick = 100 * time.Millisecond
	p.want(o.GPURefresh >= 0 && o.GPURefresh%tick == 0, "gpu-refresh is %v, want a multiple of %v, or 0", o.GPURefresh, tick)
	p.want(o.GPULag <= max(o.GPURefresh, 0), "gpu-lag is %v, want at most gpu-refresh, which is %v", o.GPULag, o.GPURefresh)
}

// check checks what has no table of its own.
func (o *Options) check(p *problems) {
	for _, f := range []struct {
		name string
		v    float64
	}{{"tool-rate", *o.ToolRate}, {"refusal-rate", o.RefusalRate}, {"empty-chunks", o.EmptyChunks}} {
		p.want(f.v >= 0 && f.v <= 1, "%s is %v, want a number between 0 and 1", f.name, f.v)
	}
	p.want(o.ParallelTools <= maxParallelTools, "parallel-tools is %d, want at most %d", o.ParallelTools, maxParallelTools)
	p.want(o.GPUs <= MaxGPUs, "gpus is %d, want at most %d", o.GPUs, MaxGPUs)
	p.want(o.TimeScale >= 0 && o.TimeScale <= 1e6,
		"time-scale is %v, want a number between 0 (default, 1) and 1e6", o.TimeScale)
	p.want(o.Prefix == "" || strings.HasPrefix(o.Prefix, "/") && !strings.ContainsAny(o.Prefix, "{}*?#"),
		"prefix is %q, want a path such as /v2/EP/openai", o.Prefix)
	if _, err := FindGPU(o.GPU); err != nil {
		*p = append(*p, err)
	}
	_, bad := IndexCases(o.Cases)
	*p = append(*p, bad...)
}

func (o *Options) fillChoices(p *problems) {
	for _, c := range o.choices() {
		orElse(c.value, c.values[0])
		if c.name == "split" && strings.HasPrefix(*c.value, "bytes:") {
			if _, err := SplitSize(*c.value); err != nil {
				*p = append(*p, err)
			}
			continue
		}
		known := slices.Contains(c.values, *c.value)
		p.want(known, "%s is %q, want one of %s", c.name, *c.value, strings.Join(c.values, ", "))
	}
}

// DefaultToolRate is the share of requests with optional tools that are answered by a
// call.
const DefaultToolRate = 0.5

// maxParallelTools is the maximum number of calls of an answer.
const maxParallelTools = 100

// Package config loads the benchmark document that users write: it decodes the text strictly,
// fills in the defaults, and checks the rules that concern several fields; every problem is
// reported at once. The document has AIPerf's shape, in JSON or YAML, with camelCase or snake_case
// keys. Command-line flags are laid over a [Draft] of the same document, so that flags, files and
// the API cannot disagree.
package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/plainjson"
)

// Document is what a user submits: one benchmark and the few
// settings around it.
type Document struct {
	SchemaVersion string    `json:"schemaVersion,omitempty"`
	RandomSeed    *int64    `json:"randomSeed,omitempty"` // ≥ 0; nil = drawn and recorded when the run is compiled
	Variables     Object    `json:"variables,omitzero"`   // values that templates name
	Benchmark     Benchmark `json:"benchmark"`
	Metadata      Metadata  `json:"metadata,omitzero"`

	Sweep        *sweep.Block   `json:"sweep,omitempty"` // nil = no variations
	MultiRun     sweep.MultiRun `json:"multiRun,omitzero"`
	Repeats      *sweep.Repeats `json:"repeats,omitempty"`      // nil once it is checked: MultiRun has what it says
	Gate         *Gate          `json:"gate,omitempty"`         // nil = no rules
	NoSweepTable bool           `json:"noSweepTable,omitempty"` // the command line prints no table of variations
	// IgnoreUnsupported leaves out features of AIPerf that only add files or destinations,
	// with warnings; otherwise they are problems.
	IgnoreUnsupported bool `json:"ignoreUnsupported,omitempty"`

	defaulted []Default // values that depend on other values
	injected  []string  // values that substitutions put into secret places
	// those of injected that ${secret:NAME} gave; they are shown nowhere
	confidential []string
	keySource    string          // the flag, variable or member that gave the API key
	source       json.RawMessage // with secrets; nil unless the document is for several load generators
	untrusted    bool            // files only under roots
	roots        []string        // nil = any, or none if untrusted
	study        *Study          // nil = one run
	scenario     *Scenario       // nil = none
}

// Metadata describes a run for its users and for the queue; it does not affect what is
// measured.
type Metadata struct {
	Name   string `json:"name,omitempty"`   // ≤ 128 characters
	Labels Labels `json:"labels,omitempty"` // ≤ 32, 63/256 characters
	Notes  string `json:"notes,omitempty"`  // ≤ 4 KiB
	Pinned bool   `json:"pinned,omitempty"` // the daemon keeps the run

	Priority int `json:"priority,omitempty"` // the highest starts first
	// after the end, until the daemon deletes the run; 0 = no limit
	TTL               Seconds `json:"ttl,omitempty"`
	Deadline          Seconds `json:"deadline,omitempty"`          // after the start, when the run fails; 0 = none
	StartAfter        Time    `json:"startAfter,omitzero"`         // zero = at once
	AllowSharedTarget bool    `json:"allowSharedTarget,omitempty"` // beside others that allow it
}

// Benchmark is AIPerf's benchmark section.
type Benchmark struct {
	Models    Models     `json:"models"`
	Endpoint  Endpoint   `json:"endpoint"`
	Datasets  []Dataset  `json:"datasets"` // exactly one for now
	Phases    []Phase    `json:"phases"`   // at least one profiling phase
	Artifacts Artifacts  `json:"artifacts"`
	SLOs      Objectives `json:"slos"` // metric tag → threshold in the metric's display unit
	// RunSLOs are objectives on the statistics of a run, such as
	// "p99(time_to_first_token) < 500ms".
	RunSLOs        []string       `json:"runSlos,omitempty"`
	Gates          Gates          `json:"gates,omitzero"`
	TokenDeadline  *TokenDeadline `json:"tokenDeadline,omitempty"` // of the tokens of each request
	Tokenizer      Tokenizer      `json:"tokenizer"`
	GPUTelemetry   GPUTelemetry   `json:"gpuTelemetry"`
	ServerMetrics  ServerMetrics  `json:"serverMetrics"`
	NetworkLatency NetworkLatency `json:"networkLatency"`
	Path           Path           `json:"path"`
	Cluster        *Cluster       `json:"cluster,omitempty"` // nil = this process is the only load generator
	Runtime        Runtime        `json:"runtime"`
	Logging        Logging        `json:"logging"`
	Client         Client         `json:"client"`
	OTel           OTel           `json:"otel"`
	MLflow         MLflow         `json:"mlflow"`
	Scenario       *string        `json:"scenario"`       // name of a set of rules, or NAME@VERSION; nil = none
	UnsafeOverride bool           `json:"unsafeOverride"` // broken rules of the scenario are warnings
}

// Models are the model names that requests carry.
type Models struct {
	Strategy string  `json:"strategy"` // round_robin (default), random, weighted
	Items    []Model `json:"items"`    // none = the only model that the server lists
}

// Model is one model name.
type Model struct {
	Name   string   `json:"name"`
	Weight *float64 `json:"weight"` // strategy weighted only; all together 1 ± 0.01
}

// Endpoint is the server under test and the connection to it.
type Endpoint struct {
	URLs        []secret.URL `json:"urls"`        // at least one; default http://localhost:8000
	URLStrategy string       `json:"urlStrategy"` // round_robin (default), random, least_inflight
	URLAffinity string       `json:"urlAffinity"` // what stays on one URL: session (default), request
	URLParams   Params       `json:"urlParams"`   // for the query of every request
	IPVersion   string       `json:"ipVersion"`   // auto (default: both, IPv4 first), 4, 6
	// local addresses of connections, in turn; none = the system chooses
	SourceAddresses []string `json:"sourceAddresses"`
	UnixSocket      *string  `json:"unixSocket"` // connect here instead of to the hosts of the URLs
	Type            string   `json:"type"`       // chat (default)
	// replaces the type's path; "" = post to the base URL as it is
	Path       *string     `json:"path"`
	APIKey     secret.Text `json:"apiKey"`
	APIKeyFile *string     `json:"apiKeyFile"` // file that holds the API key
	// where the key goes: type (default: as the endpoint type has it), bearer, x-api-key, both, api-key, none
	AuthStyle           string  `json:"authStyle"`
	Timeout             Seconds `json:"timeout"`          // total for one exchange, > 0; default 21600
	ConnectTimeout      Seconds `json:"connectTimeout"`   // default 10, 0 = none
	FirstByteTimeout    Seconds `json:"firstByteTimeout"` // default 0 = none
	IdleTimeout         Seconds `json:"idleTimeout"`      // default 0 = none
	Streaming           bool    `json:"streaming"`
	ConnectionReuse     string  `json:"connectionReuse"` // pooled (default), never, sticky-user-sessions
	HTTPVersion         string  `json:"httpVersion"`     // 1.1 (default), 2, auto, h2c
	UseLegacyMaxTokens  bool    `json:"useLegacyMaxTokens"`
	UseServerTokenCount bool    `json:"useServerTokenCount"`
	PerChunkUsage       bool    `json:"perChunkUsage"` // needs streaming, chat and useServerTokenCount
	// default true: open connections before the phase that needs them
	Preconnect  bool `json:"preconnect"`
	StreamUsage bool `json:"streamUsage"` // default true: request usage in streams
	// count with the tokenizer only, as AIPerf does by default
	UseClientTokenCount bool    `json:"useClientTokenCount"`
	Headers             Headers `json:"headers"`
	Extra               Object  `json:"extra"`         // merged over every request body
	SessionHeader       *string `json:"sessionHeader"` // replaces X-Correlation-ID
	// more headers with the session's id; default X-Session-Affinity
	AffinityHeaders      []string        `json:"affinityHeaders"`
	TLSVerify            bool            `json:"tlsVerify"` // default true
	TLS                  TLS             `json:"tls,omitzero"`
	Proxy                secret.URL      `json:"proxy"`                // http, https or socks5; default none
	ProxyFromEnv         bool            `json:"proxyFromEnv"`         // honour HTTP_PROXY, HTTPS_PROXY and NO_PROXY
	WaitForModelTimeout  Seconds         `json:"waitForModelTimeout"`  // default 0 = do not wait
	WaitForModelInterval Seconds         `json:"waitForModelInterval"` // between probes; default 5
	WaitForModelMode     string          `json:"waitForModelMode"`     // models, inference (default), both
	ResetKVCache         *ResetKVCache   `json:"resetKvCache"`         // nil = leave the server's cache alone
	ServerProfiler       *ServerProfiler `json:"serverProfiler"`       // nil = leave the server's profiler alone
	Template             *Template       `json:"template"`             // of the type template
	// DynamoOSLHint sends the requested length of each response to NVIDIA Dynamo, if
	// there is one; chat and completions.
	DynamoOSLHint bool `json:"dynamoOslHint"`
	// Dialect is one of the ways in which bodies of the type can be written:
	// sagemaker has chat (default), completions and tgi, triton_generate has trtllm
	// (default) and vllm. Nil = the default.
	Dialect *string `json:"dialect"`
	// DownloadVideoContent fetches the videos that were made; video_generation only.
	DownloadVideoContent bool `json:"downloadVideoContent"`
	// UUIDAndStrip sends an image that the conversation has sent before by its key alone; format single_turn
	UUIDAndStrip bool `json:"uuidAndStrip"`
	// RequestContentType is that of bodies, if an endpoint type takes both: nil = as
	// the type has it.
	RequestContentType *string `json:"requestContentType"`
	Jobs               Jobs    `json:"jobs,omitzero"`
}

// Jobs configures submission and polling, for endpoint types whose responses take
// more than one request.
type Jobs struct {
	// before each poll; nil = as the type has it, 0.1 s to begin with
	PollInterval *Seconds `json:"pollInterval,omitempty"`
	// from the start of a request to its last answer; nil = the endpoint's timeout
	Timeout     *Seconds `json:"timeout,omitempty"`
	RunpodMode  string   `json:"runpodMode,omitempty"`  // default stream when streaming, else sync
	RunpodInput string   `json:"runpodInput,omitempty"` // default messages
}

// Template describes an API: endpoint type template.
type Template struct {
	Body          string `json:"body"`          // in Jinja's language, or the file that holds it; must make a JSON object
	ResponseField string `json:"responseField"` // JMESPath, or JSONPath with $; default text: found by itself
}

// TLS configures connections to https URLs. The zero value takes the
// system's certificate authorities and sends no client certificate.
type TLS struct {
	CAFile     *string `json:"caFile,omitempty"`     // PEM; replaces the system's authorities
	CertFile   *string `json:"certFile,omitempty"`   // PEM; needs keyFile
	KeyFile    *string `json:"keyFile,omitempty"`    // PEM, not encrypted; needs certFile
	ServerName *string `json:"serverName,omitempty"` // to request and to verify, instead of the URL's host
	MinVersion string  `json:"minVersion,omitempty"` // lowest version of TLS; default 1.2
}

// ResetKVCache resets the server's prefix cache before a run.
type ResetKVCache struct {
	Timeout *Seconds    `json:"timeoutSeconds"` // default 5
	Path    *secret.URL `json:"path"`           // default: vLLM's, then SGLang's
	// what the reset precedes: run (default), profiling (each phase of that kind), both
	Before string `json:"before,omitempty"`
}

// ServerProfiler starts the server's profiler for each profiling phase.
type ServerProfiler struct {
	Timeout   *Seconds    `json:"timeoutSeconds"` // default 5
	StartPath *secret.URL `json:"startPath"`      // default /start_profile
	StopPath  *secret.URL `json:"stopPath"`       // default /stop_profile
}

// Dataset is the content of the requests.
type Dataset struct {
	Name             string        `json:"name"`    // "main" when implicit
	Type             string        `json:"type"`    // synthetic (default), file, public
	Entries          int           `json:"entries"` // distinct conversations, ≥ 1; type file: 0 = all of the file
	RandomSeed       *int64        `json:"randomSeed"`
	Sampling         string        `json:"sampling"` // sequential (default), random, shuffle
	SystemPrompt     *string       `json:"systemPrompt"`
	SystemPromptFile *string       `json:"systemPromptFile"`
	Prompts          Prompts       `json:"prompts"`
	PrefixPrompts    PrefixPrompts `json:"prefixPrompts"`
	Images           *Images       `json:"images"`         // nil = none
	Audio            *Audio        `json:"audio"`          // nil = none
	Video            *Video        `json:"video"`          // nil = none
	Rankings         *Rankings     `json:"rankings"`       // endpoint types that rank; nil = none
	Turns            Distribution  `json:"turns"`          // default 1
	TurnDelay        Distribution  `json:"turnDelay"`      // milliseconds; default 0
	TurnDelayRatio   float64       `json:"turnDelayRatio"` // ≥ 0; default 1
	DelayCap         *Seconds      `json:"interTurnDelayCapSeconds"`
	Path             string        `json:"path,omitempty"`   // type file
	Format           string        `json:"format,omitempty"` // type file; default: what the first record looks like
	// type file: records with problems that are skipped; default 0
	SkipBadLines int      `json:"skipBadLines,omitempty"`
	Records      []Object `json:"records,omitempty"` // type file: inline instead of path
	Columns      Columns  `json:"columns,omitzero"`  // format columns, or a public dataset of the hub
	Dataset      string   `json:"dataset,omitempty"` // type public: its name, or hf:ORG/NAME
	HFSubset     string   `json:"hfSubset,omitempty"`
	HFSplit      string   `json:"hfSplit,omitempty"`
	HFRevision   string   `json:"hfRevision,omitempty"` // branch, tag or commit; default main
	// conversations of the warm-up: shared (default), separate; type synthetic
	Warmup   string `json:"warmup,omitempty"`
	OSLExact bool   `json:"oslExact"` // make the server generate as many tokens as requested
	// tokens per hash id; formats with hash ids; nil = the format's own
	BlockSize     *int         `json:"blockSize"`
	OSL           Distribution `json:"osl,omitzero"`  // type file: used if a record has no output_length
	ReplaySpeedup *float64     `json:"replaySpeedup"` // type file: divides timestamps and delays
	// OnTurnError is what follows a turn that failed: end_session (default, except for the format
	// weka_trace), continue with the next turn, or retry_turn.
	OnTurnError string    `json:"onTurnError,omitempty"`
	DAGFailFast bool      `json:"dagFailFast,omitempty"` // a child conversation that fails ends its parent
	CacheBust   CacheBust `json:"cacheBust,omitzero"`    // type file

	Synthesis *Synthesis `json:"synthesis"` // traces: changes of what was recorded; nil = none
	// traces: without their delays, and times of later turns
	IgnoreTraceDelays bool `json:"ignoreTraceDelays,omitempty"`
	// format weka_trace: traces with a request that needs more tokens, answer included, are left out
	MaxContextLength *int `json:"maxContextLength"`
	UseThinkTimeOnly bool `json:"useThinkTimeOnly,omitempty"` // format weka_trace: pauses are the recorded think times
	// format weka_trace: longest time from a request to the next one of its trace
	TraceIdleGapCap *Seconds `json:"traceIdleGapCapSeconds"`
	// traces: share of the sessions that are used, > 0, ≤ 1; nil = all
	TraceSessionSampleRatio *float64 `json:"traceSessionSampleRatio"`
	GapRule                 string   `json:"gapRule,omitempty"` // format weka_trace: what pauses begin after; critical
	Filters                 *Params  `json:"filters"`           // type public: values of columns; nil = any
	// The others are of the format baseten_trace.
	// Longest time between two requests, whatever their sessions are; nil = any
	MaxIdleGapCap  *Seconds `json:"maxIdleGapCapSeconds"`
	OpenLoopReplay *bool    `json:"openLoopReplay"`           // later turns are sent at their times; nil = true
	OpenLoopStrict bool     `json:"openLoopStrict,omitempty"` // every record is a conversation of its own
	OmitKVHints    bool     `json:"omitKvHints,omitempty"`    // bodies have neither hash_ids nor block_size
	ForceMinTokens *bool    `json:"forceMinTokens"`           // bodies have min_tokens; nil = true
}

// Synthesis changes a trace: the options of AIPerf with these names. Absent factors are 1,
// absent limits none.
type Synthesis struct {
	SpeedupRatio         *float64 `json:"speedupRatio"`         // divides times and delays; 0 = 1
	PrefixLenMultiplier  *float64 `json:"prefixLenMultiplier"`  // of the blocks that prompts share
	PrefixRootMultiplier *int     `json:"prefixRootMultiplier"` // trees of prefixes, which share nothing
	PromptLenMultiplier  *float64 `json:"promptLenMultiplier"`  // of the rest of prompts
	OutputLenMultiplier  *float64 `json:"outputLenMultiplier"`
	MaxISL               *int     `json:"maxIsl"`           // requests with longer prompts are left out
	MaxOSL               *int     `json:"maxOsl"`           // longer answers are cut
	AllowDatasetWrap     bool     `json:"allowDatasetWrap"` // format weka_trace: more lanes than traces may play a trace at a time
}

// Speedup returns the factor that divides the times and delays of a dataset.
func (d *Dataset) Speedup() float64 {
	speedup := 1.0
	if d.ReplaySpeedup != nil {
		speedup = *d.ReplaySpeedup
	}
	if s := d.Synthesis; s != nil && s.SpeedupRatio != nil && *s.SpeedupRatio > 0 {
		speedup *= *s.SpeedupRatio
	}
	return speedup
}

// Columns names the columns of a table; empty = the first of those that are usual.
type Columns struct {
	Prompt       string `json:"prompt,omitempty"`
	System       string `json:"system,omitempty"`
	OutputTokens string `json:"outputTokens,omitempty"`
	Image        string `json:"image,omitempty"`
}

// Decode reads an object over the dataset's own fixed defaults.
func (d *Dataset) Decode(f schema.Target, n *tree.Node) bool {
	d.TurnDelayRatio = schema.Default[float64](schema.Join(f.Path, "turnDelayRatio"))
	f.Fields(n, d, f.Path)
	return true
}

// Prompts are the lengths and the text source of synthetic prompts.
type Prompts struct {
	ISL       Distribution `json:"isl"`       // tokens; default 550
	OSL       Distribution `json:"osl"`       // tokens; zero value = no cap is sent
	BatchSize int          `json:"batchSize"` // texts per request; default 1
	CacheBust CacheBust    `json:"cacheBust"`
	Corpus    string       `json:"corpus"` // sonnet (default)
	// SequenceDistribution draws both lengths of a turn together, instead of ISL and
	// OSL; the probabilities add up to 99 to 101.
	SequenceDistribution []LengthPair `json:"sequenceDistribution"`
	// RandomRangeRatio draws lengths uniformly from a range around the means of ISL
	// and OSL, in the order of the tool that RandomCorpusStyle names; nil = none.
	RandomRangeRatio  *RangeRatio `json:"randomRangeRatio"`
	RandomCorpusStyle string      `json:"randomCorpusStyle"` // vllm (default), sglang
	ISLCalibrate      bool        `json:"islCalibrate"`      // subtract the tokens that the server adds
}

// LengthPair is a pair of lengths of a sequence distribution.
type LengthPair struct {
	ISL         Distribution `json:"isl"`
	OSL         Distribution `json:"osl"`
	Probability float64      `json:"probability"` // percent
}

// RangeRatio is the width of ranges of lengths, relative to their means.
type RangeRatio struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// CacheBust puts a marker into prompts, so that a prefix cache does not hit.
type CacheBust struct {
	Target string  `json:"target"` // default none; of a file dataset also empty = none
	Salt   *string `json:"salt"`   // that markers are made of; nil = the id of the run
}

// PrefixPrompts are texts that conversations share.
type PrefixPrompts struct {
	PoolSize           int  `json:"poolSize"`           // number of prefixes to draw from; 0 = none
	Length             int  `json:"length"`             // tokens each
	SharedSystemLength *int `json:"sharedSystemLength"` // one system message for all conversations, tokens
	UserContextLength  *int `json:"userContextLength"`  // one context per conversation, tokens
}

// Apart reports whether two prompts of first turns are equal or have nothing in common. Of files it is not known.
func (d *Dataset) Apart() bool {
	p := &d.PrefixPrompts
	return d.Type == "synthetic" && d.SystemPrompt == nil && d.SystemPromptFile == nil && p.PoolSize == 0 &&
		p.SharedSystemLength == nil && d.Images == nil && d.Audio == nil && d.Video == nil
}

// The types of phases whose sessions do not start by arrivals at a rate.
const (
	Concurrency   = "concurrency"    // a number of sessions is kept in progress
	UserCentric   = "user_centric"   // sessions are users that take turns
	AgenticReplay = "agentic_replay" // a number of recorded sessions is played, the first ones from their middle
	FixedSchedule = "fixed_schedule" // conversations are sent at the times of their dataset
)

// Phase is one stretch of load.
type Phase struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // warmup, profiling
	// concurrency, the kind of its arrivals, user_centric, fixed_schedule or agentic_replay
	Type               string   `json:"type"`
	ExcludeFromResults bool     `json:"excludeFromResults"` // true for warm-up, false for profiling
	Requests           *int64   `json:"requests"`           // ≥ 1
	Sessions           *int64   `json:"sessions"`           // ≥ 1
	Duration           *Seconds `json:"duration"`           // > 0
	// ≥ 0 or inf; needs a duration; default 30 for profiling with a duration, else inf
	GracePeriod *Seconds `json:"gracePeriod"`
	// ≥ 1; closed loop: default 1; rates: nil = without limit
	Concurrency *int `json:"concurrency"`
	// requests per second, > 0; rate types and user_centric
	Rate *float64 `json:"rate"`
	// new conversations per second, > 0; rate types, instead of rate
	SessionRate *float64 `json:"sessionRate"`
	Users       *int     `json:"users"` // user_centric: users at a time
	// user_centric: when a user is replaced; scheduled
	UserReplacement string `json:"userReplacement"`
	// what becomes of an arrival that finds no free slot; queue
	Saturation             string   `json:"saturation"`
	SaturationLimit        *int     `json:"saturationLimit"`        // abort: arrivals that may wait
	Smoothness             *float64 `json:"smoothness"`             // of the types that have one, > 0; 1 = Poisson
	FailedRequestThreshold *float64 `json:"failedRequestThreshold"` // 0 to 1
	// fixed_schedule: the phase starts with the first timestamp; default true without a start offset
	AutoOffset *bool `json:"autoOffset"`
	// fixed_schedule, milliseconds: the timestamp at the start of the phase; earlier conversations are left out
	StartOffset *int64 `json:"startOffset"`
	// fixed_schedule, milliseconds: later conversations are left out
	EndOffset    *int64        `json:"endOffset"`
	Cancellation *Cancellation `json:"cancellation"` // nil = no request is cancelled on purpose

	// agentic_replay: where the first sessions begin, 0 to 1 of their recorded time
	TrajectoryStartMinRatio *float64 `json:"trajectoryStartMinRatio"`
	TrajectoryStartMaxRatio *float64 `json:"trajectoryStartMaxRatio"`
	// agentic_replay: how long nothing may be in flight or due
	SystemIdleGapCap *Seconds `json:"systemIdleGapCapSeconds"`
	TreeIdleGapCap   *Seconds `json:"treeIdleGapCapSeconds,omitempty"` // agentic_replay: the same for each session
	// agentic_replay: how long, and for how many requests per lane, the sessions are played without pauses before they
	// are measured
	AgenticCacheWarmup    *Seconds `json:"agenticCacheWarmupDuration,omitempty"`
	WarmupRequestsPerLane *int     `json:"warmupRequestsPerLane,omitempty"`
	AgenticWarmupGrace    *Seconds `json:"agenticWarmupGracePeriod,omitempty"` // of this, after it
	BurstPhaseStarts      bool     `json:"burstPhaseStarts"`                   // agentic_replay: lanes and primers begin at once
	LaneStart             string   `json:"laneStart,omitempty"`                // agentic_replay: when the lanes begin
	LaneRamp              *Seconds `json:"laneRamp,omitempty"`                 // laneStart ramp: in which time

	ConcurrencyRamp *Ramp `json:"concurrencyRamp"` // of the sessions at a time, from 1; nil = none
	// requests at a time without a first token; nil = without limit
	PrefillConcurrency *int  `json:"prefillConcurrency"`
	PrefillRamp        *Ramp `json:"prefillRamp"` // of the prefill concurrency, from 1; nil = none
	// to the rate, or to the first one of the series; nil = none
	RateRamp   *Ramp       `json:"rateRamp"`
	RateSeries *RateSeries `json:"rateSeries"` // instead of a rate; it begins after the ramp
	// the phase starts when the one before has sent everything, without waiting for answers
	Seamless    bool `json:"seamless"`
	ExcludeRamp bool `json:"excludeRamp,omitempty"` // requests of ramps do not enter the metrics
}

// Cancellation ends some requests of a phase on purpose, to imitate users who go away.
type Cancellation struct {
	Rate  float64 `json:"rate"`  // percent of the requests; 0 = none
	Delay Seconds `json:"delay"` // from the time when a request is fully written
}

// Ramp is how a limit or a rate rises at the start of a phase. In documents it may be
// written as its duration.
type Ramp struct {
	Duration Seconds `json:"duration"`
	Strategy string  `json:"strategy"` // linear (default), exponential, poisson
}

// Decode implements [schema.Decodable]: it reads an object over the default.
func (r *Ramp) Decode(f schema.Target, n *tree.Node) bool {
	schema.Fill(r, f.Path)
	f.Fields(n, r, f.Path)
	return true
}

// RateSeries is a rate that changes in time. In documents it may be written as its
// points, or as its path.
type RateSeries struct {
	Path   *string `json:"path"` // of a JSON file with the points; nil once it was read
	Points []Point `json:"points"`
}

// Point is a rate at a time. Between two points, the rate changes evenly.
type Point struct {
	TimeS float64 `json:"timeS"` // seconds since the start of the series
	QPS   float64 `json:"qps"`   // arrivals per second
}

// Tokenizer names the tokenizer of prompts and answers.
type Tokenizer struct {
	Name     string `json:"name"`     // builtin, an encoding of tiktoken, a model, or a path; empty = each model's own
	Revision string `json:"revision"` // of a model: branch, tag or commit; main
	// ApplyChatTemplate includes the chat template of the tokenizer in lengths of prompts.
	ApplyChatTemplate bool `json:"applyChatTemplate"`
	// fetch a model's tokenizer from the Hugging Face hub if it is not on this machine
	AllowDownload bool `json:"allowDownload"`
}

// ServerMetrics configures what is read of the metrics that servers expose while the run loads them.
type ServerMetrics struct {
	Enabled  bool         `json:"enabled"`  // default true: the metrics of each server under test are read
	URLs     []secret.URL `json:"urls"`     // further pages of metrics
	Formats  []string     `json:"formats"`  // files: json and csv (default), jsonl, parquet
	Interval Seconds      `json:"interval"` // between two readings of a page, at least; default 1
	Map      *string      `json:"map"`      // JSON file with names of metrics of further servers; nil = none
}

// GPUTelemetry configures what is read of accelerators while the run loads the servers.
type GPUTelemetry struct {
	Enabled     bool         `json:"enabled"`     // default true: exporters on this machine are read, and those of URLs
	URLs        []secret.URL `json:"urls"`        // further pages of exporters
	MetricsFile *string      `json:"metricsFile"` // CSV file with further fields of DCGM; nil = none
	Collector   string       `json:"collector"`   // dcgm (default): pages of exporters; pynvml, amdsmi: the cards of this machine
	Mode        string       `json:"mode"`        // summary (default), realtime_dashboard
	Interval    Seconds      `json:"interval"`    // between two readings of a page, at least; default 0.333
	// seconds before the first phase in which the power of the idle accelerators is measured; 0 (default) = none
	IdleBaseline Seconds  `json:"idleBaseline"`
	Devices      []string `json:"devices"` // ids, indices, pods or namespaces; none = all devices
	// Count is the number of accelerators that the servers use, for rates of recorded sessions per accelerator.
	Count *int `json:"count"`
}

// NetworkLatency configures the metrics without the round trip to the servers. They exist only if it is enabled.
type NetworkLatency struct {
	Enabled      bool     `json:"enabled"`
	PingInterval Seconds  `json:"pingInterval"` // between two probes of a server; default 1
	MeanMS       *float64 `json:"meanMs"`       // the round trip in ms, which is not measured then; nil = it is
}

// Path configures what the kernel is asked of the connections of the load.
type Path struct {
	Enabled bool `json:"enabled"` // default true: round trips, retransmissions and segments out of order are counted
}

// Cluster says which load generators perform the run together.
type Cluster struct {
	Workers      int     `json:"workers"`
	OnWorkerLost string  `json:"onWorkerLost"` // abort (default), continue
	JoinTimeout  Seconds `json:"joinTimeout"`  // until all have joined; default 60
	LostAfter    Seconds `json:"lostAfter"`    // without a message a load generator is lost; default 10
}

// Gates decide, besides objectives, how a run is judged.
type Gates struct {
	FailOnFinding []string `json:"failOnFinding,omitempty"` // codes of findings about servers or accelerators that miss an objective
}

// Runtime holds settings of the process rather than of the measurement.
type Runtime struct {
	UI            string   `json:"ui"` // dashboard, simple, none
	APIPort       *int     `json:"apiPort"`
	APIHost       *string  `json:"apiHost"`
	StatsInterval *Seconds `json:"statsInterval"`
	Report        string   `json:"report,omitempty"` // printed at the end: brief (default), aiperf, full
	// where the command line sends the metrics of the run; nil = nowhere
	RemoteWrite *secret.URL `json:"prometheusRemoteWrite,omitempty"`
	PushGateway *secret.URL `json:"pushGateway,omitempty"`
}

// Logging holds the log level.
type Logging struct {
	Level string `json:"level"` // TRACE DEBUG INFO NOTICE WARNING SUCCESS ERROR CRITICAL
}

// Client configures the checks of the load generator itself.
type Client struct {
	Strict bool `json:"strict"` // the command line ends with exit code 4 if the verdict on the client is invalid
	// when the client measures what it adds to latencies: none (default), before, after; true is before, false none
	Certify string `json:"certify"`
}

// Default is a value that was chosen because of other values.
type Default struct {
	Pointer string `json:"pointer"` // canonical: #/benchmark/phases/0/concurrency
	Value   any    `json:"value"`
	Reason  string `json:"reason"`
}

// String names the field, its value as JSON and the reason.
func (d Default) String() string {
	value, err := plainjson.Marshal(d.Value)
	if err != nil {
		panic("encode default: " + err.Error()) // every type of a document encodes
	}
	return fmt.Sprintf("%s: %s (%s)", strings.TrimPrefix(d.Pointer, "#/"), value, d.Reason)
}

// Source returns the document as it was read, with its secrets, to be read again by each of several load generators;
// nil for a run of one.
func (d *Document) Source() json.RawMessage { return d.source }

// KeySource names the flag, the environment variable or the member that gave the API key;
// "" if nothing did.
func (d *Document) KeySource() string { return d.keySource }

// Defaulted returns the values that were chosen because of other values. The
// slice must not be changed.
func (d *Document) Defaulted() []Default { return d.defaulted }

// Study returns what the document asks for beyond one run; nil = it is one run.
func (d *Document) Study() *Study { return d.study }

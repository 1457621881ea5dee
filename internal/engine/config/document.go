// Package config is the benchmark document that users write: AIPerf's shape, in
// JSON or YAML, with camelCase or snake_case keys. It loads a document strictly,
// applies the defaults into it, and reports every problem at once. Command-line
// flags are laid over a [Draft] of the same document, so that flags, files and the
// API cannot disagree.
package config

import (
	"aiperfd/internal/engine/config/decode"
	"aiperfd/internal/engine/config/seconds"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/tree"
)

// Document is what a user submits: one benchmark and the few
// settings around it.
type Document struct {
	SchemaVersion string    `json:"schemaVersion,omitempty" form:"version" validate:"oneof=2.0"`
	RandomSeed    *int64    `json:"randomSeed,omitempty" validate:"gte=0"` // ≥ 0; nil = drawn and recorded when the run is compiled
	Variables     Object    `json:"variables,omitzero"`                    // values that templates name
	Benchmark     Benchmark `json:"benchmark"`
	Metadata      Metadata  `json:"metadata,omitzero"`

	Sweep        *sweep.Block   `json:"sweep,omitempty"` // nil = no variations
	MultiRun     sweep.MultiRun `json:"multiRun,omitzero"`
	NoSweepTable bool           `json:"noSweepTable,omitempty"` // the command line prints no table of variations
	// IgnoreUnsupported leaves out features of AIPerf that only add files or destinations,
	// with warnings; otherwise they are problems.
	IgnoreUnsupported bool `json:"ignoreUnsupported,omitempty"`

	defaulted []Default // values that depend on other values
	injected  []string  // values that substitutions put into secret places
	// those of injected that ${secret:NAME} gave; they are shown nowhere
	confidential []string
	keySource    string // the flag, variable or member that gave the API key
	untrusted    bool   // files only under roots
	roots        []string
	study        *Study // nil = one run
}

// Metadata describes a run for its users and for the queue; it does not affect what is
// measured.
type Metadata struct {
	Name   string `json:"name,omitempty" validate:"max=128"`   // ≤ 128 characters
	Labels Labels `json:"labels,omitempty"`                    // ≤ 32, 63/256 characters
	Notes  string `json:"notes,omitempty" validate:"max=4096"` // ≤ 4 KiB
	Pinned bool   `json:"pinned,omitempty"`                    // the daemon keeps the run

	Priority          int     `json:"priority,omitempty" validate:"gte=-100,lte=100"`  // the highest starts first
	TTL               Seconds `json:"ttl,omitempty" validate:"gt=0,lte=315360000"`     // after the end, until the daemon deletes the run; 0 = no limit
	Deadline          Seconds `json:"deadline,omitempty" validate:"gt=0,lte=31536000"` // after the start, when the run fails; 0 = none
	StartAfter        Time    `json:"startAfter,omitzero"`                             // zero = at once
	AllowSharedTarget bool    `json:"allowSharedTarget,omitempty"`                     // beside others that allow it
}

// Benchmark is AIPerf's benchmark section.
type Benchmark struct {
	Models    Models     `json:"models"`
	Endpoint  Endpoint   `json:"endpoint"`
	Datasets  []Dataset  `json:"datasets" validate:"min=1,max=1"` // exactly one for now
	Phases    []Phase    `json:"phases" validate:"min=1,max=100"` // at least one profiling phase
	Artifacts Artifacts  `json:"artifacts"`
	SLOs      Objectives `json:"slos"` // metric tag → threshold in the metric's display unit
	// RunSLOs are objectives on the statistics of a run, such as
	// "p99(time_to_first_token) < 500ms".
	RunSLOs       []string       `json:"runSlos,omitempty"`
	TokenDeadline *TokenDeadline `json:"tokenDeadline,omitempty"` // of the tokens of each request
	Tokenizer     Tokenizer      `json:"tokenizer"`
	Runtime       Runtime        `json:"runtime"`
	Logging       Logging        `json:"logging"`
	Client        Client         `json:"client"`
}

// Models are the model names that requests carry.
type Models struct {
	Strategy string  `json:"strategy" validate:"oneof=round_robin random weighted"` // round_robin (default), random, weighted
	Items    []Model `json:"items"`                                                 // none = the only model that the server lists
}

// Model is one model name.
type Model struct {
	Name   string   `json:"name" validate:"min=1" size:"name"`
	Weight *float64 `json:"weight" validate:"gte=0"` // strategy weighted only; all together 1 ± 0.01
}

// Endpoint is the server under test and the connection to it.
type Endpoint struct {
	URLs                 []secret.URL    `json:"urls" validate:"min=1"`                                          // at least one; default http://localhost:8000
	URLStrategy          string          `json:"urlStrategy" validate:"oneof=round_robin random least_inflight"` // round_robin (default), random, least_inflight
	URLAffinity          string          `json:"urlAffinity" validate:"oneof=session request"`                   // what stays on one URL: session (default), request
	URLParams            Params          `json:"urlParams"`                                                      // for the query of every request
	IPVersion            string          `json:"ipVersion" form:"version" validate:"oneof=auto 4 6"`             // auto (default: both, IPv4 first), 4, 6
	SourceAddresses      []string        `json:"sourceAddresses"`                                                // local addresses of connections, in turn; none = the system chooses
	UnixSocket           *string         `json:"unixSocket" validate:"min=1"`                                    // connect here instead of to the hosts of the URLs
	Type                 string          `json:"type" choices:"endpointTypes"`                                   // chat (default)
	Path                 *string         `json:"path"`                                                           // replaces the type's path; "" = post to the base URL as it is
	APIKey               secret.Text     `json:"apiKey"`
	APIKeyFile           *string         `json:"apiKeyFile" validate:"min=1"`                                        // file that holds the API key
	AuthStyle            string          `json:"authStyle" validate:"oneof=type bearer x-api-key both api-key none"` // where the key goes: type (default: as the endpoint type has it), bearer, x-api-key, both, api-key, none
	Timeout              Seconds         `json:"timeout" validate:"gt=0"`                                            // total for one exchange, > 0; default 21600
	ConnectTimeout       Seconds         `json:"connectTimeout" validate:"gte=0"`                                    // default 10, 0 = none
	FirstByteTimeout     Seconds         `json:"firstByteTimeout" validate:"gte=0"`                                  // default 0 = none
	IdleTimeout          Seconds         `json:"idleTimeout" validate:"gte=0"`                                       // default 0 = none
	Streaming            bool            `json:"streaming"`
	ConnectionReuse      string          `json:"connectionReuse" validate:"oneof=pooled never sticky-user-sessions"` // pooled (default), never, sticky-user-sessions
	HTTPVersion          string          `json:"httpVersion" form:"version" validate:"oneof=1.1 2 auto h2c"`         // 1.1 (default), 2, auto, h2c
	UseLegacyMaxTokens   bool            `json:"useLegacyMaxTokens"`
	UseServerTokenCount  bool            `json:"useServerTokenCount"`
	PerChunkUsage        bool            `json:"perChunkUsage"`       // needs streaming, chat and useServerTokenCount
	Preconnect           bool            `json:"preconnect"`          // default true: open connections before the phase that needs them
	StreamUsage          bool            `json:"streamUsage"`         // default true: request usage in streams
	UseClientTokenCount  bool            `json:"useClientTokenCount"` // count with the tokenizer only, as AIPerf does by default
	Headers              Headers         `json:"headers"`
	Extra                Object          `json:"extra"`           // merged over every request body
	SessionHeader        *string         `json:"sessionHeader"`   // replaces X-Correlation-ID
	AffinityHeaders      []string        `json:"affinityHeaders"` // more headers with the session's id; default X-Session-Affinity
	TLSVerify            bool            `json:"tlsVerify"`       // default true
	TLS                  TLS             `json:"tls,omitzero"`
	Proxy                secret.URL      `json:"proxy" form:"proxy"`                                      // http, https or socks5; default none
	ProxyFromEnv         bool            `json:"proxyFromEnv"`                                            // honour HTTP_PROXY, HTTPS_PROXY and NO_PROXY
	WaitForModelTimeout  Seconds         `json:"waitForModelTimeout" validate:"gte=0"`                    // default 0 = do not wait
	WaitForModelInterval Seconds         `json:"waitForModelInterval" validate:"gt=0"`                    // between probes; default 5
	WaitForModelMode     string          `json:"waitForModelMode" validate:"oneof=models inference both"` // models, inference (default), both
	ResetKVCache         *ResetKVCache   `json:"resetKvCache"`                                            // nil = leave the server's cache alone
	ServerProfiler       *ServerProfiler `json:"serverProfiler"`                                          // nil = leave the server's profiler alone
	Template             *Template       `json:"template"`                                                // of the type template
	// DynamoOSLHint sends the requested length of each response to NVIDIA Dynamo, if
	// there is one; chat and completions.
	DynamoOSLHint bool `json:"dynamoOslHint"`
	// Dialect is one of the ways in which bodies of the type can be written:
	// sagemaker has chat (default), completions and tgi, triton_generate has trtllm
	// (default) and vllm. Nil = the default.
	Dialect *string `json:"dialect" choices:"dialects"`
	// DownloadVideoContent fetches the videos that were made; video_generation only.
	DownloadVideoContent bool `json:"downloadVideoContent"`
	// RequestContentType is that of bodies, if an endpoint type takes both: nil = as
	// the type has it.
	RequestContentType *string `json:"requestContentType" validate:"oneof=application/json multipart/form-data"`
	Jobs               Jobs    `json:"jobs,omitzero"`
}

// Jobs configures submission and polling, for endpoint types whose responses take
// more than one request.
type Jobs struct {
	PollInterval *Seconds `json:"pollInterval,omitempty" validate:"gt=0"`                              // before each poll; nil = as the type has it, 0.1 s to begin with
	Timeout      *Seconds `json:"timeout,omitempty" validate:"gt=0"`                                   // from the start of a request to its last answer; nil = the endpoint's timeout
	RunpodMode   string   `json:"runpodMode,omitempty" validate:"oneof=sync async stream"`             // default stream when streaming, else sync
	RunpodInput  string   `json:"runpodInput,omitempty" validate:"oneof=messages prompt openai route"` // default messages
}

// Template describes an API: endpoint type template.
type Template struct {
	Body          string `json:"body" validate:"min=1" size:"prompt"` // in Jinja's language, or the file that holds it; must make a JSON object
	ResponseField string `json:"responseField"`                       // JMESPath, or JSONPath with $; default text: found by itself
}

// TLS configures connections to https URLs. The zero value takes the
// system's certificate authorities and sends no client certificate.
type TLS struct {
	CAFile     *string `json:"caFile,omitempty" validate:"min=1"`                            // PEM; replaces the system's authorities
	CertFile   *string `json:"certFile,omitempty" validate:"min=1"`                          // PEM; needs keyFile
	KeyFile    *string `json:"keyFile,omitempty" validate:"min=1"`                           // PEM, not encrypted; needs certFile
	ServerName *string `json:"serverName,omitempty" validate:"min=1"`                        // to request and to verify, instead of the URL's host
	MinVersion string  `json:"minVersion,omitempty" form:"version" validate:"oneof=1.2 1.3"` // lowest version of TLS; default 1.2
}

// ResetKVCache resets the server's prefix cache before a run.
type ResetKVCache struct {
	Timeout *Seconds    `json:"timeoutSeconds" validate:"gt=0"`                       // default 5
	Path    *secret.URL `json:"path" form:"path"`                                     // default: vLLM's, then SGLang's
	Before  string      `json:"before,omitempty" validate:"oneof=run profiling both"` // what the reset precedes: run (default), profiling (each phase of that kind), both
}

// ServerProfiler starts the server's profiler for each profiling phase.
type ServerProfiler struct {
	Timeout   *Seconds    `json:"timeoutSeconds" validate:"gt=0"` // default 5
	StartPath *secret.URL `json:"startPath" form:"path"`          // default /start_profile
	StopPath  *secret.URL `json:"stopPath" form:"path"`           // default /stop_profile
}

// Dataset is the content of the requests.
type Dataset struct {
	Name             string        `json:"name" validate:"min=1" size:"name"`           // "main" when implicit
	Type             string        `json:"type" validate:"oneof=synthetic file public"` // synthetic (default), file, public
	Entries          int           `json:"entries" validate:"gte=1,lte=10000000"`       // distinct conversations, ≥ 1; type file: 0 = all of the file
	RandomSeed       *int64        `json:"randomSeed" validate:"gte=0"`
	Sampling         string        `json:"sampling" choices:"samplings"` // sequential (default), random, shuffle
	SystemPrompt     *string       `json:"systemPrompt" validate:"min=1" size:"prompt"`
	SystemPromptFile *string       `json:"systemPromptFile" validate:"min=1"`
	Prompts          Prompts       `json:"prompts"`
	PrefixPrompts    PrefixPrompts `json:"prefixPrompts"`
	Images           *Images       `json:"images"`                          // nil = none
	Audio            *Audio        `json:"audio"`                           // nil = none
	Video            *Video        `json:"video"`                           // nil = none
	Rankings         *Rankings     `json:"rankings"`                        // endpoint types that rank; nil = none
	Turns            Distribution  `json:"turns" least:"1"`                 // default 1
	TurnDelay        Distribution  `json:"turnDelay"`                       // milliseconds; default 0
	TurnDelayRatio   float64       `json:"turnDelayRatio" validate:"gte=0"` // ≥ 0; default 1
	DelayCap         *Seconds      `json:"interTurnDelayCapSeconds" validate:"gte=0"`
	Path             string        `json:"path,omitempty" validate:"min=1"`                   // type file
	Format           string        `json:"format,omitempty" choices:"formats"`                // type file; default: what the first record looks like
	SkipBadLines     int           `json:"skipBadLines,omitempty" validate:"gte=0"`           // type file: records with problems that are skipped; default 0
	Records          []Object      `json:"records,omitempty" validate:"min=1" size:"records"` // type file: inline instead of path
	Columns          Columns       `json:"columns,omitzero"`                                  // format columns, or a public dataset of the hub
	Dataset          string        `json:"dataset,omitempty" validate:"min=1"`                // type public: its name, or hf:ORG/NAME
	HFSubset         string        `json:"hfSubset,omitempty" validate:"min=1"`
	HFSplit          string        `json:"hfSplit,omitempty" validate:"min=1"`
	HFRevision       string        `json:"hfRevision,omitempty" validate:"min=1"`             // branch, tag or commit; default main
	Warmup           string        `json:"warmup,omitempty" validate:"oneof=shared separate"` // conversations of the warm-up: shared (default), separate; type synthetic
	OSLExact         bool          `json:"oslExact"`                                          // make the server generate as many tokens as requested
	BlockSize        *int          `json:"blockSize" validate:"gte=1"`                        // tokens per hash id; formats with hash ids; nil = the format's own
	OSL              Distribution  `json:"osl,omitzero" least:"1"`                            // type file: used if a record has no output_length
	ReplaySpeedup    *float64      `json:"replaySpeedup" validate:"gt=0"`                     // type file: divides timestamps and delays
	// OnTurnError is what follows a turn that failed: end_session (default), continue with
	// the next turn, or retry_turn.
	OnTurnError string    `json:"onTurnError,omitempty" validate:"oneof=end_session continue retry_turn"`
	DAGFailFast bool      `json:"dagFailFast,omitempty"` // a child conversation that fails ends its parent
	CacheBust   CacheBust `json:"cacheBust,omitzero"`    // type file

	Synthesis         *Synthesis `json:"synthesis"`                   // traces: changes of what was recorded; nil = none
	IgnoreTraceDelays bool       `json:"ignoreTraceDelays,omitempty"` // traces: without their delays, and times of later turns
}

// Columns names the columns of a table; empty = the first of those that are usual.
type Columns struct {
	Prompt       string `json:"prompt,omitempty" validate:"min=1"`
	System       string `json:"system,omitempty" validate:"min=1"`
	OutputTokens string `json:"outputTokens,omitempty" validate:"min=1"`
	Image        string `json:"image,omitempty" validate:"min=1"`
}

// Decode reads an object over the dataset's own fixed defaults.
func (d *Dataset) Decode(f decode.Field, n *tree.Node) bool {
	d.TurnDelayRatio = 1
	f.Fields(n, d, f.Path)
	return true
}

// Prompts are the lengths and the text source of synthetic prompts.
type Prompts struct {
	ISL       Distribution `json:"isl" least:"1"`                        // tokens; default 550
	OSL       Distribution `json:"osl" least:"1"`                        // tokens; zero value = no cap is sent
	BatchSize int          `json:"batchSize" validate:"gte=1,lte=10000"` // texts per request; default 1
	CacheBust CacheBust    `json:"cacheBust"`
	Corpus    string       `json:"corpus" choices:"corpora"` // sonnet (default)
	// SequenceDistribution draws both lengths of a turn together, instead of ISL and
	// OSL; the probabilities add up to 99 to 101.
	SequenceDistribution []LengthPair `json:"sequenceDistribution" validate:"min=1"`
	// RandomRangeRatio draws lengths uniformly from a range around the means of ISL
	// and OSL, in the order of the tool that RandomCorpusStyle names; nil = none.
	RandomRangeRatio  *RangeRatio `json:"randomRangeRatio"`
	RandomCorpusStyle string      `json:"randomCorpusStyle" validate:"oneof=vllm sglang"` // vllm (default), sglang
	ISLCalibrate      bool        `json:"islCalibrate"`                                   // subtract the tokens that the server adds
}

// LengthPair is a pair of lengths of a sequence distribution.
type LengthPair struct {
	ISL         Distribution `json:"isl" least:"1"`
	OSL         Distribution `json:"osl" least:"1"`
	Probability float64      `json:"probability" validate:"gt=0,lte=100"` // percent
}

// RangeRatio is the width of ranges of lengths, relative to their means.
type RangeRatio struct {
	Input  float64 `json:"input" validate:"gte=0,lte=1"`
	Output float64 `json:"output" validate:"gte=0,lte=1"`
}

// CacheBust puts a marker into prompts, so that a prefix cache does not hit.
type CacheBust struct {
	Target string `json:"target" validate:"oneof=none system_prefix system_suffix first_turn_prefix first_turn_suffix per_request warmup_isolation_system warmup_isolation_first_turn"` // default none; of a file dataset also empty = none
}

// PrefixPrompts are texts that conversations share.
type PrefixPrompts struct {
	PoolSize           int  `json:"poolSize" validate:"gte=0,lte=1000000"`            // number of prefixes to draw from; 0 = none
	Length             int  `json:"length" validate:"gte=0,lte=16777216"`             // tokens each
	SharedSystemLength *int `json:"sharedSystemLength" validate:"gte=1,lte=16777216"` // one system message for all conversations, tokens
	UserContextLength  *int `json:"userContextLength" validate:"gte=1,lte=16777216"`  // one context per conversation, tokens
}

// Seconds is a length of time, see [seconds.Seconds].
type Seconds = seconds.Seconds

// Phase is one stretch of load.
type Phase struct {
	Name                   string        `json:"name"`
	Kind                   string        `json:"kind" validate:"oneof=warmup profiling"`                   // warmup, profiling
	Type                   string        `json:"type" choices:"phaseTypes"`                                // concurrency, the kind of its arrivals, user_centric or fixed_schedule
	ExcludeFromResults     bool          `json:"excludeFromResults"`                                       // true for warm-up, false for profiling
	Requests               *int64        `json:"requests" validate:"gte=1"`                                // ≥ 1
	Sessions               *int64        `json:"sessions" validate:"gte=1"`                                // ≥ 1
	Duration               *Seconds      `json:"duration" validate:"gt=0"`                                 // > 0
	GracePeriod            *Seconds      `json:"gracePeriod" form:"infinite" validate:"gte=0"`             // ≥ 0 or inf; needs a duration; default 30 for profiling with a duration, else inf
	Concurrency            *int          `json:"concurrency" validate:"gte=1"`                             // ≥ 1; closed loop: default 1; rates: nil = without limit
	Rate                   *float64      `json:"rate" validate:"gt=0"`                                     // requests per second, > 0; rate types and user_centric
	SessionRate            *float64      `json:"sessionRate" validate:"gt=0"`                              // new conversations per second, > 0; rate types, instead of rate
	Users                  *int          `json:"users" validate:"gte=1,lte=1000000"`                       // user_centric: users at a time
	UserReplacement        string        `json:"userReplacement" validate:"oneof=scheduled on-completion"` // user_centric: when a user is replaced; scheduled
	Saturation             string        `json:"saturation" validate:"oneof=queue drop abort"`             // what becomes of an arrival that finds no free slot; queue
	SaturationLimit        *int          `json:"saturationLimit" validate:"gte=1"`                         // abort: arrivals that may wait
	Smoothness             *float64      `json:"smoothness" validate:"gt=0"`                               // of the types that have one, > 0; 1 = Poisson
	FailedRequestThreshold *float64      `json:"failedRequestThreshold" validate:"gte=0,lte=1"`            // 0 to 1
	AutoOffset             *bool         `json:"autoOffset"`                                               // fixed_schedule: the phase starts with the first timestamp; default true without a start offset
	StartOffset            *int64        `json:"startOffset" validate:"gte=0"`                             // fixed_schedule, milliseconds: the timestamp at the start of the phase; earlier conversations are left out
	EndOffset              *int64        `json:"endOffset" validate:"gte=0"`                               // fixed_schedule, milliseconds: later conversations are left out
	Cancellation           *Cancellation `json:"cancellation"`                                             // nil = no request is cancelled on purpose

	ConcurrencyRamp    *Ramp       `json:"concurrencyRamp"`                     // of the sessions at a time, from 1; nil = none
	PrefillConcurrency *int        `json:"prefillConcurrency" validate:"gte=1"` // requests at a time without a first token; nil = without limit
	PrefillRamp        *Ramp       `json:"prefillRamp"`                         // of the prefill concurrency, from 1; nil = none
	RateRamp           *Ramp       `json:"rateRamp"`                            // to the rate, or to the first one of the series; nil = none
	RateSeries         *RateSeries `json:"rateSeries"`                          // instead of a rate; it begins after the ramp
	Seamless           bool        `json:"seamless"`                            // the phase starts when the one before has sent everything, without waiting for answers
	ExcludeRamp        bool        `json:"excludeRamp,omitempty"`               // requests of ramps do not enter the metrics
}

// Tokenizer names the tokenizer of prompts and answers.
type Tokenizer struct {
	Name     string `json:"name"`     // builtin, an encoding of tiktoken, a model, or a path; empty = each model's own
	Revision string `json:"revision"` // of a model: branch, tag or commit; main
	// ApplyChatTemplate includes the chat template of the tokenizer in lengths of prompts.
	ApplyChatTemplate bool `json:"applyChatTemplate"`
	AllowDownload     bool `json:"allowDownload"` // fetch a model's tokenizer from the Hugging Face hub if it is not on this machine
}

// Runtime holds settings of the process rather than of the measurement.
type Runtime struct {
	UI            string   `json:"ui" validate:"oneof=dashboard simple none"` // dashboard, simple, none
	APIPort       *int     `json:"apiPort" validate:"gte=1,lte=65535"`
	APIHost       *string  `json:"apiHost"`
	StatsInterval *Seconds `json:"statsInterval" validate:"gte=0,lte=1000"`
	Report        string   `json:"report,omitempty" validate:"oneof=brief aiperf full"` // printed at the end: brief (default), aiperf, full
}

// Logging holds the log level.
type Logging struct {
	Level string `json:"level" validate:"oneof=TRACE DEBUG INFO NOTICE WARNING SUCCESS ERROR CRITICAL"` // TRACE DEBUG INFO NOTICE WARNING SUCCESS ERROR CRITICAL
}

// Client configures the checks of the load generator itself.
type Client struct {
	Strict  bool   `json:"strict"`                                     // the command line ends with exit code 4 if the verdict on the client is invalid
	Certify string `json:"certify" validate:"oneof=none before after"` // when the client measures what it adds to latencies: none (default), before, after; true is before, false none
}

// KeySource names the flag, the environment variable or the member that gave the API key;
// "" if nothing did.
func (d *Document) KeySource() string { return d.keySource }

// Defaulted returns the values that were chosen because of other values. The
// slice must not be changed.
func (d *Document) Defaulted() []Default { return d.defaulted }

// Study returns what the document asks for beyond one run; nil = it is one run.
func (d *Document) Study() *Study { return d.study }

package reference

// fieldText describes a field in the reference beyond the text of its flag.
type fieldText struct {
	path string // canonical, with * for an index
	text string // "" = the help of the field's flag
	unit string // "" = none, or s for a duration
	def  string // the default in words, if it is not the same in every document
}

// fieldTexts has a row for every field that no flag describes, and for those of
// which a document needs to know more. A field without any text fails a test.
func fieldTexts() []fieldText {
	const (
		inf     = "no limit"
		tokens  = "tokens"
		section = "benchmark."
		e       = section + "endpoint."
		d       = section + "datasets.*."
		p       = section + "phases.*."
	)
	return []fieldText{
		{path: "", text: "One benchmark and the settings around it."},
		{path: "schemaVersion", text: "Version of the document's format.", def: "2.0"},
		{path: "randomSeed", text: "Seed for all random choices of a run. The same seed gives the same prompts and the same schedule."},
		{path: "metadata", text: "Describes the run; does not change what is measured."},
		{path: "metadata.name", text: "Name of the run."},
		{path: "metadata.labels", text: "Labels of the run, at most 32. A name has 1 to 63 characters, a value at most 256."},
		{path: "metadata.notes", text: "Free text."},

		{path: "benchmark", text: "The target server, the data and the load."},
		{path: "benchmark.models", text: "The models to request. If absent, the only model in the server's list is used."},
		{path: "benchmark.model", text: "Short for `models`."},
		{path: "benchmark.models.items", text: "The models to request."},
		{path: "benchmark.models.items.*", text: "One model."},
		{path: "benchmark.models.items.*.name", text: "Name to send as `model`."},
		{path: "benchmark.models.items.*.weight", text: "Share of sessions, with the strategy `weighted`. All weights add up to 1."},

		{path: "benchmark.endpoint", text: "The server and how to send requests to it."},
		{path: e + "useClientTokenCount", text: "Count input and output with the tokenizer only, as AIPerf does by default, for streamed and other responses."},
		{path: e + "urls", text: "Base URLs of the server. Requests are distributed over several. `http+unix://%2Frun%2Fvllm.sock` names a Unix socket."},
		{path: e + "url", text: "Short for `urls`."},
		{path: e + "urlParams", text: "Query parameters of every request, by name."},
		{path: e + "apiKey", text: "API key. It is never stored, logged or shown. In a document from a file, use `${NAME}` or `apiKeyFile`."},
		{path: e + "apiKeyFile", text: "File that holds the API key; surrounding whitespace is ignored."},
		{path: e + "preconnect", text: "Open connections before each phase, so that the first requests do not wait for them. If false, each connection is opened when a request needs it, and its setup is part of the latency."},
		{path: e + "streamUsage", text: "Request a usage block in streams."},
		{path: e + "useServerTokenCount", text: "Take token counts from the usage block of responses only. If false, the usage block is preferred, and the tokenizer counts if it is absent."},
		{path: e + "tlsVerify", text: "Verify TLS certificates."},
		{path: e + "headers", text: "Headers of every request, by name."},
		{path: e + "extra", text: "Additional members of every request body."},
		{path: e + "affinityHeaders", text: "Further headers that carry the session id, such as `X-Session-ID`; an empty list sends none."},
		{path: e + "tls", text: "Certificates and versions of TLS."},
		{path: e + "resetKvCache", text: "Reset the prefix cache of every server before the run; fail if that fails. Absent = no reset."},
		{path: e + "serverProfiler", text: "Start the profiler of every server before each profiling phase and stop it afterwards. Absent = no profiling."},
		{path: e + "template", text: "Request body and response format of a custom API. Sets `type` to `template`."},
		{path: e + "template.body", text: "Request body as a Jinja template; must produce a JSON object."},
		{path: e + "template.responseField", text: "Path of the text in the response: JMESPath, or JSONPath if it begins with `$`.", def: "found by common names"},
		{path: e + "jobs", text: "Submission and polling of jobs; for the types `runpod` and `video_generation`."},
		{path: e + "jobs.timeout", def: "endpoint.timeout"},
		{path: e + "jobs.runpodMode", def: "stream if streaming, else sync"},
		{path: e + "jobs.pollInterval", def: "0.1; runpod slows down to 1"},

		{path: "benchmark.datasets", text: "What to send. Exactly one dataset."},
		{path: "benchmark.dataset", text: "Short for `datasets`."},
		{path: "benchmark.datasets.*", text: "One dataset."},
		{path: d + "name", text: "Name of the dataset.", def: "main"},
		{path: d + "type", text: "Where prompts come from: `synthetic` generates them, `file` reads them.", def: "file with path or records, else synthetic"},
		{path: d + "entries", text: "Distinct conversations in the pool; of a file, the number of entries to use.", def: "sessions, else requests, else 100; of a file, all"},
		{path: d + "randomSeed", text: "Seed of this dataset.", def: "randomSeed"},
		{path: d + "prompts", text: "Lengths and text of synthetic prompts."},
		{path: d + "prompts.isl", text: "Length of a prompt.", unit: tokens},
		{path: d + "isl", text: "Short for `prompts.isl`, with type `synthetic`.", unit: tokens},
		{path: d + "prompts.osl", text: "Maximum length of a response.", unit: tokens, def: inf},
		{path: d + "prompts.sequenceDistribution", text: "Pairs of lengths in place of `isl` and `osl`; one pair is drawn for each turn.", def: "none"},
		{path: d + "prompts.sequenceDistribution.*", text: "A pair of lengths."},
		{path: d + "prompts.sequenceDistribution.*.isl", text: "Length of a prompt.", unit: tokens},
		{path: d + "prompts.sequenceDistribution.*.islStddev", text: "Standard deviation of `isl`, beside a number."},
		{path: d + "prompts.sequenceDistribution.*.osl", text: "Maximum length of a response.", unit: tokens},
		{path: d + "prompts.sequenceDistribution.*.oslStddev", text: "Standard deviation of `osl`, beside a number."},
		{path: d + "prompts.sequenceDistribution.*.probability", text: "Share of turns in percent. All probabilities add up to 100 (99 to 101 is accepted)."},
		{path: d + "prompts.randomRangeRatio", text: "Draw lengths uniformly from a range around the means of `isl` and `osl`, in the order of the tool that `randomCorpusStyle` names: with style `vllm` from mean·(1 − r) to mean·(1 + r), with style `sglang` from mean·r to mean. A number is the ratio of both lengths."},
		{path: d + "prompts.randomRangeRatio.input", text: "Ratio of the input length; style `vllm`: below 1."},
		{path: d + "prompts.randomRangeRatio.output", text: "Ratio of the output length; style `sglang`: the same as `input`."},
		{path: d + "prompts.randomCorpusStyle", text: "Tool whose random dataset `randomRangeRatio` and the corpus `random` reproduce: `vllm` or `sglang`."},
		{path: d + "prompts.islCalibrate", text: "Before the run, measure how many tokens the server adds to each prompt (chat template, special tokens) and subtract them from `isl`, so that the server counts `isl` tokens. Two requests, which are not measured, compare the server's count (usage, or `/tokenize`) with the client's; the run fails if the server does not count, or counts with another tokenizer. A system message, prefixes and the history are not subtracted."},
		{path: d + "prefixPrompts", text: "Text shared by conversations, so that a prefix cache can hit."},
		{path: d + "prefixPrompts.length", text: "Length of each prefix in the pool.", unit: tokens},
		{path: d + "prefixPrompts.sharedSystemLength", text: "Length of a generated system message shared by all conversations.", unit: tokens},
		{path: d + "prefixPrompts.userContextLength", text: "Length of a generated context at the start of each conversation.", unit: tokens},
		{path: d + "images", text: "Generated images of each request. Absent = none."},
		{path: d + "images.batchSize", text: "Images per request; 0 = none.", def: "1 if another field of images is given, else 0"},
		{path: d + "images.width", text: "Width of an image.", unit: "pixels"},
		{path: d + "images.height", text: "Height of an image.", unit: "pixels"},
		{path: d + "audio", text: "Generated audio clips of each request. Absent = none."},
		{path: d + "audio.batchSize", text: "Clips per request; 0 = none.", def: "1 if another field of audio is given, else 0"},
		{path: d + "audio.length", text: "Length of a clip.", unit: "s"},
		{path: d + "audio.depths", text: "Bits per sample; one of several is drawn for each clip.", unit: "bit", def: "16"},
		{path: d + "audio.sampleRates", text: "Sample rates, 1 to 96 in kHz or 1000 to 384000 in Hz; one of several is drawn for each clip.", unit: "kHz", def: "16"},
		{path: d + "rankings", text: "Queries and passages for endpoint types that rank.", def: "present if the endpoint type ranks"},
		{path: d + "rankings.passages", text: "Passages per request."},
		{path: d + "rankings.passageTokens", text: "Length of a passage.", unit: tokens},
		{path: d + "rankings.queryTokens", text: "Length of a query.", unit: tokens},
		{path: d + "turns", text: "Turns per conversation.", unit: "turns"},
		{path: d + "turnDelay", text: "Think time before each further turn.", unit: "ms"},
		{path: d + "interTurnDelayCapSeconds", text: "Longest think time.", def: inf},
		{path: d + "oslExact", text: "Make the server generate as many tokens as requested: requests with a maximum length also carry `ignore_eos` and `min_tokens` (`min_new_tokens` with the type `sglang_generate`). For the types `chat`, `completions` and `sglang_generate` on vLLM, SGLang and servers that take their fields. Needs `osl`, or a file with output lengths."},
		{path: d + "path", text: "File to read; only for type `file`."},
		{path: d + "format", text: "Format of the file; docs/datasets.md lists them.", def: "single_turn"},
		{path: d + "records", text: "The file's lines as objects, in place of `path`."},
		{path: d + "osl", text: "Maximum response length for records of a file that have none. With type `synthetic`, short for `prompts.osl`.", unit: tokens, def: inf},

		{path: "benchmark.phases", text: "The phases of load, performed one after the other. At least one profiling phase."},
		{path: "benchmark.phases.*", text: "One phase. It ends at the first of `requests`, `sessions` and `duration`, of which it needs at least one."},
		{path: "benchmark.warmup", text: "Short for a first phase of kind `warmup`; goes with `profiling`, in place of `phases`."},
		{path: "benchmark.profiling", text: "Short for a phase of kind `profiling`, in place of `phases`."},
		{path: p + "name", text: "Name of the phase and of its folder: letters, digits, `_` and `-`.", def: "its kind"},
		{path: p + "kind", text: "`profiling` is measured; `warmup` is not part of the result.", def: "warmup if that is the name, else profiling"},
		{path: p + "type", text: "`concurrency` keeps a number of sessions in flight; the others start them at a rate, with the gaps of docs/arrivals.md.", def: "concurrency; with a rate poisson, with smoothness too gamma"},
		{path: p + "excludeFromResults", text: "Determined by the kind; other values are rejected.", def: "true for warmup, else false"},
		{path: p + "requests", def: inf},
		{path: p + "sessions", text: "Maximum number of conversations.", def: inf},
		{path: p + "duration", text: "Stop sending new requests after this time.", def: inf},
		{path: p + "gracePeriod", text: "Time to wait for in-flight requests after the duration. Needs a duration.", def: "30 for profiling with a duration, else inf"},
		{path: p + "concurrency", text: "Sessions in flight; with a rate, the maximum.", def: "1 without a rate, no limit with one"},
		{path: p + "rate", text: "Arrivals per second. Needed by all types but `concurrency`.", unit: "1/s"},
		{path: p + "smoothness", def: "1 with type {shaped}"},

		{path: "benchmark.artifacts", text: "Files of the run."},
		{path: "benchmark.artifacts.dir", text: "Folder for all files of a run. The daemon has its own and ignores it with a warning."},
		{path: "benchmark.artifacts.exportInputs", text: "Write the request bodies of the dataset to `inputs.json`; always so with level raw."},
		{path: "benchmark.artifacts.exportOutputsJson", text: "AIPerf's outputs.json; not supported yet, so true is rejected."},
		{path: "benchmark.artifacts.records", text: "AIPerf's form of `level`: false is `summary`, [jsonl] is `records`."},
		{path: "benchmark.artifacts.raw", text: "AIPerf's form of `level`: true is `raw`."},
		{path: "benchmark.slos", text: "Objectives per request: metric tag to threshold, in the metric's unit (docs/metrics.md). Requests that meet all of them count as goodput."},
		{path: "benchmark.tokenizer", text: "Counts tokens and generates prompts."},
		{path: "benchmark.runtime", text: "Settings of the process. The daemon has its own and ignores them with a warning."},
		{path: "benchmark.runtime.ui", def: "dashboard; none without a terminal"},
		{path: "benchmark.logging", text: "Settings of the log. The daemon has its own and ignores them with a warning."},
		{path: "benchmark.logging.level", text: "Lowest level to log."},
		{path: "benchmark.client", text: "Checks of the load generator itself."},
		{path: "benchmark.client.certify", text: "When to measure what the load generator adds to latencies. true is `before`, false is `none`."},
	}
}

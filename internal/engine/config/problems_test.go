package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config/problem"
)

// Rows are members of a benchmark section; those that do not mention models or
// phases get a valid one.
var problemRows = []struct{ name, members, want string }{
	{"unknown section", `endpont: {}`, "#/benchmark/endpont unknown-field"},
	{"unknown field", `endpoint: {timout: 3}`, "#/benchmark/endpoint/timout unknown-field"},
	{"unknown field in snake case", `endpoint: {time_out_s: 3}`, "#/benchmark/endpoint/time_out_s unknown-field"},
	{"pointer escapes", `endpoint: {"a/b~ ü": 3}`, "#/benchmark/endpoint/a~1b~0%20%C3%BC unknown-field"},
	{"camel and snake together", `endpoint: {connect_timeout: 1, connectTimeout: 1}`, "#/benchmark/endpoint/connectTimeout conflict"},
	{"key twice", `endpoint: {streaming: true, streaming: false}`, "# conflict"},
	{"section of a wrong type", `endpoint: 5`, "#/benchmark/endpoint wrong-type"},
	{"model without a name", `models: {items: [{weight: 1}], strategy: weighted}`, "#/benchmark/models/items/0/name required"},
	{"empty model name", `models: [""]`, "#/benchmark/models/0 out-of-range"},
	{"long model name", `models: ["` + strings.Repeat("m", 513) + `"]`, "#/benchmark/models/0 out-of-range"},
	{"long text", `tokenizer: {name: "` + strings.Repeat("m", 4097) + `"}`, "#/benchmark/tokenizer/name out-of-range"},
	{"long key", `endpoint: {apiKey: "` + strings.Repeat("m", 65_537) + `"}`, "#/benchmark/endpoint/apiKey out-of-range"},
	{"long URL", `endpoint: {url: "http://h/` + strings.Repeat("m", 4097) + `"}`, "#/benchmark/endpoint/url out-of-range"},
	{"many models", `models: [` + strings.Repeat("m,", 1000) + `m]`, "#/benchmark/models out-of-range"},
	{"many entries", `dataset: {entries: 10000001}`, "#/benchmark/dataset/entries out-of-range"},
	{"large images", `dataset: {images: {width: 16384, height: 16384}}`, "#/benchmark/dataset/images out-of-range"},
	{"many turns", `dataset: {turns: 100001}`, "#/benchmark/dataset/turns out-of-range"},
	{"long prompts", `dataset: {prompts: {isl: 16777217}}`, "#/benchmark/dataset/prompts/isl out-of-range"},
	{"prefix for another system", `artifacts: {prefix: 'C:\x'}`, "#/benchmark/artifacts/prefix out-of-range"},
	{"explicit key", `"artifacts": {? "prefix" : 5}`, "#/benchmark/artifacts/prefix wrong-type"},
	{"model name of a wrong type", `models: [5]`, "#/benchmark/models/0 wrong-type"},
	{"model and models", `model: a, models: [b]`, "#/benchmark/model conflict"},
	{"bad strategy", `models: {items: [{name: a}], strategy: weihted}`, "#/benchmark/models/strategy bad-enum"},
	{"weights missing", `models: {items: [{name: a, weight: 1}, {name: b}], strategy: weighted}`, "#/benchmark/models/items required"},
	{"weights off", `models: {items: [{name: a, weight: 0.5}, {name: b, weight: 0.4}], strategy: weighted}`, "#/benchmark/models/items out-of-range"},
	{"weight without weighted", `models: {items: [{name: a, weight: 1}]}`, "#/benchmark/models/items/0/weight conflict"},
	{"negative weight", `models: {items: [{name: a, weight: -1}], strategy: weighted}`, "#/benchmark/models/items/0/weight out-of-range"},
	{"lora", `models: {items: [{name: a, lora: x}]}`, "#/benchmark/models/items/0/lora unsupported-feature"},
	{"endpoint type of AIPerf", `endpoint: {type: solido_rag}`, "#/benchmark/endpoint/type unsupported-feature"},
	{"endpoint type of nobody", `endpoint: {type: chatt}`, "#/benchmark/endpoint/type bad-enum"},
	{"ftp", `endpoint: {url: "ftp://h"}`, "#/benchmark/endpoint/url out-of-range"},
	{"port 0", `endpoint: {urls: ["http://h:1", "http://h:0"]}`, "#/benchmark/endpoint/urls/1 out-of-range"},
	{"blank in URL", `endpoint: {url: "http://a b"}`, "#/benchmark/endpoint/url out-of-range"},
	{"no URL", `endpoint: {urls: []}`, "#/benchmark/endpoint/urls out-of-range"},
	{"redacted URL", `endpoint: {url: "http://<redacted>@h"}`, "#/benchmark/endpoint/url redacted-placeholder"},
	{"redacted key", `endpoint: {api_key: <redacted>}`, "#/benchmark/endpoint/api_key redacted-placeholder"},
	{"redacted header", `endpoint: {headers: {Authorization: Bearer <redacted>}}`, "#/benchmark/endpoint/headers/Authorization redacted-placeholder"},
	{"redacted extra", `endpoint: {extra: {a: {token: <redacted>}}}`, "#/benchmark/endpoint/extra/a/token redacted-placeholder"},
	{"header name", `endpoint: {headers: {"a b": c}}`, "#/benchmark/endpoint/headers/a%20b out-of-range"},
	{"header twice", `endpoint: {headers: {X-A: c, x-a: d}}`, "#/benchmark/endpoint/headers/x-a conflict"},
	{"header of the client", `endpoint: {headers: {content-length: "3"}}`, "#/benchmark/endpoint/headers/content-length not-allowed"},
	{"header value", `endpoint: {headers: {A: "b\nc"}}`, "#/benchmark/endpoint/headers/A out-of-range"},
	{"zero timeout", `endpoint: {timeout: 0}`, "#/benchmark/endpoint/timeout out-of-range"},
	{"infinite timeout", `endpoint: {timeout: inf}`, "#/benchmark/endpoint/timeout out-of-range"},
	{"strange unit", `endpoint: {timeout: 5 weeks}`, "#/benchmark/endpoint/timeout wrong-type"},
	{"path", `endpoint: {path: v1/x}`, "#/benchmark/endpoint/path out-of-range"},
	{"boolean as text", `endpoint: {streaming: "yes"}`, "#/benchmark/endpoint/streaming wrong-type"},
	{"per-chunk usage", `endpoint: {perChunkUsage: true}`, "#/benchmark/endpoint/perChunkUsage conflict"},
	{"stream usage off", `endpoint: {streaming: true, useServerTokenCount: true, streamUsage: false}`, "#/benchmark/endpoint/streamUsage conflict"},
	{"session header", `endpoint: {sessionHeader: "a b"}`, "#/benchmark/endpoint/sessionHeader out-of-range"},
	{"template of another type", `endpoint: {type: chat, template: {body: "{}"}}`, "#/benchmark/endpoint/template conflict"},
	{"template without a body", `endpoint: {type: template}`, "#/benchmark/endpoint/template/body required"},
	{"wait mode", `endpoint: {waitForModelTimeout: 30, waitForModelMode: health}`, "#/benchmark/endpoint/waitForModelMode bad-enum"},
	{"wait mode alone", `endpoint: {waitForModelMode: both, waitForModelInterval: 1}`, "#/benchmark/endpoint/waitForModelMode conflict; #/benchmark/endpoint/waitForModelInterval conflict"},
	{"negative wait", `endpoint: {waitForModelTimeout: -1}`, "#/benchmark/endpoint/waitForModelTimeout out-of-range"},
	{"key and its file", `endpoint: {apiKey: k, apiKeyFile: testdata/prompts.jsonl}`, "#/benchmark/endpoint/apiKeyFile conflict"},
	{"missing key file", `endpoint: {apiKeyFile: testdata/none}`, "#/benchmark/endpoint/apiKeyFile file-not-allowed"},
	{"key file of lines", `endpoint: {apiKeyFile: problems_test.go}`, "#/benchmark/endpoint/apiKeyFile out-of-range"},
	{"affinity header", `endpoint: {affinityHeaders: ["a b"]}`, "#/benchmark/endpoint/affinityHeaders/0 out-of-range"},
	{"affinity is the session header", `endpoint: {sessionHeader: X-S, affinityHeaders: [x-s]}`, "#/benchmark/endpoint/affinityHeaders/0 conflict"},
	{"url parameters", `endpoint: {urlParams: {a: [1]}}`, "#/benchmark/endpoint/urlParams/a wrong-type"},
	{"certificate file", `endpoint: {url: "https://h", tls: {caFile: testdata/none.pem}}`, "#/benchmark/endpoint/tls/caFile file-not-allowed"},
	{"key of no certificate", `endpoint: {url: "https://h", tls: {keyFile: testdata/prompts.jsonl}}`, "#/benchmark/endpoint/tls/keyFile conflict"},
	{"authorities and no verification", `endpoint: {url: "https://h", tlsVerify: false, tls: {caFile: testdata/prompts.jsonl}}`, "#/benchmark/endpoint/tls/caFile conflict"},
	{"old tls", `endpoint: {url: "https://h", tls: {minVersion: 1.1}}`, "#/benchmark/endpoint/tls/minVersion bad-enum"},
	{"server name", `endpoint: {url: "https://h", tls: {serverName: a/b}}`, "#/benchmark/endpoint/tls/serverName out-of-range"},
	{"two proxies", `endpoint: {proxy: "http://p", proxyFromEnv: true}`, "#/benchmark/endpoint/proxy conflict"},
	{"proxy with a path", `endpoint: {proxy: "http://p/x"}`, "#/benchmark/endpoint/proxy out-of-range"},
	{"proxy to a socket", `endpoint: {proxy: "http://p", unixSocket: /run/x}`, "#/benchmark/endpoint/proxy conflict"},
	{"https proxy and server name", `endpoint: {url: "https://h", proxy: "https://p", tls: {serverName: h}}`, "#/benchmark/endpoint/tls/serverName conflict"},
	{"http/2 through a proxy", `endpoint: {proxy: "http://p", httpVersion: h2c}`, "#/benchmark/endpoint/httpVersion conflict"},
	{"ip version", `endpoint: {ipVersion: 5}`, "#/benchmark/endpoint/ipVersion bad-enum"},
	{"ip version of the url", `endpoint: {url: "http://127.0.0.1", ipVersion: 6}`, "#/benchmark/endpoint/ipVersion conflict"},
	{"ip version of a socket", `endpoint: {unixSocket: /s, ipVersion: 4}`, "#/benchmark/endpoint/ipVersion conflict"},
	{"source address", `endpoint: {sourceAddresses: ["127.0.0.1", eth0, "0.0.0.0"]}`, "#/benchmark/endpoint/sourceAddresses/1 out-of-range; #/benchmark/endpoint/sourceAddresses/2 out-of-range"},
	{"source address of another version", `endpoint: {ipVersion: 4, sourceAddresses: ["::1"]}`, "#/benchmark/endpoint/sourceAddresses/0 conflict"},
	{"source address of the url", `endpoint: {url: "http://[::1]:80", sourceAddresses: ["127.0.0.1"]}`, "#/benchmark/endpoint/sourceAddresses conflict"},
	{"source address of a socket", `endpoint: {unixSocket: /s, sourceAddresses: ["127.0.0.1"]}`, "#/benchmark/endpoint/sourceAddresses conflict"},
	{"http/3", `endpoint: {httpVersion: 3}`, "#/benchmark/endpoint/httpVersion bad-enum"},
	{"http/2 without tls", `endpoint: {httpVersion: 2}`, "#/benchmark/endpoint/httpVersion conflict"},
	{"h2c with tls", `endpoint: {url: "https://h", httpVersion: h2c}`, "#/benchmark/endpoint/httpVersion conflict"},
	{"http/2 and one connection a request", `endpoint: {httpVersion: h2c, connectionReuse: never}`, "#/benchmark/endpoint/connectionReuse conflict"},
	{"socket twice", `endpoint: {url: "http+unix://%2Frun%2Fx", unixSocket: /run/y}`, "#/benchmark/endpoint/url conflict"},
	{"socket without a path", `endpoint: {url: "http+unix:///v1"}`, "#/benchmark/endpoint/url out-of-range"},
	{"abstract socket", `endpoint: {unixSocket: "@x"}`, "#/benchmark/endpoint/unixSocket out-of-range"},
	{"cache reset elsewhere", `endpoint: {resetKvCache: {path: "http://x/"}}`, "#/benchmark/endpoint/resetKvCache/path out-of-range"},
	{"cache reset without time", `endpoint: {resetKvCache: {timeoutSeconds: 0}}`, "#/benchmark/endpoint/resetKvCache/timeoutSeconds out-of-range"},
	{"profiler", `endpoint: {serverProfiler: {start: /x}}`, "#/benchmark/endpoint/serverProfiler/start unknown-field"},
	{"two datasets", `datasets: [{type: synthetic}, {type: synthetic}]`, "#/benchmark/datasets out-of-range"},
	{"public dataset without a name", `dataset: {type: public}`, "#/benchmark/dataset/dataset required"},
	{"public dataset with lengths", `dataset: {dataset: sharegpt, prompts: {isl: 3}}`, "#/benchmark/dataset/prompts conflict"},
	{"public dataset with a warm-up of its own", `dataset: {dataset: sharegpt, warmup: separate}`, "#/benchmark/phases required; #/benchmark/dataset/warmup conflict"},
	{"public dataset with a format", `dataset: {dataset: sharegpt, format: single_turn}`, "#/benchmark/dataset/format conflict"},
	{"columns of a named dataset", `dataset: {dataset: sharegpt, columns: {prompt: a}}`, "#/benchmark/dataset/columns conflict"},
	{"columns of a format with fixed members", `dataset: {path: testdata/prompts.jsonl, format: single_turn, columns: {image: a}}`, "#/benchmark/dataset/columns conflict"},
	{"columns of a file that is no table", `dataset: {path: testdata/prompts.jsonl, columns: {image: a}}`, "#/benchmark/dataset/columns conflict"},
	{"columns of generated data", `dataset: {columns: {prompt: a}}`, "#/benchmark/dataset/columns conflict"},
	{"subset of a file", `dataset: {path: testdata/prompts.jsonl, hfSubset: a}`, "#/benchmark/dataset/hfSubset conflict"},
	{"format of AIPerf", `dataset: {type: file, path: testdata/prompts.jsonl, format: tracelab}`, "#/benchmark/dataset/format unsupported-feature"},
	{"file without a path", `dataset: {type: file}`, "#/benchmark/dataset/path required"},
	{"file and records", `dataset: {type: file, path: testdata/prompts.jsonl, records: [{text: a}]}`, "#/benchmark/dataset/records conflict"},
	{"missing file", `dataset: {type: file, path: testdata/none.jsonl}`, "#/benchmark/dataset/path file-not-allowed"},
	{"images of a file", `dataset: {type: file, path: testdata/prompts.jsonl, images: {batchSize: 3}}`, "#/benchmark/dataset/images conflict"},
	{"lengths of a pool", `dataset: {type: file, path: testdata/prompts.jsonl, format: random_pool, prompts: {isl: 3, batchSize: 2}}`, "#/benchmark/dataset/prompts/isl conflict"},
	{"skipped lines of a synthetic", `dataset: {skipBadLines: 3}`, "#/benchmark/dataset/skipBadLines conflict"},
	{"negative skipped lines", `dataset: {type: file, path: testdata/prompts.jsonl, skipBadLines: -1}`, "#/benchmark/dataset/skipBadLines out-of-range"},
	{"lengths of a file", `dataset: {type: file, path: testdata/prompts.jsonl, prompts: {isl: 3}}`, "#/benchmark/dataset/prompts conflict"},
	{"path of a synthetic", `dataset: {type: synthetic, path: x}`, "#/benchmark/dataset/path conflict"},
	{"zero entries", `dataset: {entries: 0}`, "#/benchmark/dataset/entries out-of-range"},
	{"half an entry", `dataset: {entries: 1.5}`, "#/benchmark/dataset/entries wrong-type"},
	{"huge entries", `dataset: {entries: 1e30}`, "#/benchmark/dataset/entries out-of-range"},
	{"zero isl", `dataset: {isl: 0}`, "#/benchmark/dataset/isl out-of-range"},
	{"negative spread", `dataset: {isl: {mean: 5, stddev: -1}}`, "#/benchmark/dataset/isl/stddev out-of-range"},
	{"median above mean", `dataset: {isl: {mean: 5, median: 6}}`, "#/benchmark/dataset/isl/median out-of-range"},
	{"median and spread", `dataset: {isl: {mean: 7, median: 6, stddev: 1}}`, "#/benchmark/dataset/isl/median conflict"},
	{"min above max", `dataset: {isl: {mean: 7, min: 9, max: 8}}`, "#/benchmark/dataset/isl/max out-of-range"},
	{"spread alone", `dataset: {osl: {stddev: 3}}`, "#/benchmark/dataset/osl required"},
	{"mean and points", `dataset: {isl: {mean: 3, points: [{value: 4, weight: 1}]}}`, "#/benchmark/dataset/isl conflict"},
	{"point without weight", `dataset: {isl: {points: [{value: 4}]}}`, "#/benchmark/dataset/isl/points/0 required"},
	{"zero weight", `dataset: {isl: {peaks: [{mean: 4, weight: 0}]}}`, "#/benchmark/dataset/isl/peaks/0/weight out-of-range"},
	{"no peaks", `dataset: {isl: {peaks: []}}`, "#/benchmark/dataset/isl/peaks out-of-range"},
	{"unknown in a distribution", `dataset: {isl: {mean: 4, sd: 1}}`, "#/benchmark/dataset/isl/sd unknown-field"},
	{"distribution as text", `dataset: {isl: many}`, "#/benchmark/dataset/isl wrong-type"},
	{"delay spread alone", `dataset: {turnDelay: {mean: 0, stddev: 4}}`, "#/benchmark/dataset/turnDelay conflict"},
	{"prefix length alone", `dataset: {prefixPrompts: {length: 4}}`, "#/benchmark/dataset/prefixPrompts/length conflict"},
	{"pool and shared", `dataset: {prefixPrompts: {length: 4, poolSize: 2, sharedSystemLength: 3}}`, "#/benchmark/dataset/prefixPrompts/sharedSystemLength conflict"},
	{"system prompt twice", `dataset: {systemPrompt: a, systemPromptFile: testdata/prompts.jsonl}`, "#/benchmark/dataset/systemPromptFile conflict"},
	{"pairs of lengths as a text", `dataset: {prompts: {sequenceDistribution: "1,2:100"}}`, "#/benchmark/dataset/prompts/sequenceDistribution wrong-type"},
	{"no pairs of lengths", `dataset: {prompts: {sequenceDistribution: []}}`, "#/benchmark/dataset/prompts/sequenceDistribution out-of-range"},
	{"incomplete pair", `dataset: {prompts: {sequenceDistribution: [{isl: 5, osl: 6}]}}`, "#/benchmark/dataset/prompts/sequenceDistribution out-of-range; #/benchmark/dataset/prompts/sequenceDistribution/0 required"},
	{"pairs and a length", `dataset: {prompts: {isl: 5, sequence_distribution: [{isl: 5, osl: 6, probability: 100}]}}`, "#/benchmark/dataset/prompts/isl conflict"},
	{"probabilities", `dataset: {prompts: {sequenceDistribution: [{isl: 5, osl: 6, probability: 60}, {isl: 5, osl: 6, probability: 60}]}}`, "#/benchmark/dataset/prompts/sequenceDistribution out-of-range"},
	{"spread of a distribution", `dataset: {prompts: {sequenceDistribution: [{isl: {mean: 5}, isl_stddev: 1, osl: 6, probability: 100}]}}`, "#/benchmark/dataset/prompts/sequenceDistribution/0/isl_stddev conflict"},
	{"range ratio without lengths", `dataset: {prompts: {randomRangeRatio: 0.5}}`, "#/benchmark/dataset/prompts/isl required; #/benchmark/dataset/prompts/osl required"},
	{"range ratio and spread", `dataset: {prompts: {isl: {mean: 5, stddev: 1}, osl: 3, randomRangeRatio: 0.5}}`, "#/benchmark/dataset/prompts/isl conflict"},
	{"range ratio of 1", `dataset: {prompts: {isl: 5, osl: 3, randomRangeRatio: 1}}`, "#/benchmark/dataset/prompts/randomRangeRatio conflict"},
	{"range ratio above 1", `dataset: {prompts: {isl: 5, osl: 3, randomRangeRatio: 2, randomCorpusStyle: sglang}}`, "#/benchmark/dataset/prompts/randomRangeRatio out-of-range"},
	{"two ratios of sglang", `dataset: {prompts: {isl: 5, osl: 3, randomRangeRatio: {input: 1, output: 0}, randomCorpusStyle: sglang}}`, "#/benchmark/dataset/prompts/randomRangeRatio conflict"},
	{"half a range ratio", `dataset: {prompts: {isl: 5, osl: 3, randomRangeRatio: {input: 0.5}}}`, "#/benchmark/dataset/prompts/randomRangeRatio/output required"},
	{"style without use", `dataset: {prompts: {randomCorpusStyle: sglang}}`, "#/benchmark/dataset/prompts/randomCorpusStyle conflict"},
	{"separate warm-up of a file", `dataset: {path: testdata/prompts.jsonl, warmup: separate}`, "#/benchmark/phases required; #/benchmark/dataset/warmup conflict"},
	{"warm-up data", `dataset: {warmup: other}`, "#/benchmark/phases required; #/benchmark/dataset/warmup bad-enum"},
	{"exact length without one", `dataset: {oslExact: true}`, "#/benchmark/dataset/oslExact conflict"},
	{"unique prompts with a prefix", `dataset: {prompts: {corpus: unique}, prefixPrompts: {poolSize: 2, length: 3}}`, "#/benchmark/dataset/prefixPrompts conflict"},
	{"video", `dataset: {video: {width: 64, fps: 0, duration: -1, synthType: cat, format: avi, codec: "", audio: {sampleRate: 7, channels: 3, codec: mp3, depth: 12}}}`,
		"#/benchmark/dataset/video/height required; #/benchmark/dataset/video/fps out-of-range; #/benchmark/dataset/video/duration out-of-range; #/benchmark/dataset/video/synthType bad-enum; " +
			"#/benchmark/dataset/video/format bad-enum; #/benchmark/dataset/video/codec out-of-range; #/benchmark/dataset/video/audio/sampleRate out-of-range; " +
			"#/benchmark/dataset/video/audio/channels out-of-range; #/benchmark/dataset/video/audio/codec bad-enum; #/benchmark/dataset/video/audio/depth bad-enum"},
	{"video without frames", `dataset: {video: {width: 64, height: 64, duration: 0.2, audio: {codec: aac}}}`,
		"#/benchmark/dataset/video/duration out-of-range; #/benchmark/dataset/video/audio/codec conflict"},
	{"video without size", `dataset: {video: {batchSize: 1}}`, "#/benchmark/dataset/video/width required; #/benchmark/dataset/video/height required"},
	{"cache bust nowhere", `dataset: {cacheBust: {target: middle}}`, "#/benchmark/dataset/cacheBust/target bad-enum"},
	{"cache bust of a warm-up without a system message", `dataset: {prompts: {cacheBust: {target: warmup_isolation_system}}}`, "#/benchmark/dataset/prompts/cacheBust/target conflict"},
	{"cache bust of a file", `dataset: {path: testdata/prompts.jsonl, prompts: {cacheBust: {target: per_request}}}`, "#/benchmark/dataset/prompts conflict"},
	{"cache bust without target", `dataset: {cacheBust: {tarket: none}}`, "#/benchmark/dataset/cacheBust/tarket unknown-field"},
	{"cache reset at no time", `endpoint: {resetKvCache: {before: lunch}}`, "#/benchmark/endpoint/resetKvCache/before bad-enum"},
	{"no phases", `phases: null`, "#/benchmark/phases required"},
	{"empty phases", `phases: []`, "#/benchmark/phases out-of-range"},
	{"warm-up alone", `warmup: {requests: 3}`, "#/benchmark/phases required"},
	{"phases and profiling", `phases: [{requests: 200}], profiling: {requests: 3}`, "#/benchmark/profiling conflict"},
	{"phase as text", `phases: [fast]`, "#/benchmark/phases/0 wrong-type"},
	{"no bound", `phases: [{concurrency: 3}]`, "#/benchmark/phases/0/requests required"},
	{"negative rate", `phases: [{requests: 200, type: poisson, rate: -5}]`, "#/benchmark/phases/0/rate out-of-range"},
	{"rate missing", `phases: [{requests: 200, type: constant}]`, "#/benchmark/phases/0/rate required"},
	{"rate as text", `phases: [{requests: 200, type: constant, rate: fast}]`, "#/benchmark/phases/0/rate wrong-type"},
	{"rate of a closed loop", `phases: [{requests: 200, type: concurrency, rate: 3}]`, "#/benchmark/phases/0/rate conflict"},
	{"smoothness of poisson", `phases: [{requests: 200, type: poisson, rate: 3, smoothness: 2}]`, "#/benchmark/phases/0/smoothness conflict"},
	{"smoothness without rate", `phases: [{requests: 200, smoothness: 2}]`, "#/benchmark/phases/0/smoothness conflict"},
	{"grace without duration", `phases: [{requests: 200, gracePeriod: 3}]`, "#/benchmark/phases/0/gracePeriod conflict"},
	{"first phase seamless", `phases: [{requests: 200, seamless: true}]`, "#/benchmark/phases/0/seamless conflict"},
	{"seamless after a warm-up", `phases: [{name: warmup, requests: 2}, {name: profiling, requests: 200, seamless: true}]`, "#/benchmark/phases/1/seamless conflict"},
	{"seamless warm-up", `phases: [{name: profiling, requests: 200}, {name: warmup, requests: 2, seamless: true}]`, "#/benchmark/phases/1/seamless conflict"},
	{"seamless as text", `phases: [{name: a, kind: profiling, requests: 200}, {name: profiling, requests: 200, seamless: soon}]`, "#/benchmark/phases/1/seamless wrong-type"},
	{"zero duration", `phases: [{duration: 0 s}]`, "#/benchmark/phases/0/duration out-of-range"},
	{"zero concurrency", `phases: [{requests: 200, concurrency: 0}]`, "#/benchmark/phases/0/concurrency out-of-range"},
	{"list as a sweep", `phases: [{requests: 200, concurrency: [1, 2]}]`, "#/benchmark/phases/0/concurrency wrong-type"},
	{"threshold", `phases: [{requests: 200, failedRequestThreshold: 1.5}]`, "#/benchmark/phases/0/failedRequestThreshold out-of-range"},
	{"threshold of a warm-up", `warmup: {requests: 3, failed_request_threshold: 0.5}, profiling: {requests: 200}`, "#/benchmark/warmup/failed_request_threshold conflict"},
	{"name of a phase", `phases: [{name: "a b", kind: profiling, requests: 200}]`, "#/benchmark/phases/0/name out-of-range"},
	{"device name", `phases: [{name: Com1, kind: profiling, requests: 200}]`, "#/benchmark/phases/0/name out-of-range"},
	{"names twice", `phases: [{name: a, kind: profiling, requests: 200}, {name: A, kind: profiling, requests: 200}]`, "#/benchmark/phases/1/name conflict"},
	{"kind missing", `phases: [{name: soak, requests: 200}]`, "#/benchmark/phases/0/kind required"},
	{"kind contradicts", `phases: [{name: profiling, kind: warmup, requests: 200}]`, "#/benchmark/phases required; #/benchmark/phases/0/kind conflict"},
	{"warm-up that counts", `warmup: {requests: 3, excludeFromResults: false}, profiling: {requests: 200}`, "#/benchmark/warmup/excludeFromResults conflict"},
	{"ramp of nothing", `phases: [{requests: 200, concurrency_ramp: 30s}]`, "#/benchmark/phases/0/concurrency_ramp conflict"},
	{"users without turns", `phases: [{requests: 200, type: user_centric, rate: 1, users: 4}]`, "#/benchmark/phases/0/users conflict"},
	{"users of one turn", `dataset: {turns: 1.9}, phases: [{requests: 200, rate: 1, users: 4}]`, "#/benchmark/dataset/turns conflict"},
	{"users without a rate", `dataset: {turns: 3}, phases: [{requests: 200, type: user_centric, users: 4}]`, "#/benchmark/phases/0/rate required"},
	{"users without a number", `dataset: {turns: 3}, phases: [{requests: 200, type: user_centric, rate: 4}]`, "#/benchmark/phases/0/users required"},
	{"more users than requests and sessions", `dataset: {turns: 3}, phases: [{requests: 3, sessions: 3, users: 4, rate: 1}]`, "#/benchmark/phases/0/requests conflict; #/benchmark/phases/0/sessions conflict"},
	{"users of a rate", `dataset: {turns: 3}, phases: [{requests: 8, type: poisson, users: 4, userReplacement: scheduled, rate: 1}]`, "#/benchmark/phases/0/users conflict; #/benchmark/phases/0/userReplacement conflict"},
	{"users with a process", `dataset: {turns: 3}, phases: [{requests: 8, users: 4, smoothness: 2, rate: 1, sessionRate: 2}]`, "#/benchmark/phases/0/smoothness conflict; #/benchmark/phases/0/sessionRate conflict"},
	{"fixed users are not dropped", `dataset: {turns: 3}, phases: [{requests: 8, users: 4, rate: 1, concurrency: 4, userReplacement: on-completion, saturation: drop}]`, "#/benchmark/phases/0/saturation conflict"},
	{"two rates", `phases: [{requests: 8, rate: 1, sessionRate: 2}]`, "#/benchmark/phases/0/sessionRate conflict"},
	{"rate of sessions in a closed loop", `phases: [{requests: 8, type: concurrency, sessionRate: 2}]`, "#/benchmark/phases/0/sessionRate conflict"},
	{"saturation without arrivals", `phases: [{requests: 8, concurrency: 2, saturation: drop}]`, "#/benchmark/phases/0/saturation conflict"},
	{"saturation without a limit", `phases: [{requests: 8, rate: 2, saturation: abort}]`, "#/benchmark/phases/0/saturation conflict"},
	{"limit without abort", `phases: [{requests: 8, rate: 2, concurrency: 2, saturationLimit: 5}]`, "#/benchmark/phases/0/saturationLimit conflict"},
	{"cancellation above all", `phases: [{requests: 200, cancellation: {rate: 101}}]`, "#/benchmark/phases/0/cancellation/rate out-of-range"},
	{"cancellation without a rate", `phases: [{requests: 200, cancellation: {}}]`, "#/benchmark/phases/0/cancellation/rate required"},
	{"cancellation delay without a rate", `phases: [{requests: 200, cancellation: {delay: 1}}]`, "#/benchmark/phases/0/cancellation/delay conflict"},
	{"cancellation delay with rate 0", `phases: [{requests: 200, cancellation: {rate: 0, delay: 1}}]`, "#/benchmark/phases/0/cancellation/delay conflict"},
	{"negative cancellation delay", `phases: [{requests: 200, cancellation: {rate: 5, delay: -1}}]`, "#/benchmark/phases/0/cancellation/delay out-of-range"},
	{"cancellation in a warm-up", `phases: [{name: warmup, requests: 2, cancellation: {rate: 5}}, {requests: 2}]`, "#/benchmark/phases/0/cancellation conflict"},
	{"telemetry URLs", `gpuTelemetry: {urls: ["http://h h"]}`, "#/benchmark/gpuTelemetry/urls/0 out-of-range"},
	{"telemetry collector", `gpuTelemetry: {collector: nvml}`, "#/benchmark/gpuTelemetry/collector bad-enum"},
	{"telemetry of this machine and of others", `gpuTelemetry: {collector: pynvml, urls: "h:9400"}`, "#/benchmark/gpuTelemetry/urls conflict"},
	{"telemetry file", `gpuTelemetry: {metricsFile: /nowhere.csv}`, "#/benchmark/gpuTelemetry/metricsFile file-not-allowed"},
	{"metrics URLs", `serverMetrics: {urls: ["http://h h"]}`, "#/benchmark/serverMetrics/urls/0 out-of-range"},
	{"metrics formats", `serverMetrics: {formats: [json, xml]}`, "#/benchmark/serverMetrics/formats/1 bad-enum"},
	{"metrics format given twice", `serverMetrics: {formats: [json, JSON]}`, "#/benchmark/serverMetrics/formats/1 conflict"},
	{"metrics interval", `serverMetrics: {interval: 0}`, "#/benchmark/serverMetrics/interval out-of-range"},
	{"metrics targets file", `serverMetrics: {urls: ["file_sd:/no/such/file"]}`, "#/benchmark/serverMetrics/urls/0 file-not-allowed"},
	{"metrics at each address", `serverMetrics: {urls: ["dns+http://vllm/metrics"]}`, "#/benchmark/serverMetrics/urls/0 out-of-range"},
	{"metrics map", `serverMetrics: {map: /no/such/file}`, "#/benchmark/serverMetrics/map file-not-allowed"},
	{"metrics discovery", `serverMetrics: {discovery: {mode: kubernetes}}`, "#/benchmark/serverMetrics/discovery/mode unsupported-feature"},
	{"otel", `otel: {metrics_url: "ftp://h"}`, "#/benchmark/otel/metrics_url out-of-range"},
	{"mlflow folder", `mlflow: {trackingUri: "file:./mlruns"}`, "#/benchmark/mlflow/trackingUri out-of-range"},
	{"mlflow without a scheme", `mlflow: {trackingUri: databricks}`, "#/benchmark/mlflow/trackingUri out-of-range"},
	{"mlflow without a server", `mlflow: {experiment: x}`, "#/benchmark/mlflow/experiment conflict"},
	{"mlflow glob", `mlflow: {trackingUri: "http://h", artifactGlobs: ["../*"]}`, "#/benchmark/mlflow/artifactGlobs/0 out-of-range"},
	{"otel without a collector", `otel: {headers: {a: b}}`, "#/benchmark/otel/headers conflict"},
	{"otel without a signal", `otel: {metricsUrl: h, streamMetricsEnabled: false, streamTimingEnabled: false}`, "#/benchmark/otel/streamMetricsEnabled conflict"},
	{"otel protocol", `otel: {metricsUrl: h, protocol: http/json}`, "#/benchmark/otel/protocol bad-enum"},
	{"otel path of gRPC", `otel: {metricsUrl: "h/x", protocol: grpc}`, "#/benchmark/otel/metricsUrl out-of-range"},
	{"otel path of traces by gRPC", `otel: {tracesUrl: "h:4317/x"}`, "#/benchmark/otel/tracesUrl out-of-range"},
	{"otel sample without traces", `otel: {metricsUrl: h, tracesSample: 1}`, "#/benchmark/otel/tracesSample conflict"},
	{"otel sample", `otel: {tracesUrl: h, tracesSample: 1.5}`, "#/benchmark/otel/tracesSample out-of-range"},
	{"otel propagation", `otel: {propagate: some}`, "#/benchmark/otel/propagate bad-enum"},
	{"two traceparents", `otel: {propagate: all}, endpoint: {headers: {TraceParent: x}}`, "#/benchmark/endpoint/headers/TraceParent conflict"},
	{"otel timeout", `otel: {metricsUrl: h, timeout: 0}`, "#/benchmark/otel/timeout out-of-range"},
	{"accuracy", `accuracy: {benchmark: mmlu}`, "#/benchmark/accuracy unsupported-feature"},
	{"scenario", `scenario: x`, "#/benchmark/scenario bad-enum"},
	{"slices", `artifacts: {sliceDuration: 0}`, "#/benchmark/artifacts/sliceDuration out-of-range"},
	{"summary format", `artifacts: {summary: [csv]}`, "#/benchmark/artifacts/summary wrong-type"},
	{"decimals", `artifacts: {csvPrecision: 13}`, "#/benchmark/artifacts/csvPrecision out-of-range"},
	{"negative decimals", `artifacts: {csvPrecision: -1}`, "#/benchmark/artifacts/csvPrecision out-of-range"},
	{"format of records", `artifacts: {recordFormat: csv}`, "#/benchmark/artifacts/recordFormat bad-enum"},
	{"kept records", `artifacts: {keepRecords: some}`, "#/benchmark/artifacts/keepRecords bad-enum"},
	{"sample without sampling", `artifacts: {keepRecords: failures, recordSampleRate: 0.5}`, "#/benchmark/artifacts/recordSampleRate conflict"},
	{"sample rate", `artifacts: {keepRecords: sample, recordSampleRate: 0}`, "#/benchmark/artifacts/recordSampleRate out-of-range"},
	{"kept records of a summary", `artifacts: {keepRecords: failures, level: summary}`, "#/benchmark/artifacts/keepRecords conflict"},
	{"small record files", `artifacts: {recordFileSize: 1000}`, "#/benchmark/artifacts/recordFileSize out-of-range"},
	{"parts of a summary", `artifacts: {recordFileSize: 1000000, level: summary}`, "#/benchmark/artifacts/recordFileSize conflict"},
	{"parts of Parquet", `artifacts: {recordFileSize: 1000000, recordFormat: both}`, "#/benchmark/artifacts/recordFileSize conflict"},
	{"records format", `artifacts: {records: [csv]}`, "#/benchmark/artifacts/records bad-enum"},
	{"raw without records", `artifacts: {records: false, raw: true}`, "#/benchmark/artifacts/raw conflict"},
	{"level contradicts", `artifacts: {level: summary, raw: true}`, "#/benchmark/artifacts/level conflict"},
	{"remote code", `tokenizer: {trustRemoteCode: true}`, "#/benchmark/tokenizer/trustRemoteCode unsupported-feature"},
	{"slo of a wrong type", `slos: {time_to_first_token: fast}`, "#/benchmark/slos/time_to_first_token wrong-type"},
	{"slo of nothing", `slos: {time_to_frist_token: 5}`, "#/benchmark/slos/time_to_frist_token unknown-field"},
	{"host without port", `runtime: {apiHost: "::"}`, "#/benchmark/runtime/apiHost conflict"},
	{"port", `runtime: {apiPort: 70000}`, "#/benchmark/runtime/apiPort out-of-range"},
	{"certify", `client: {certify: later}`, "#/benchmark/client/certify bad-enum"},
	{"log level", `logging: {level: LOUD}`, "#/benchmark/logging/level bad-enum"},
	{"unset variable", `tokenizer: {name: "${NOPE}"}`, "#/benchmark/tokenizer/name required"},
	{"open substitution", `tokenizer: {name: "${NOPE"}`, "#/benchmark/tokenizer/name wrong-type"},
	{"secret reference", `endpoint: {apiKey: "${secret:hf}"}`, "#/benchmark/endpoint/apiKey secret-not-found"},
	{"user files", `artifacts: {userFiles: [{path: /a, content: x}, {path: a/../b, content: x}, {path: 'a\b', content: x}, {path: Profile_export.json, content: x}, {path: inputs.json, content: x}]}`,
		"#/benchmark/artifacts/userFiles/0/path out-of-range; #/benchmark/artifacts/userFiles/1/path out-of-range; " +
			"#/benchmark/artifacts/userFiles/2/path out-of-range; #/benchmark/artifacts/userFiles/3/path out-of-range; #/benchmark/artifacts/userFiles/4/path out-of-range"},
	{"user files without content", `artifacts: {userFiles: [{path: a}, {content: x}, {path: b, content: x}, {path: B, content: x}]}`,
		"#/benchmark/artifacts/userFiles/0/content required; #/benchmark/artifacts/userFiles/1/path required; #/benchmark/artifacts/userFiles/3/path conflict"},
	{"formats of user files", `artifacts: {userFiles: [{path: a, format: text, content: {}}, {path: b, format: yaml, content: x}, {path: c, format: xml, content: x}]}`,
		"#/benchmark/artifacts/userFiles/0/format conflict; #/benchmark/artifacts/userFiles/1/format conflict; #/benchmark/artifacts/userFiles/2/format bad-enum"},
	{"templates of user files", `artifacts: {userFiles: [{path: a, content: "{{ epoch }} {{ nope }}"}, {path: b, content: {x: ["{{ model // }}"]}}]}`,
		"#/benchmark/artifacts/userFiles/0/content required; #/benchmark/artifacts/userFiles/1/content/x/0 wrong-type"},
	{"jinja", `tokenizer: {name: "{{ modle }}"}`, "#/benchmark/tokenizer/name required"},
	{"everything at once", `endpoint: {timeout: -1, foo: 1}, phases: [{rate: x, concurrency: 0}]`,
		"#/benchmark/endpoint/timeout out-of-range; #/benchmark/endpoint/foo unknown-field; #/benchmark/phases/0/requests required; #/benchmark/phases/0/rate wrong-type; #/benchmark/phases/0/concurrency out-of-range"},
}

func TestLoadProblems(t *testing.T) {
	for _, row := range problemRows {
		t.Run(row.name, func(t *testing.T) {
			members := row.members
			if !strings.Contains(members, "model:") && !strings.Contains(members, "models:") {
				members = "models: [m], " + members
			}
			if !strings.Contains(members, "phases:") && !strings.Contains(members, "profiling:") && !strings.Contains(members, "warmup:") {
				members += ", phases: [{requests: 200}]"
			}
			doc, _, err := Load([]byte("benchmark: {"+members+"}\n"), LoadOptions{Choices: someChoices()})
			if doc != nil {
				t.Fatal("Load gave a document")
			}
			if diff := cmp.Diff(row.want, codes(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}

// codes writes the problems of an error as "pointer code; …".
func codes(t *testing.T, err error) string {
	t.Helper()
	var invalid *problem.Invalid
	if !errors.As(err, &invalid) {
		t.Fatalf("error = %v, want *Invalid", err)
	}
	parts := make([]string, len(invalid.Problems))
	for i, p := range invalid.Problems {
		parts[i] = p.Pointer + " " + p.Code
	}
	return strings.Join(parts, "; ")
}

func TestEnvelopeProblems(t *testing.T) {
	const ok = "benchmark: {models: [m], phases: [{requests: 200}]}\n"
	rows := []struct{ name, doc, want string }{
		{"unknown key", ok + "randomSed: 3", "#/randomSed unknown-field"},
		{"negative seed", ok + "random_seed: -3", "#/random_seed out-of-range"},
		{"version", ok + "schemaVersion: '3.0'", "#/schemaVersion bad-enum"},
		{"sweep", ok + "sweep: {type: grid}", "#/sweep required"},
		{"a path of a sweep", ok + "sweep: {type: grid, parameters: {concurency: [1, 2]}}", "#/sweep/parameters/concurency unknown-field"},
		{"a value of a sweep", ok + "sweep: {type: grid, parameters: {concurrency: [1, 0]}}", "#/sweep/parameters/concurrency out-of-range"},
		{"a secret that varies", ok + "sweep: {type: grid, parameters: {endpoint.apiKey: [sk-one, sk-two]}}", "#/sweep/parameters/endpoint.apiKey not-allowed"},
		{"repeated runs", ok + "multiRun: {numRuns: 3, convergence: {metric: ttft}}", "#/multiRun/convergence/metric bad-enum"},
		{"precision of repeats", ok + "repeats: {precision: 5}", "#/repeats/precision out-of-range"},
		{"repeats twice", ok + "repeats: {}\nmultiRun: {numRuns: 5}", "#/repeats conflict"},
		{"more runs at least than at most", ok + "repeats: {min: 6, max: 4}", "#/repeats/min conflict"},
		{"variables", ok + "variables: [1]", "#/variables wrong-type"},
		{"kubernetes", ok + "apiVersion: v1", "#/apiVersion unsupported-feature"},
		{"long name", ok + "metadata: {name: " + strings.Repeat("x", 129) + "}", "#/metadata/name out-of-range"},
		{"label", ok + "metadata: {labels: {a: 5}}", "#/metadata/labels/a wrong-type"},
		{"terms", ok + "metadata: {priority: 101, ttl: 0, deadline: -1s, startAfter: tomorrow, allowSharedTarget: 1}",
			"#/metadata/priority out-of-range; #/metadata/ttl out-of-range; #/metadata/deadline out-of-range; #/metadata/startAfter out-of-range; #/metadata/allowSharedTarget wrong-type"},
		{"start time", ok + "metadata: {start_after: 5}", "#/metadata/start_after wrong-type"},
		{"year 10000", ok + "metadata: {startAfter: 9999-12-31T23:59:59-01:00}", "#/metadata/startAfter out-of-range"},
		{"nothing", "metadata: {name: x}", "#/phases required"},
		{"benchmark null", "benchmark: null", "#/benchmark required"},
		{"flat", "model: m\nprofiling: {requests: 0}", "#/profiling/requests out-of-range"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, _, err := Load([]byte(row.doc), LoadOptions{Choices: someChoices()})
			if diff := cmp.Diff(row.want, codes(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 6; i++ {
		prev, next := string(rune('0'+i-1)), string(rune('0'+i))
		bomb += "a" + next + ": &a" + next + " [" + strings.Repeat("*a"+prev+",", 9) + "*a" + prev + "]\n"
	}
	rows := []struct {
		name, doc string
		line, col int
	}{
		{"open brace", "{\"a\": 1", 1, 8},
		{"bad token", "{\"a\": 1,\n \"b\": x}", 2, 7},
		{"text behind", "{} {}", 1, 4},
		{"not an object", "[1]", 1, 1},
		{"empty", "", 0, 0},
		{"two documents", "a: 1\n---\nb: 2\n", 3, 1},
		{"number as key", "benchmark: {1: 2}", 1, 13},
		{"yaml syntax", "a: [1,\nb: {", 2, 4},
		{"deep json", strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70), 1, 326},
		{"deep flow", "a: " + strings.Repeat("[", 100_000), 1, 68},
		{"deep block", strings.Repeat("- ", 50_000) + "x", 1, 257},
		{"alias bomb", bomb, 4, 0},
		{"alias to itself", "a: &a [*a]", 1, 8},
		{"crowded object", "a:\n" + strings.Repeat("  k: v\n", 501), 502, 4},
		{"not UTF-8", "a: \xff", 0, 0},
		{"tag", "a: !!binary aGk=", 1, 4},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var format Format
			if strings.HasPrefix(row.doc, "{") {
				format = JSON
			}
			_, _, err := Load([]byte(row.doc), LoadOptions{Choices: someChoices(), Format: format})
			var m *Malformed
			if !errors.As(err, &m) {
				t.Fatalf("error = %.200v, want *Malformed", err)
			}
			if m.Line != row.line || row.col > 0 && m.Column != row.col {
				t.Errorf("at %d:%d, want %d:%d: %v", m.Line, m.Column, row.line, row.col, err)
			}
		})
	}
	t.Run("too long", func(t *testing.T) {
		_, _, err := Load([]byte("benchmark: {}"), LoadOptions{Choices: someChoices(), MaxBytes: 5})
		if _, ok := errors.AsType[*Malformed](err); !ok {
			t.Errorf("error = %v, want *Malformed", err)
		}
	})
}

// curl -d @file sends a file without its line breaks.
func TestMalformedWithoutLineBreaks(t *testing.T) {
	const doc = "benchmark:\n  model: m\n  phases: [{requests: 200}]\n"
	_, _, err := Load([]byte(strings.ReplaceAll(doc, "\n", "")), LoadOptions{Choices: someChoices()})
	if err == nil || !strings.Contains(err.Error(), "--data-binary") {
		t.Errorf("error = %v, want one that names --data-binary", err)
	}
	if _, _, err := Load([]byte(doc+"  a: b: c\n"), LoadOptions{Choices: someChoices()}); err == nil || strings.Contains(err.Error(), "--data-binary") {
		t.Errorf("error = %v, want one without --data-binary", err)
	}
}

func TestProblemSaysWhatWhereAndWhy(t *testing.T) {
	_, _, err := Load([]byte(`{
  "benchmark": {
    "models": ["m"],
    "endpoint": {"apiKey": 12345, "timout": 3},
    "phases": [
      {"requests": 200, "type": "poisson",
       "rate": -5}]}}`), LoadOptions{Choices: someChoices()})
	var invalid *problem.Invalid
	if !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	want := []problem.Problem{
		{Pointer: "#/benchmark/endpoint/apiKey", Code: problem.CodeWrongType, Detail: "apiKey: must be a string", Line: 4, Column: 28},
		{Pointer: "#/benchmark/endpoint/timout", Code: problem.CodeUnknownField, Detail: `unknown field "timout"; did you mean "timeout"?`, Line: 4, Column: 35},
		{Pointer: "#/benchmark/phases/0/rate", Code: problem.CodeOutOfRange, Detail: "rate -5: must be greater than 0", Line: 7, Column: 16},
	}
	got := invalid.Problems
	if len(got) == 3 {
		if s := fmt.Sprint(got[2].Value); s != "-5" {
			t.Errorf("value = %s, want -5", s)
		}
		got[2].Value = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestProblemNamesItsFieldOnce(t *testing.T) {
	p := problem.Problem{Pointer: "#/benchmark/phases", Line: 3, Detail: "phases: at least one profiling phase is required"}
	if got, want := p.String(), "line 3: benchmark/phases: at least one profiling phase is required"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A misspelled short form is answered with its name.
func TestNearestShortForms(t *testing.T) {
	const doc = `benchmark:
  modle: m
  endpoint: {ulr: "http://h"}
  dataset: {isll: 5, cachebust: none}
  profilng: {requests: 200}
`
	_, _, err := Load([]byte(doc), LoadOptions{Choices: someChoices()})
	for wrong, meant := range map[string]string{"modle": "model", "ulr": "url", "isll": "isl", "cachebust": "cacheBust", "profilng": "profiling"} {
		if want := fmt.Sprintf("unknown field %q; did you mean %q?", wrong, meant); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

package otlp

import (
	"cmp"
	"net/url"
	"strings"

	"aiperfd/internal/engine/bench"
)

// histogram is the distribution of a metric of single requests: AIPerf's tag, and how OpenTelemetry calls it.
type histogram struct {
	tag, name, unit, token, help string
	bounds                       []float64 // that the conventions recommend; those of a similar metric for ours
}

// histograms returns the distributions that are sent: those that the conventions know under their names, the
// others under the tag. The boundaries are those that the conventions recommend.
func histograms() []histogram {
	durationBounds := []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	chunkBounds := []float64{
		0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5,
		0.75, 1, 2, 5,
	}
	tokenBounds := []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}
	return []histogram{
		{"request_latency", "gen_ai.client.operation.duration", "s", "",
			"Time from the start of a request to the last content of its response.", durationBounds},
		{"time_to_first_token", "gen_ai.client.operation.time_to_first_chunk", "s", "",
			"Time from the start of a request to the first content of its response.", chunkBounds},
		{"inter_token_latency", "gen_ai.client.operation.time_per_output_chunk", "s", "",
			"Mean time between the output tokens of a request after the first.", chunkBounds},
		{"input_sequence_length", "gen_ai.client.token.usage", "{token}", "input", "Tokens of requests.", tokenBounds},
		{"output_sequence_length", "gen_ai.client.token.usage", "{token}", "output",
			"Tokens of requests.", tokenBounds},
		{"inter_chunk_latency", "aiperf.inter_chunk_latency", "s", "",
			"Time between two content events of a stream.", chunkBounds},
		{"schedule_lag", "aiperf.schedule_lag", "s", "",
			"Time from the due time of a request to its start.", chunkBounds},
		{"corrected_request_latency", "aiperf.corrected_request_latency", "s", "",
			"Time from the due time of a request to the last content of its response.", durationBounds},
	}
}

// Operation returns the operation of an endpoint type: one of the conventions, or the name of the type.
func Operation(endpoint string) string {
	switch endpoint {
	case "chat", "messages", "responses", "ollama_chat", "sagemaker", "runpod", "raw", "template":
		return "chat"
	case "completions", "huggingface_generate", "ollama_generate", "sglang_generate", "triton_generate":
		return "text_completion"
	case "embeddings", "chat_embeddings", "nim_embeddings", "tei_embed", "ollama_embed":
		return "embeddings"
	}
	return endpoint
}

// host is a provider of models, by the beginning and the end of the names of its servers.
type host struct{ prefix, suffix, provider string }

// hosts returns the servers of which the conventions name the provider.
func hosts() []host {
	return []host{
		{"", "api.openai.com", "openai"},
		{"", "api.anthropic.com", "anthropic"},
		{"", "api.deepseek.com", "deepseek"},
		{"", "api.mistral.ai", "mistral_ai"},
		{"", "api.cohere.ai", "cohere"},
		{"", "api.cohere.com", "cohere"},
		{"", "api.x.ai", "x_ai"},
		{"", "api.groq.com", "groq"},
		{"", "api.perplexity.ai", "perplexity"},
		{"", "generativelanguage.googleapis.com", "gcp.gemini"},
		{"", "-aiplatform.googleapis.com", "gcp.vertex_ai"},
		{"bedrock-runtime.", ".amazonaws.com", "aws.bedrock"},
		{"", ".openai.azure.com", "azure.ai.openai"},
		{"", ".services.ai.azure.com", "azure.ai.inference"},
		{"", ".ibm.com", "ibm.watsonx.ai"},
	}
}

// Provider returns the provider of a model: the given one, else that of the first host that is known, else
// that whose API the endpoint type speaks. The conventions say _OTHER for none.
func Provider(given string, servers []*url.URL, endpoint string) string {
	for _, u := range servers {
		name := strings.ToLower(u.Hostname())
		for _, h := range hosts() {
			if strings.HasPrefix(name, h.prefix) && strings.HasSuffix(name, h.suffix) {
				return cmp.Or(given, h.provider)
			}
		}
	}
	switch endpoint {
	case "chat", "completions", "responses", "embeddings", "chat_embeddings":
		return cmp.Or(given, "openai")
	case "messages":
		return cmp.Or(given, "anthropic")
	}
	return cmp.Or(given, "_OTHER")
}

// ErrorType returns the value of error.type for a class of failures: AIPerf's where it has one.
func ErrorType(c bench.Class) string {
	switch c {
	case bench.TimeoutConnect, bench.TimeoutSend, bench.TimeoutHeaders, bench.TimeoutIdle,
		bench.TimeoutTotal, bench.JobTimeout:
		return "timeout"
	case bench.Auth, bench.NotFound, bench.Timeout, bench.PayloadTooLarge, bench.RateLimited, bench.ContextOverflow,
		bench.BadRequest:
		return "http_4xx"
	case bench.Overloaded, bench.Gateway, bench.ServerError:
		return "http_5xx"
	case bench.MalformedResponse, bench.UnexpectedContent:
		return "parse_error"
	case bench.Cancelled, bench.CancelledByTest, bench.JobCancelled:
		return "cancelled"
	case bench.ConnectError, bench.TargetNotAllowed, bench.ConnectionReset, bench.Redirect, bench.StreamError,
		bench.StreamTruncated, bench.EmptyResponse, bench.EmptyOutput, bench.EventTooLarge, bench.JobFailed,
		bench.ClientError:
		return string(c)
	}
	return "_OTHER"
}

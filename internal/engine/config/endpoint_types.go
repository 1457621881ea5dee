package config

import (
	"reflect"
	"slices"
	"strings"

	"aiperfd/internal/engine/suggest"
)

// EndpointType is a value of the field endpoint.type.
type EndpointType struct {
	Name    string
	Aliases []string // also accepted
}

// EndpointTypes lists the endpoint types. It is what package endpoint has: a test
// holds the two together, because neither knows the other.
func EndpointTypes() []EndpointType {
	return []EndpointType{
		{"chat", []string{"openai-chat"}},
		{"completions", []string{"openai", "vllm"}},
		{"huggingface_generate", []string{"tgi_generate"}},
		{"ollama_chat", nil},
		{"ollama_generate", nil},
		{"sglang_generate", nil},
		{"triton_generate", []string{"trtllm_generate"}},
		{"kserve_infer", nil},
		{"sagemaker", []string{"invocations"}},
		{"raw", nil},
		{"template", nil},
		{"responses", nil},
		{"messages", []string{"anthropic"}},
		{"embeddings", []string{"openai-embeddings"}},
		{"chat_embeddings", []string{"openai-embeddings-chat"}},
		{"pooling", []string{"vllm-pooling"}},
		{"score", nil},
		{"rerank", []string{"vllm-rerank", "jina_rerank"}},
		{"cohere_rankings", nil},
		{"classify", nil},
		{"tokenize", nil},
		{"detokenize", nil},
		{"nim_embeddings", nil},
		{"nim_rankings", []string{"nim_ranking"}},
		{"image_retrieval", nil},
		{"hf_tei_rankings", []string{"tei_rerank"}},
		{"tei_embed", nil},
		{"ollama_embed", nil},
		{"audio_transcription", []string{"transcriptions"}},
		{"audio_translation", nil},
		{"audio_speech", []string{"tts"}},
		{"image_generation", nil},
		{"image_edit", nil},
		{"runpod", []string{"runpod_native"}},
		{"video_generation", nil},
	}
}

// endpointType replaces an alias, or another spelling, by the name of the type.
func (l *loader) endpointType(n *node, v reflect.Value, path string) {
	var names []string
	for _, t := range EndpointTypes() {
		names = append(names, t.Name)
		for _, accepted := range append([]string{t.Name}, t.Aliases...) {
			if suggest.Fold(accepted) == suggest.Fold(v.String()) {
				v.SetString(t.Name)
				return
			}
		}
	}
	l.failed[path] = true
	choices := strings.Join(names, " ")
	if isLackingValue(path, v.String()) {
		l.failValue(n, CodeUnsupported, "not supported by aiperfd yet; use "+choiceList(choices))
		return
	}
	for _, t := range EndpointTypes() {
		names = append(names, t.Aliases...)
	}
	slices.Sort(names)
	text := "must be " + choiceList(choices)
	if hint := suggest.DidYouMean(v.String(), names); hint != "" {
		text = "unknown endpoint type" + hint + " It " + text // the list is long
	}
	l.failValue(n, CodeBadEnum, text)
}

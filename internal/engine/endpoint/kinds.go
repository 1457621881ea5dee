package endpoint

import (
	"strings"

	"aiperfd/internal/engine/endpoint/anthropic"
	"aiperfd/internal/engine/endpoint/native"
	"aiperfd/internal/engine/endpoint/openai"
	"aiperfd/internal/engine/endpoint/pooling"
	"aiperfd/internal/engine/endpoint/runpod"
	"aiperfd/internal/engine/endpoint/template"
)

// Kinds returns every endpoint type, in the order in which they are listed for
// people. The slice is the caller's.
func Kinds() []Kind {
	return []Kind{
		openai.Chat(),
		openai.Completions(),
		template.Raw(),
		template.Kind(),
		openai.Responses(),
		anthropic.Messages(),
		pooling.Embeddings(),
		pooling.ChatEmbeddings(),
		pooling.Pooling(),
		pooling.Score(),
		pooling.Rerank(),
		pooling.CohereRankings(),
		pooling.Classify(),
		pooling.Tokenize(),
		pooling.Detokenize(),
		pooling.NIMEmbeddings(),
		pooling.NIMRankings(),
		pooling.ImageRetrieval(),
		pooling.TEIRankings(),
		pooling.TEIEmbed(),
		pooling.OllamaEmbed(),
		native.TGI(),
		native.OllamaChat(),
		native.OllamaGenerate(),
		native.SGLang(),
		native.Triton(),
		native.KServe(),
		native.SageMaker(),
		openai.AudioTranscription(), openai.AudioTranslation(), openai.AudioSpeech(), openai.ImageGeneration(), openai.ImageEdit(),
		runpod.Kind(),
		openai.VideoGeneration(),
	}
}

// Lookup finds an endpoint type by its name or an alias. Case does not matter,
// and "-" and "_" are the same.
func Lookup(name string) (Kind, bool) {
	want := canonical(name)
	for _, k := range Kinds() {
		if canonical(k.Name) == want {
			return k, true
		}
		for _, alias := range k.Aliases {
			if canonical(alias) == want {
				return k, true
			}
		}
	}
	return Kind{}, false
}

func canonical(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "-", "_")
}

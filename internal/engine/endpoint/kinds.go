package endpoint

import "strings"

// Kinds returns every endpoint type, in the order in which they are listed for
// people. The slice is the caller's.
func Kinds() []Kind {
	return []Kind{
		chat(),
		completions(),
		raw(),
		template(),
		responses(),
		messagesAPI(),
		embeddings(),
		chatEmbeddings(),
		pooling(),
		score(),
		rerank(),
		cohereRankings(),
		classify(),
		tokenize(),
		detokenize(),
		nimEmbeddings(),
		nimRankings(),
		imageRetrieval(),
		teiRankings(),
		teiEmbed(),
		ollamaEmbed(),
		tgi(),
		ollamaChat(),
		ollamaGenerate(),
		sglang(),
		triton(),
		kserve(),
		sagemaker(),
		audioTranscription(), audioTranslation(), audioSpeech(), imageGeneration(), imageEdit(),
		runpod(),
		videoGeneration(),
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

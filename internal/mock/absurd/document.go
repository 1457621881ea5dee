package absurd

import "fmt"

// Document is the document of a run of some requests against a server at a URL.
func Document(url, endpoint string, streaming bool, seed uint64) string {
	data := `{type: file, format: single_turn, records: [{text: one, output_length: 3}]}`
	options := ""
	switch endpoint {
	case "rerank", "cohere_rankings", "nim_rankings", "hf_tei_rankings", "score":
		data = `{type: synthetic, entries: 4, rankings: {passages: 3}}`
	case "audio_transcription", "audio_translation":
		data = `{type: synthetic, entries: 2, prompts: {isl: 3, osl: 3}, audio: {length: {mean: 0.1}, batchSize: 1}}`
	case "image_edit", "image_retrieval":
		data = `{type: synthetic, entries: 2, prompts: {isl: 3, osl: 3}, images: {width: {mean: 8}, height: {mean: 8}, batchSize: 1}}`
	case "template":
		options = `, template: {body: '{"text": {{ text|tojson }}}', responseField: text}`
	}
	return fmt.Sprintf(`
randomSeed: %d
benchmark:
  model: m
  endpoint: {url: "%s/%s", type: %s, streaming: %v, timeout: 20%s}
  tokenizer: {name: builtin}
  dataset: %s
  phases: {type: concurrency, concurrency: 3, requests: 24, duration: 60, gracePeriod: 5}
`, seed, url, endpoint, endpoint, streaming, options, data)
}

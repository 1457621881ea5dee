package config

import (
	"bytes"
	"strings"
)

// someChoices are lists with values that the tests of this package use.
func someChoices() Choices {
	list := func(names string) []Choice {
		var out []Choice
		for name := range strings.FieldsSeq(names) {
			c := Choice{Name: name}
			if name, alias, ok := strings.Cut(name, "="); ok {
				c = Choice{Name: name, Aliases: []string{alias}}
			}
			out = append(out, c)
		}
		return out
	}
	return Choices{
		EndpointTypes: list("chat=openai-chat completions=openai raw template responses messages=anthropic embeddings=openai-embeddings" +
			" rerank=vllm-rerank cohere_rankings nim_rankings hf_tei_rankings score image_retrieval image_edit sagemaker" +
			" triton_generate runpod=runpod_native video_generation audio_transcription audio_translation image_generation"),
		Ranking:  []string{"rerank", "cohere_rankings", "nim_rankings", "hf_tei_rankings", "score"},
		Forms:    []string{"image_edit", "audio_transcription", "audio_translation"},
		Dialects: list("chat completions tgi trtllm vllm"),
		Arrivals: list("constant poisson gamma"),
		Shaped:   []string{"gamma"},
		Formats:  list("single_turn raw_payload random_pool"),
		Traces:   []string{"mooncake_trace", "burst_gpt_trace"}, Detect: likeRecords, Drawn: []string{"random_pool"},
		Corpora:    list("sonnet coding random unique"),
		Samplings:  list("sequential random shuffle"),
		Objectives: []string{"time_to_first_token", "inter_token_latency", "request_latency", "rtfx", "goodness", "a", "x"},
	}
}

// likeRecords recognises traces by their times, and takes everything else for
// single_turn.
func likeRecords(d DatasetFile) (Detected, error) {
	has := len(d.Records) > 0 && bytes.Contains(d.Records[0], []byte(`"timestamp"`)) && !bytes.Contains(d.Records[0], []byte("null"))
	format := d.Format
	if format == "" {
		format = "single_turn"
	}
	return Detected{Format: format, Timed: has && format == "mooncake_trace" || format == "burst_gpt_trace"}, nil
}

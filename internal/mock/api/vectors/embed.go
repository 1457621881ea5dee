// Package vectors implements the APIs of OpenAI, vLLM, Jina, Cohere, Text Embeddings
// Inference, NVIDIA and Ollama whose answers are vectors, scores and tokens.
package vectors

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"

	"aiperfd/internal/mock/api"
)

// tokenDim is the default dimension of the vectors of single tokens. It is small because
// there may be many of them.
const tokenDim = 16

// vectorReply is a request for vectors, with its answer.
type vectorReply struct {
	vectors [][]float32   // of the inputs …
	rows    [][][]float32 // … or of the tokens of each
	base64  bool
}

// vectorItem is an item of the answer of vLLM's routes. One of the last two members is the
// vector: a list of numbers, a list of such lists, or base64.
type vectorItem struct {
	Index     int    `json:"index"`
	Object    string `json:"object"`
	Embedding any    `json:"embedding,omitempty"`
	Data      any    `json:"data,omitempty"`
}

// NewEmbeddings returns the protocol of POST /v1/embeddings, as vLLM serves it.
func NewEmbeddings() *api.Protocol {
	return api.Reading[vectorReply]{
		Accept: func(m *api.Model, f *api.Fields) (vectorReply, []api.Prompt) {
			texts, read := api.Inputs(m, f)
			return vectorReply{vectors: vectorsOf(texts, f.Dimensions(DefaultDim)), base64: f.Base64()}, read
		},
		Answer: func(x *api.Answer, in vectorReply) any {
			return api.NewList(x, "embd-", len(in.vectors), func(i int) vectorItem {
				return vectorItem{Index: i, Object: "embedding", Embedding: in.vector(i)}
			})
		},
	}.Protocol()
}

// NewPooling returns the protocol of POST /pooling: a vector for each token or, depending
// on the task, for each text.
func NewPooling() *api.Protocol {
	return api.Reading[vectorReply]{
		Accept: acceptPooling,
		Answer: func(x *api.Answer, in vectorReply) any {
			return api.NewList(x, "pool-", max(len(in.vectors), len(in.rows)), func(i int) vectorItem {
				return vectorItem{Index: i, Object: "pooling", Data: in.vector(i)}
			})
		},
	}.Protocol()
}

func acceptPooling(m *api.Model, f *api.Fields) (vectorReply, []api.Prompt) {
	texts, read := api.Inputs(m, f)
	in := vectorReply{base64: f.Base64()}
	switch task := f.Text("task"); task {
	case "", "encode", "token_embed", "token_classify":
		in.rows = rowsOf(m, texts, f.Dimensions(tokenDim))
	case "embed":
		in.vectors = vectorsOf(texts, f.Dimensions(DefaultDim))
	case "classify", "score":
		for _, text := range texts {
			in.vectors = append(in.vectors, classesOf(text))
		}
	default:
		f.Refuse("task", fmt.Sprintf("Unsupported task: %q; supported: "+
			"embed, classify, score, token_embed, token_classify, encode.", task))
	}
	return in, read
}

func vectorsOf(texts []string, dim int) [][]float32 {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = Vector(text, dim)
	}
	return out
}

// rowsOf returns a vector for each token of each text.
func rowsOf(m *api.Model, texts []string, dim int) [][][]float32 {
	out := make([][][]float32, len(texts))
	for i, text := range texts {
		out[i] = vectorsOf(m.Options.Tokenizer.Pieces(text), dim)
	}
	return out
}

// vector returns the vector of input i as the request wants it.
func (in *vectorReply) vector(i int) any {
	switch {
	case in.rows != nil && in.base64:
		return base64Of(in.rows[i]...)
	case in.rows != nil:
		return in.rows[i]
	case in.base64:
		return base64Of(in.vectors[i])
	}
	return in.vectors[i]
}

// base64Of returns numbers as the base64 of little-endian float32.
func base64Of(rows ...[]float32) string {
	var raw []byte
	for _, row := range rows {
		for _, f := range row {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
		}
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// ollamaVectors is the answer to POST /api/embed.
type ollamaVectors struct {
	Model         string      `json:"model"`
	Embeddings    [][]float32 `json:"embeddings"`
	TotalDuration int64       `json:"total_duration"`
	LoadDuration  int64       `json:"load_duration"`
	PromptTokens  *int        `json:"prompt_eval_count,omitempty"`
}

// NewOllamaEmbed returns the protocol of POST /api/embed, or of /api/embeddings if old is
// true.
func NewOllamaEmbed(old bool) *api.Protocol {
	name := "input"
	if old {
		name = "prompt"
	}
	return api.Reading[[][]float32]{
		Accept: func(m *api.Model, f *api.Fields) ([][]float32, []api.Prompt) {
			texts, _ := f.Texts(name)
			return vectorsOf(texts, f.Dimensions(DefaultDim)), m.Read(texts)
		},
		Answer: func(x *api.Answer, in [][]float32) any {
			in = in[:x.Items(len(in))]
			if old {
				return map[string][]float32{"embedding": append(in, []float32{})[0]}
			}
			answer := ollamaVectors{Model: x.Request.Model, Embeddings: in, TotalDuration: int64(x.Elapsed())}
			if usage := x.InputUsage(); usage != nil {
				answer.PromptTokens = &usage.PromptTokens
			}
			return answer
		},
		Refuse: api.SimpleError,
	}.Protocol()
}

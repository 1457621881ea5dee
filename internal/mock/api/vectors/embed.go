// Package vectors implements the APIs of OpenAI, vLLM, Jina, Cohere, Text Embeddings
// Inference, NVIDIA and Ollama whose answers are vectors, scores and tokens.
package vectors

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/embedding"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/options"
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

// NewEmbeddings returns the protocol of POST /v1/embeddings, as vLLM serves it.
func NewEmbeddings() api.Protocol {
	return api.Reading[vectorReply]{
		Accept: func(m *api.Model, f *api.Fields) (vectorReply, []api.Prompt) {
			texts, read := api.Inputs(m, f)
			return vectorReply{vectors: vectorsOf(texts, f.Dimensions(embedding.DefaultDim)), base64: f.Base64()}, read
		},
		Answer: func(dst []byte, x *api.Answer, in vectorReply) []byte {
			return in.append(dst, x, "embd-", "embedding", "embedding")
		},
	}
}

// NewPooling returns the protocol of POST /pooling: a vector for each token or, depending
// on the task, for each text.
func NewPooling() api.Protocol {
	return api.Reading[vectorReply]{
		Accept: func(m *api.Model, f *api.Fields) (vectorReply, []api.Prompt) {
			texts, read := api.Inputs(m, f)
			in := vectorReply{base64: f.Base64()}
			switch task := f.Text("task"); task {
			case "", "encode", "token_embed", "token_classify":
				in.rows = rowsOf(m, texts, f.Dimensions(tokenDim))
			case "embed":
				in.vectors = vectorsOf(texts, f.Dimensions(embedding.DefaultDim))
			case "classify", "score":
				for _, text := range texts {
					in.vectors = append(in.vectors, classesOf(text))
				}
			default:
				if f.Err == nil {
					f.Err = apierror.BadRequest("task", fmt.Sprintf("Unsupported task: %q; supported: embed, classify, score, token_embed, token_classify, encode.", task))
				}
			}
			return in, read
		},
		Answer: func(dst []byte, x *api.Answer, in vectorReply) []byte {
			return in.append(dst, x, "pool-", "pooling", "data")
		},
	}
}

func vectorsOf(texts []string, dim int) [][]float32 {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = embedding.Vector(text, dim)
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

// append appends the answer of vLLM's routes; member is the name of the vector.
func (in *vectorReply) append(dst []byte, x *api.Answer, prefix, object, member string) []byte {
	dst = x.AppendListHead(dst, prefix)
	for i := range x.Items(max(len(in.vectors), len(in.rows))) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"index":`...)
		dst = strconv.AppendInt(dst, int64(i), 10)
		dst = append(dst, `,"object":"`+object+`","`+member+`":`...)
		switch {
		case in.rows != nil && in.base64:
			dst = appendFloat32s(dst, in.rows[i]...)
		case in.rows != nil:
			dst = appendRows(dst, in.rows[i])
		case in.base64:
			dst = appendFloat32s(dst, in.vectors[i])
		default:
			dst = jsonappend.Floats(dst, in.vectors[i])
		}
		dst = append(dst, '}')
	}
	return x.AppendListEnd(dst)
}

func appendRows(dst []byte, rows [][]float32) []byte {
	dst = append(dst, '[')
	for i, row := range rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonappend.Floats(dst, row)
	}
	return append(dst, ']')
}

// appendFloat32s appends numbers as the base64 of little-endian float32, in quotes.
func appendFloat32s(dst []byte, rows ...[]float32) []byte {
	var raw []byte
	for _, row := range rows {
		for _, f := range row {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
		}
	}
	dst = append(dst, '"')
	return append(base64.StdEncoding.AppendEncode(dst, raw), '"')
}

// NewOllamaEmbed returns the protocol of POST /api/embed, or of /api/embeddings if old is
// true.
func NewOllamaEmbed(old bool) api.Protocol {
	return api.Reading[vectorReply]{
		Accept: func(m *api.Model, f *api.Fields) (vectorReply, []api.Prompt) {
			name := "input"
			if old {
				name = "prompt"
			}
			texts, _ := f.Texts(name)
			return vectorReply{vectors: vectorsOf(texts, f.Dimensions(embedding.DefaultDim))}, m.Read(texts)
		},
		Answer: func(dst []byte, x *api.Answer, in vectorReply) []byte {
			vectors := in.vectors[:x.Items(len(in.vectors))]
			if old {
				if len(vectors) == 0 {
					vectors = make([][]float32, 1)
				}
				return append(jsonappend.Floats(append(dst, `{"embedding":`...), vectors[0]), '}')
			}
			dst = jsonappend.String(append(dst, `{"model":`...), x.Request.Model)
			dst = appendRows(append(dst, `,"embeddings":`...), vectors)
			dst = append(dst, `,"total_duration":`...)
			dst = strconv.AppendInt(dst, int64(x.Elapsed()), 10)
			dst = append(dst, `,"load_duration":0`...)
			if x.Options.Usage != options.UsageNever {
				dst = strconv.AppendInt(append(dst, `,"prompt_eval_count":`...), int64(x.Truth.PromptTokens), 10)
			}
			return append(dst, '}')
		},
		Refuse: func(dst []byte, e *apierror.Error) []byte {
			return append(jsonappend.String(append(dst, `{"error":`...), e.Message), '}')
		},
	}
}

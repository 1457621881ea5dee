package mock

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/embedding"
	"aiperfd/internal/mock/jsonappend"
)

// maxDim bounds the dimensions that a request may ask for.
const maxDim = 8192

// tokenDim is the dimension of the vectors of single tokens unless told otherwise:
// there may be many of them.
const tokenDim = 16

// vectorReply is a request for vectors, with its answer.
type vectorReply struct {
	vectors [][]float32   // of the inputs …
	rows    [][][]float32 // … or of the tokens of each
	base64  bool
}

// newEmbeddings is POST /v1/embeddings, as vLLM serves it.
func newEmbeddings() protocol {
	return reading[vectorReply]{
		accept: func(m *model, f *fields) (vectorReply, []prompt) {
			texts, read := inputs(m, f)
			return vectorReply{vectors: vectorsOf(texts, f.dimensions(embedding.DefaultDim)), base64: f.base64()}, read
		},
		answer: func(dst []byte, x *answer, in vectorReply) []byte {
			return in.append(dst, x, "embd-", "embedding", "embedding")
		},
	}
}

// newPooling is POST /pooling: a vector for each token, unless the task asks for one
// for all of a text.
func newPooling() protocol {
	return reading[vectorReply]{
		accept: func(m *model, f *fields) (vectorReply, []prompt) {
			texts, read := inputs(m, f)
			in := vectorReply{base64: f.base64()}
			switch task := f.text("task"); task {
			case "", "encode", "token_embed", "token_classify":
				in.rows = rowsOf(m, texts, f.dimensions(tokenDim))
			case "embed":
				in.vectors = vectorsOf(texts, f.dimensions(embedding.DefaultDim))
			case "classify", "score":
				for _, text := range texts {
					in.vectors = append(in.vectors, classesOf(text))
				}
			default:
				if f.err == nil {
					f.err = apierror.BadRequest("task", fmt.Sprintf("Unsupported task: %q; supported: embed, classify, score, token_embed, token_classify, encode.", task))
				}
			}
			return in, read
		},
		answer: func(dst []byte, x *answer, in vectorReply) []byte {
			return in.append(dst, x, "pool-", "pooling", "data")
		},
	}
}

// dimensions reads the length of vectors that a request asks for.
func (f *fields) dimensions(otherwise int) int {
	n, ok := f.integer("dimensions")
	if !ok {
		return otherwise
	}
	if (n < 1 || n > maxDim) && f.err == nil {
		f.err = apierror.BadRequest("dimensions", fmt.Sprintf("dimensions must be between 1 and %d, got %d.", maxDim, n))
		return otherwise
	}
	return n
}

// base64 reads in which form a request asks for vectors.
func (f *fields) base64() bool {
	switch format := f.text("encoding_format"); format {
	case "", "float":
		return false
	case "base64":
		return true
	default:
		if f.err == nil {
			f.err = apierror.BadRequest("encoding_format", fmt.Sprintf("Input should be 'float' or 'base64', got %q.", format))
		}
		return false
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
func rowsOf(m *model, texts []string, dim int) [][][]float32 {
	out := make([][][]float32, len(texts))
	for i, text := range texts {
		out[i] = vectorsOf(m.opt.Tokenizer.Pieces(text), dim)
	}
	return out
}

// append writes the answer of vLLM's routes; member is where the vector goes.
func (in *vectorReply) append(dst []byte, x *answer, prefix, object, member string) []byte {
	dst = x.appendListHead(dst, prefix)
	for i := range x.items(max(len(in.vectors), len(in.rows))) {
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
	return x.appendListEnd(dst)
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

// newOllamaEmbed is POST /api/embed, and /api/embeddings with old = true.
func newOllamaEmbed(old bool) protocol {
	return reading[vectorReply]{
		accept: func(m *model, f *fields) (vectorReply, []prompt) {
			name := "input"
			if old {
				name = "prompt"
			}
			texts, _ := f.texts(name)
			return vectorReply{vectors: vectorsOf(texts, f.dimensions(embedding.DefaultDim))}, m.read(texts)
		},
		answer: func(dst []byte, x *answer, in vectorReply) []byte {
			vectors := in.vectors[:x.items(len(in.vectors))]
			if old {
				if len(vectors) == 0 {
					vectors = make([][]float32, 1)
				}
				return append(jsonappend.Floats(append(dst, `{"embedding":`...), vectors[0]), '}')
			}
			dst = jsonappend.String(append(dst, `{"model":`...), x.q.model)
			dst = appendRows(append(dst, `,"embeddings":`...), vectors)
			dst = append(dst, `,"total_duration":`...)
			dst = strconv.AppendInt(dst, int64(x.elapsed()), 10)
			dst = append(dst, `,"load_duration":0`...)
			if x.opt.Usage != UsageNever {
				dst = strconv.AppendInt(append(dst, `,"prompt_eval_count":`...), int64(x.truth.PromptTokens), 10)
			}
			return append(dst, '}')
		},
		refuse: func(dst []byte, e *apierror.Error) []byte {
			return append(jsonappend.String(append(dst, `{"error":`...), e.Message), '}')
		},
	}
}

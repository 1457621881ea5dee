package pooling

import (
	"encoding/json"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

// Embeddings is OpenAI's API for vectors of texts (API reference, "Create embeddings"): the
// input is always a list, with an entry for each text of the turn.
func Embeddings() codec.Kind {
	return codec.Kind{
		Name: "embeddings", Aliases: []string{"openai-embeddings"},
		Path: "/v1/embeddings", Title: "Embeddings Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true},
		Encode: encodeTexts("embeddings", "input", codec.StringList), Items: codec.CountTexts, Decode: answer.Decode(Vectors()),
	}
}

// ChatEmbeddings is vLLM's form of the same API for models that read a chat, with
// images, audio and videos.
func ChatEmbeddings() codec.Kind {
	return codec.Kind{
		Name: "chat_embeddings", Aliases: []string{"openai-embeddings-chat"},
		Path: "/v1/embeddings", Title: "Embeddings Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, System: true, Images: true, Audio: true, Video: true},
		Encode: encodeChatEmbeddings, Decode: answer.Decode(Vectors()),
	}
}

// encoder is the type of [codec.Kind.Encode].
type encoder = func(dst []byte, r *codec.Request) ([]byte, error)

// encodeTexts returns the encoder of a body with the model and the texts of the turn, which
// list writes.
func encodeTexts(kind, member string, list func(texts []string) json.RawMessage) encoder {
	return func(dst []byte, r *codec.Request) ([]byte, error) {
		texts, err := codec.SomeTexts(kind, &r.Turn)
		if err != nil {
			return dst, err
		}
		return codec.Object(dst, r, codec.ModelField(r), codec.RawField(member, list(texts)))
	}
}

// orChat returns the encoder of an API that takes messages too, for turns that need them.
func orChat(texts encoder) encoder {
	return func(dst []byte, r *codec.Request) ([]byte, error) {
		if codec.IsChat(r) {
			return encodeChatEmbeddings(dst, r)
		}
		return texts(dst, r)
	}
}

func encodeChatEmbeddings(dst []byte, r *codec.Request) ([]byte, error) {
	return codec.Object(dst, r, codec.ModelField(r), codec.Message(r))
}

// Pooling is vLLM's API for the output of a pooling model for a text, in nested
// lists ("Pooling API"): the input of embeddings, or messages for a turn that needs them.
func Pooling() codec.Kind {
	return codec.Kind{
		Name: "pooling", Aliases: []string{"vllm-pooling"},
		Path: "/pooling", RootPath: true, Title: "Embeddings Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, System: true, Images: true, Audio: true, Video: true},
		Encode: orChat(encodeTexts("pooling", "input", codec.StringList)), Items: codec.CountTexts,
		Decode: answer.Decode(Vectors()),
	}
}

// OllamaEmbed is Ollama's API for vectors ("Generate Embeddings"). It answers its old
// route /api/embeddings too.
func OllamaEmbed() codec.Kind {
	return codec.Kind{
		Name: "ollama_embed",
		Path: "/api/embed", RootPath: true, Title: "Embeddings Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true},
		Encode: encodeTexts("ollama_embed", "input", codec.OneOrList), Items: codec.CountTexts,
		Decode: answer.Decode(vectorGrammar(newOllamaVectors)),
	}
}

// ollamaVectors reads vectors, and the times that Ollama reports.
type ollamaVectors struct{ vectorDialect }

func newOllamaVectors(b *answer.Builder) answer.Dialect {
	return &ollamaVectors{vectorDialect{itemBuilder: itemBuilder{b}}}
}

func (d *ollamaVectors) Document(doc *answer.Document) bool {
	for _, name := range [...]string{"total_duration", "load_duration"} {
		d.Times.Value(name, doc.Value.Get(name), time.Nanosecond)
	}
	return d.vectorDialect.Document(doc)
}

// NIMEmbeddings is the API of NVIDIA's embedding NIMs: OpenAI's, with images as
// data URIs among the texts.
func NIMEmbeddings() codec.Kind {
	return codec.Kind{
		Name: "nim_embeddings",
		Path: "/v1/embeddings", Title: "Embeddings Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, Images: true},
		Encode: encodeNIMEmbeddings, Decode: answer.Decode(Vectors()),
	}
}

// encodeNIMEmbeddings writes a body for POST /v1/embeddings (NVIDIA NIM for VLM
// embeddings). A text with its image is one string: the text, a blank, the URI.
func encodeNIMEmbeddings(dst []byte, r *codec.Request) ([]byte, error) {
	input, err := nimInput(&r.Turn)
	if err != nil {
		return dst, err
	}
	return codec.Object(dst, r, codec.ModelField(r), codec.RawField("input", input))
}

func nimInput(t *bench.Turn) ([]byte, error) {
	texts, images := t.Texts, t.Images
	switch {
	case len(images) == 0:
		texts, err := codec.SomeTexts("nim_embeddings", t)
		return codec.StringList(texts), err
	case len(texts) > 0 && len(texts) != len(images):
		return nil, errUnpaired(len(texts), len(images))
	}
	dst := []byte{'['}
	for i := range images {
		if i > 0 {
			dst = append(dst, ',')
		}
		uri := string(codec.MediaURI(&images[i]))
		if len(texts) > 0 {
			uri = texts[i] + " " + uri
		}
		dst = codec.AppendString(dst, uri)
	}
	return append(dst, ']'), nil
}

package endpoint

import (
	"time"

	"aiperfd/internal/engine/bench"
)

// embeddings is OpenAI's API for vectors of texts.
func embeddings() Kind {
	return Kind{
		Name: "embeddings", Aliases: []string{"openai-embeddings"},
		Path: "/v1/embeddings", Title: "Embeddings Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true},
		Encode: encodeEmbeddings, Items: countTexts, Decode: decodeWith(vectors()),
	}
}

// encodeEmbeddings writes a body for POST /v1/embeddings (OpenAI API reference,
// "Create embeddings"): always a list, with an entry for each text of the turn.
func encodeEmbeddings(dst []byte, r *Request) ([]byte, error) {
	texts, err := someTexts("embeddings", &r.Turn)
	if err != nil {
		return dst, err
	}
	return object(dst, r, modelField(r), Field{"input", stringList(texts)})
}

// chatEmbeddings is vLLM's form of the same API for models that read a chat, with
// images, audio and videos.
func chatEmbeddings() Kind {
	return Kind{
		Name: "chat_embeddings", Aliases: []string{"openai-embeddings-chat"},
		Path: "/v1/embeddings", Title: "Embeddings Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, System: true, Images: true, Audio: true, Video: true},
		Encode: encodeChatEmbeddings, Decode: decodeWith(vectors()),
	}
}

func encodeChatEmbeddings(dst []byte, r *Request) ([]byte, error) {
	return object(dst, r, modelField(r), message(r))
}

// pooling is vLLM's API for what a pooling model makes of a text, in any nest of
// lists.
func pooling() Kind {
	return Kind{
		Name: "pooling", Aliases: []string{"vllm-pooling"},
		Path: "/pooling", RootPath: true, Title: "Embeddings Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, System: true, Images: true, Audio: true, Video: true},
		Encode: encodePooling, Items: countTexts, Decode: decodeWith(vectors()),
	}
}

// encodePooling writes a body for POST /pooling (vLLM, "Pooling API"): the input of
// embeddings, or messages for a turn that needs them.
func encodePooling(dst []byte, r *Request) ([]byte, error) {
	if isChat(r) {
		return encodeChatEmbeddings(dst, r)
	}
	texts, err := someTexts("pooling", &r.Turn)
	if err != nil {
		return dst, err
	}
	return object(dst, r, modelField(r), Field{"input", stringList(texts)})
}

// ollamaEmbed is Ollama's API for vectors. It answers its old route
// /api/embeddings too.
func ollamaEmbed() Kind {
	return Kind{
		Name: "ollama_embed",
		Path: "/api/embed", RootPath: true, Title: "Embeddings Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true},
		Encode: encodeOllamaEmbed, Items: countTexts, Decode: decodeWith(vectorGrammar(newOllamaVectors)),
	}
}

// encodeOllamaEmbed writes a body for POST /api/embed (Ollama API, "Generate
// Embeddings").
func encodeOllamaEmbed(dst []byte, r *Request) ([]byte, error) {
	texts, err := someTexts("ollama_embed", &r.Turn)
	if err != nil {
		return dst, err
	}
	return object(dst, r, modelField(r), Field{"input", oneOrList(texts)})
}

// ollamaVectors reads vectors, and the times that Ollama reports.
type ollamaVectors struct{ vectorDialect }

func newOllamaVectors(b *builder) dialect {
	return &ollamaVectors{vectorDialect{itemBuilder: itemBuilder{b}}}
}

func (d *ollamaVectors) document(doc *document) bool {
	for _, name := range [...]string{"total_duration", "load_duration"} {
		d.times.value(name, doc.value.Get(name), time.Nanosecond)
	}
	return d.vectorDialect.document(doc)
}

// nimEmbeddings is the API of NVIDIA's embedding NIMs: OpenAI's, with images as
// data URIs among the texts.
func nimEmbeddings() Kind {
	return Kind{
		Name: "nim_embeddings",
		Path: "/v1/embeddings", Title: "Embeddings Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, Images: true},
		Encode: encodeNIMEmbeddings, Decode: decodeWith(vectors()),
	}
}

// encodeNIMEmbeddings writes a body for POST /v1/embeddings (NVIDIA NIM for VLM
// embeddings). A text with its image is one string: the text, a blank, the URI.
func encodeNIMEmbeddings(dst []byte, r *Request) ([]byte, error) {
	input, err := nimInput(&r.Turn)
	if err != nil {
		return dst, err
	}
	return object(dst, r, modelField(r), Field{"input", input})
}

func nimInput(t *bench.Turn) ([]byte, error) {
	texts, images := t.Texts, t.Images
	switch {
	case len(images) == 0:
		texts, err := someTexts("nim_embeddings", t)
		return stringList(texts), err
	case len(texts) > 0 && len(texts) != len(images):
		return nil, errUnpaired(len(texts), len(images))
	}
	dst := []byte{'['}
	for i := range images {
		if i > 0 {
			dst = append(dst, ',')
		}
		uri := string(mediaURI(&images[i]))
		if len(texts) > 0 {
			uri = texts[i] + " " + uri
		}
		dst = appendString(dst, uri)
	}
	return append(dst, ']'), nil
}

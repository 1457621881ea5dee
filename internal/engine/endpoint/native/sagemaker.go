package native

import (
	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
	"aiperfd/internal/engine/endpoint/openai"
)

// The dialects of [sagemaker]: which API the container has.
const (
	dialectChat        = "chat"
	dialectCompletions = "completions"
	dialectTGI         = "tgi"
)

// SageMaker is what a container serves on SageMaker: the body of another API,
// behind one path. AWS wraps streams into frames, which the transport undoes.
func SageMaker() codec.Kind {
	return codec.Kind{
		Name: "sagemaker", Aliases: []string{"invocations"},
		Path: "/invocations", RootPath: true, Title: "LLM Metrics",
		Dialects: []string{dialectChat, dialectCompletions, dialectTGI},
		Caps: bench.Caps{
			Streams: true, ProducesTokens: true, TokenizesInput: true, Reasoning: true,
			System: true, History: true, Images: true, Audio: true, Video: true,
		},
		Encode: encodeSageMaker,
		Decode: answer.Decode(&answer.Grammar{Dialect: newSageMaker, Lists: true, End: answer.EndTerminal}),
	}
}

// encodeSageMaker writes the body of the inner API.
func encodeSageMaker(dst []byte, r *codec.Request) ([]byte, error) {
	switch r.Settings.Dialect {
	case dialectCompletions:
		inner := openai.Completions()
		return inner.Body(dst, r)
	case dialectTGI: // one path for both: the body decides whether to stream
		settings := *r.Settings
		settings.OwnPath = true
		request := *r
		request.Settings = &settings
		inner := TGI()
		return inner.Body(dst, &request)
	}
	return openai.EncodeChat(dst, r)
}

// sagemakerDialect decides by the members which API the container has: OpenAI's, or
// that of TGI and LMI.
type sagemakerDialect struct {
	openAI openai.Dialect
	tgi    tgiDialect
}

func newSageMaker(b *answer.Builder) answer.Dialect {
	return sagemakerDialect{openai.NewDialect(b), tgiDialect{b}}
}

func (d sagemakerDialect) Reset() {}

func (d sagemakerDialect) Document(doc *answer.Document) bool {
	v := doc.Value
	if v.Type() == fastjson.TypeArray || v.Get("token") != nil || v.Get("generated_text") != nil {
		return d.tgi.Document(doc)
	}
	return d.openAI.Document(doc)
}

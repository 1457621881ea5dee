package endpoint

import (
	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// The dialects of [sagemaker]: which API the container has.
const (
	dialectChat        = "chat"
	dialectCompletions = "completions"
	dialectTGI         = "tgi"
)

// sagemaker is what a container serves on SageMaker: the body of another API,
// behind one path. AWS wraps streams into frames, which the transport undoes.
func sagemaker() Kind {
	return Kind{
		Name: "sagemaker", Aliases: []string{"invocations"},
		Path: "/invocations", RootPath: true, Title: "LLM Metrics",
		Dialects: []string{dialectChat, dialectCompletions, dialectTGI},
		Caps: bench.Caps{
			Streams: true, ProducesTokens: true, TokenizesInput: true, Reasoning: true,
			System: true, History: true, Images: true, Audio: true, Video: true,
		},
		Encode: encodeSageMaker,
		Decode: decodeWith(&grammar{dialect: newSageMaker, lists: true, end: endTerminal}),
	}
}

// encodeSageMaker writes the body of the inner API.
func encodeSageMaker(dst []byte, r *Request) ([]byte, error) {
	switch r.Settings.Dialect {
	case dialectCompletions:
		inner := completions()
		return inner.Body(dst, r)
	case dialectTGI: // one path for both: the body says whether to stream
		settings := *r.Settings
		settings.OwnPath = true
		request := *r
		request.Settings = &settings
		inner := tgi()
		return inner.Body(dst, &request)
	}
	return encodeChat(dst, r)
}

// sagemakerDialect decides by the members which API the container has: OpenAI's, or
// that of TGI and LMI.
type sagemakerDialect struct {
	openAI openAIDialect
	tgi    tgiDialect
}

func newSageMaker(b *builder) dialect { return sagemakerDialect{openAIDialect{b}, tgiDialect{b}} }

func (d sagemakerDialect) reset() {}

func (d sagemakerDialect) document(doc *document) bool {
	v := doc.value
	if v.Type() == fastjson.TypeArray || v.Get("token") != nil || v.Get("generated_text") != nil {
		return d.tgi.document(doc)
	}
	return d.openAI.document(doc)
}

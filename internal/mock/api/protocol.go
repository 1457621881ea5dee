package api

import "net/http"

// Protocol is one API: it reads requests and writes answers. It is immutable; one value
// serves all requests.
//
// To add an API, write one file with a protocol in the package of its family and add its
// rows to the table of routes of the server.
type Protocol struct {
	// Read parses a request and checks it against the server's limits, see [ReadJSON]. r is
	// nil in the front, which serves only OpenAI's text routes.
	Read func(m *Model, r *http.Request, body []byte) (*Request, *Error)
	// Document appends the answer in one piece and returns its content type.
	Document func(dst []byte, x *Answer) ([]byte, string)
	// Refuse appends the body of an error; nil = in vLLM's form.
	Refuse func(dst []byte, e *Error) []byte
	// Reasons means that reasoning is separate from the answer.
	Reasons bool
	// Script has the events of streams; nil = the API has no streams.
	Script *Script
	// Choose returns the protocol of the body of a request for a path that several
	// protocols share; nil = this one.
	Choose func(m *Model, body []byte) *Protocol
}

// Refusal appends the body of an error.
func (p *Protocol) Refusal(dst []byte, e *Error) []byte {
	if p.Refuse == nil {
		return AppendError(dst, e)
	}
	return p.Refuse(dst, e)
}

// JSON is the content type of documents.
const JSON = "application/json"

// SimpleError appends {"error": message}, the form of TGI, Ollama, Triton and Runpod.
func SimpleError(dst []byte, e *Error) []byte {
	return append(AppendString(append(dst, `{"error":`...), e.Message), '}')
}

// TypedError appends {"error": message, "error_type": kind}, the form of TGI and TEI.
func TypedError(dst []byte, e *Error, kind string) []byte {
	return AppendJSON(dst, struct {
		Error string `json:"error"`
		Kind  string `json:"error_type"`
	}{e.Message, kind})
}

// Script writes the events of a stream. Each function adds whole events to e.B, every
// one followed by [Events.End]. They need not stop after an error: [Events.Err] ends the
// stream. All but Content may be nil, which adds nothing.
type Script struct {
	ContentType string
	// Lines makes events lines, which end with one line end. There are no comments.
	Lines bool
	// Wrap encloses b[start:], a whole event, in a frame; nil = no frame.
	Wrap func(b []byte, start int) []byte
	// Unframed means that the body is no stream of events, so nothing may be put
	// between its parts.
	Unframed bool
	// Open prepares the common beginning of all events.
	Open func(e *Events)
	// Begin adds the events right after the head of the response.
	Begin func(e *Events)
	// First adds the events right before the first token.
	First func(e *Events)
	// Content adds an event with the tokens from … to−1 of c; last is true if c
	// ends with them.
	Content func(e *Events, c *Choice, from, to int, last bool)
	// Finish adds the events after the last token of c.
	Finish func(e *Events, c *Choice)
	// Close adds the events after the end of all choices.
	Close func(e *Events)
	// Fail adds the error event of a server that fails during the stream.
	Fail func(e *Events, failure *Error)
}

package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/valyala/fastjson"
)

// ErrClientGone is the error of reads and writes of a connection that the client has
// closed.
var ErrClientGone = errors.New("client is gone")

// MaxChoices is the maximum of n times the number of prompts of a request.
const MaxChoices = 1024

// MediaTokens is the number of tokens of an image, audio or video part.
const MediaTokens = 256

// Request is the common content of the requests of all protocols.
type Request struct {
	Model           string
	Stream          bool
	IncludeUsage    bool
	ContinuousUsage bool
	IgnoreEOS       bool
	MaxTokens       int // 0 = not given
	MinTokens       int
	N               int // ≥ 1
	Seed            uint64
	NoOutput        bool         // the answer has no output tokens
	NoModel         bool         // the model is not used, so the engine's metrics do not count it
	Length          int          // output tokens if the request determines them; 0 = it does not
	Chat            bool         // it is a conversation
	Constraints     *Constraints // nil = none
	Payload         any          // further parameters of the protocol
	Priority        int          // with an accelerator: lower is served first
	CacheSalt       string       // with an accelerator: prefixes are shared only with the same
	SpecDetails     bool         // SGLang's report of speculative decoding is wanted
	Acceptance      float64      // how likely a draft token is accepted; the server sets it
	Prompts         []Prompt     // at least one; each gets n choices
}

// Prompt is the stored part of one input text.
type Prompt struct {
	Tokens int
	Hash   uint32
	Echo   string   // only filled when the content is ContentEcho
	role   string   // of the text that ReadText adds; only for ids
	ids    []uint32 // of the tokens that were read; only with an accelerator
}

// PromptTokens returns the number of tokens of all prompts.
func (q *Request) PromptTokens() int {
	sum := 0
	for i := range q.Prompts {
		sum += q.Prompts[i].Tokens
	}
	return sum
}

// ReadBody reads the whole body into buf.
func (m *Model) ReadBody(w http.ResponseWriter, r *http.Request, buf *bytes.Buffer) error {
	_, err := io.Copy(buf, http.MaxBytesReader(w, r.Body, m.Options.MaxBody))
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		status := http.StatusRequestEntityTooLarge
		return NewError(status, fmt.Sprintf("Request body is larger than %d bytes.", tooLarge.Limit), "")
	}
	if err != nil {
		return ErrClientGone
	}
	return nil
}

// ReadJSON returns the function Read of a protocol whose requests are JSON objects. read
// fills in the request, whose N is 1 unless it says otherwise, and must not retain the
// fields. Then the request is checked against the limits of the server.
func ReadJSON(
	read func(m *Model, r *http.Request, f *Fields, q *Request),
) func(*Model, *http.Request, []byte) (*Request, *Error) {
	return func(m *Model, r *http.Request, body []byte) (*Request, *Error) {
		q := &Request{N: 1}
		refusal := m.ParseJSON(body, func(f *Fields) {
			read(m, r, f, q)
			if !f.Failed() {
				f.Err = m.CheckRequest(q)
			}
		})
		return q, refusal
	}
}

// ParseJSON passes a JSON object to read, which must not retain it.
func (m *Model) ParseJSON(body []byte, read func(*Fields)) *Error {
	if err := fastjson.ValidateBytes(body); err != nil {
		return BadRequest("", "JSON decode error: "+firstLine(err))
	}
	parser := m.parsers.Get()
	defer m.parsers.Put(parser)
	v, err := parser.ParseBytes(body)
	if err != nil {
		return BadRequest("", "JSON decode error: "+firstLine(err))
	}
	if v.Type() != fastjson.TypeObject {
		return BadRequest("", "Input should be a valid dictionary")
	}
	f := &Fields{Value: v}
	read(f)
	return f.Err
}

// firstLine shortens the error of a parser, which quotes the input.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text[:min(len(text), 200)]
}

// ReadLengths reads the limits of length, the number of choices and the seed under the
// names of OpenAI.
func (q *Request) ReadLengths(f *Fields) {
	q.MaxTokens = f.Count("max_tokens", 1)
	if n := f.Count("max_completion_tokens", 1); n != 0 {
		q.MaxTokens = n
	}
	q.N = f.Within("n", 1, MaxChoices, 1)
	if q.MinTokens, _ = f.Integer("min_tokens"); q.MinTokens < 0 {
		f.Refuse("min_tokens", fmt.Sprintf("min_tokens must be greater than or equal to 0, got %d.", q.MinTokens))
	}
	if q.MaxTokens > 0 && q.MinTokens > q.MaxTokens {
		f.Refuse("min_tokens", fmt.Sprintf("min_tokens must be less than or equal to max_tokens=%d, got %d.",
			q.MaxTokens, q.MinTokens))
	}
	q.Seed = f.Seed("seed")
}

// ReadStreamOptions reads stream_options.
func (q *Request) ReadStreamOptions(f *Fields) {
	v := f.Member("stream_options")
	if v == nil {
		return
	}
	if !q.Stream {
		f.Refuse("stream_options", "Stream options can only be defined when `stream=True`.")
	}
	o := f.In(v)
	q.IncludeUsage = o.Flag("include_usage")
	q.ContinuousUsage = o.Flag("continuous_usage_stats")
}

// NoModel returns the error for a model that is not served.
func NoModel(name string) *Error {
	status := http.StatusNotFound
	return NewError(status, fmt.Sprintf("The model `%s` does not exist.", name), "model")
}

// CheckRequest checks a well-formed request against the server's limits.
func (m *Model) CheckRequest(q *Request) *Error {
	if len(q.Prompts)*q.N > MaxChoices && !q.NoOutput {
		return BadRequest("n", fmt.Sprintf("n must be at most %d over all prompts.", MaxChoices))
	}
	if q.MaxTokens > 0 && q.MinTokens > q.MaxTokens {
		text := fmt.Sprintf("the least length, %d, is over the limit of %d", q.MinTokens, q.MaxTokens)
		return BadRequest("min_tokens", text)
	}
	if q.Model == "" {
		q.Model = m.Models()[0]
	}
	if !m.Serves(q.Model) {
		return NoModel(q.Model)
	}
	for i := range q.Prompts {
		in := q.Prompts[i].Tokens
		if in+max(q.MaxTokens, 1) > m.Options.MaxModelLen {
			return BadRequest("max_tokens", fmt.Sprintf("This model's maximum context length is %d tokens. "+
				"However, you requested %d output tokens and your prompt contains %d input tokens.",
				m.Options.MaxModelLen, q.MaxTokens, in))
		}
	}
	return nil
}

// Members returns the members of a body; none if it is not a JSON object.
func (m *Model) Members(body []byte, names ...string) []bool {
	has := make([]bool, len(names))
	_ = m.ParseJSON(body, func(f *Fields) { // the selected protocol reports the error
		for i, name := range names {
			has[i] = f.Value.Exists(name)
		}
	})
	return has
}

// Read returns the prompts of texts.
func (m *Model) Read(texts []string) []Prompt {
	prompts := make([]Prompt, len(texts))
	for i, text := range texts {
		prompts[i].Tokens = m.Options.Tokenizer.Count(text)
	}
	return prompts
}

// Shorten returns at most the first 100 bytes of a text of a request, for an error.
func Shorten(text string) string { return text[:min(len(text), 100)] }

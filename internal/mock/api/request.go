package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
)

// ErrClientGone is the error of reads and writes of a connection that the client has
// closed.
var ErrClientGone = errors.New("client is gone")

// maxChoices is the maximum of n times the number of prompts of a request.
const maxChoices = 1024

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

// Fields reads typed members of a JSON object and keeps the first error. A null member
// counts as missing.
type Fields struct {
	Value *fastjson.Value
	Err   *apierror.Error
}

// Fail keeps an error about a member of the wrong type, unless there is one already.
func (f *Fields) Fail(name, want string) {
	if f.Err == nil {
		f.Err = apierror.BadRequest(name, fmt.Sprintf("Input should be a valid %s: %s", want, name))
	}
}

// Get returns a member; ok is false if it is missing or null.
func (f *Fields) Get(name string) (*fastjson.Value, bool) {
	v := f.Value.Get(name)
	return v, v != nil && v.Type() != fastjson.TypeNull
}

// Boolean reads a boolean member; false if it is missing.
func (f *Fields) Boolean(name string) bool {
	v, ok := f.Get(name)
	if !ok {
		return false
	}
	b, err := v.Bool()
	if err != nil {
		f.Fail(name, "boolean")
	}
	return b
}

// Text reads a string member; "" if it is missing.
func (f *Fields) Text(name string) string {
	v, ok := f.Get(name)
	if !ok {
		return ""
	}
	b, err := v.StringBytes()
	if err != nil {
		f.Fail(name, "string")
	}
	return string(b)
}

// Integer reads an integer member; ok is false if it is missing.
func (f *Fields) Integer(name string) (int, bool) {
	v, ok := f.Get(name)
	if !ok {
		return 0, false
	}
	x, err := v.Float64()
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		f.Fail(name, "integer")
		return 0, false
	}
	return int(x), true
}

// ReadBody reads the whole body into buf.
func (m *Model) ReadBody(w http.ResponseWriter, r *http.Request, buf *bytes.Buffer) error {
	_, err := io.Copy(buf, http.MaxBytesReader(w, r.Body, m.Options.MaxBody))
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		status := http.StatusRequestEntityTooLarge
		return apierror.New(status, fmt.Sprintf("Request body is larger than %d bytes.", tooLarge.Limit), "")
	}
	if err != nil {
		return ErrClientGone
	}
	return nil
}

// ParseJSON passes a JSON object to read, which must not retain it.
func (m *Model) ParseJSON(body []byte, read func(*Fields)) *apierror.Error {
	if err := fastjson.ValidateBytes(body); err != nil {
		return apierror.BadRequest("", "JSON decode error: "+firstLine(err))
	}
	parser := m.parsers.Get()
	defer m.parsers.Put(parser)
	v, err := parser.ParseBytes(body)
	if err != nil {
		return apierror.BadRequest("", "JSON decode error: "+firstLine(err))
	}
	if v.Type() != fastjson.TypeObject {
		return apierror.BadRequest("", "Input should be a valid dictionary")
	}
	f := &Fields{Value: v}
	read(f)
	return f.Err
}

// ParseText reads the common members of OpenAI's text routes, then the prompts.
func (m *Model) ParseText(body []byte, prompts func(*Model, *Fields) []Prompt) (*Request, *apierror.Error) {
	q := &Request{}
	refusal := m.ParseJSON(body, func(f *Fields) {
		q.Model, q.Stream, q.IgnoreEOS = f.Text("model"), f.Boolean("stream"), f.Boolean("ignore_eos")
		q.ReadLengths(f)
		q.ReadStreamOptions(f)
		if m.Options.Accelerator != nil {
			q.Priority, _ = f.Integer("priority")
			q.CacheSalt = f.Text("cache_salt")
		}
		q.Prompts = prompts(m, f)
		if f.Err == nil && len(q.Prompts)*q.N > maxChoices {
			f.Err = apierror.BadRequest("n", fmt.Sprintf("n must be at most %d over all prompts.", maxChoices))
		}
		if f.Err == nil {
			f.Err = m.CheckRequest(q)
		}
	})
	return q, refusal
}

// firstLine shortens the error of a parser, which quotes the input.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text[:min(len(text), 200)]
}

// ReadLengths reads the limits of length, the number of choices and the seed under the
// names of OpenAI.
func (q *Request) ReadLengths(f *Fields) {
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		v, ok := f.Integer(name)
		if !ok {
			continue
		}
		if v < 1 && f.Err == nil {
			f.Err = apierror.BadRequest(name, fmt.Sprintf("%s must be at least 1, got %d.", name, v))
		}
		q.MaxTokens = v
	}
	q.N = 1
	if v, ok := f.Integer("n"); ok {
		if (v < 1 || v > maxChoices) && f.Err == nil {
			f.Err = apierror.BadRequest("n", fmt.Sprintf("n must be between 1 and %d, got %d.", maxChoices, v))
		}
		q.N = v
	}
	if v, ok := f.Integer("min_tokens"); ok {
		if v < 0 && f.Err == nil {
			f.Err = apierror.BadRequest("min_tokens", fmt.Sprintf("min_tokens must be greater than or equal to 0, got %d.", v))
		}
		q.MinTokens = v
	}
	if q.MaxTokens > 0 && q.MinTokens > q.MaxTokens && f.Err == nil {
		f.Err = apierror.BadRequest("min_tokens", fmt.Sprintf("min_tokens must be less than or equal to max_tokens=%d, got %d.",
			q.MaxTokens, q.MinTokens))
	}
	if v, ok := f.Integer("seed"); ok {
		q.Seed = uint64(v)
	}
}

// ReadStreamOptions reads stream_options.
func (q *Request) ReadStreamOptions(f *Fields) {
	v, ok := f.Get("stream_options")
	if !ok {
		return
	}
	if v.Type() != fastjson.TypeObject {
		f.Fail("stream_options", "dictionary")
		return
	}
	if !q.Stream && f.Err == nil {
		f.Err = apierror.BadRequest("stream_options", "Stream options can only be defined when `stream=True`.")
	}
	o := &Fields{Value: v, Err: f.Err}
	q.IncludeUsage = o.Boolean("include_usage")
	q.ContinuousUsage = o.Boolean("continuous_usage_stats")
	f.Err = o.Err
}

// NoModel returns the error for a model that is not served.
func NoModel(name string) *apierror.Error {
	status := http.StatusNotFound
	return apierror.New(status, fmt.Sprintf("The model `%s` does not exist.", name), "model")
}

// CheckRequest checks a well-formed request against the server's limits.
func (m *Model) CheckRequest(q *Request) *apierror.Error {
	if q.Model == "" {
		q.Model = m.Models()[0]
	}
	if !m.Serves(q.Model) {
		return NoModel(q.Model)
	}
	for i := range q.Prompts {
		in := q.Prompts[i].Tokens
		if in+max(q.MaxTokens, 1) > m.Options.MaxModelLen {
			return apierror.BadRequest("max_tokens", fmt.Sprintf("This model's maximum context length is %d tokens. "+
				"However, you requested %d output tokens and your prompt contains %d input tokens.",
				m.Options.MaxModelLen, q.MaxTokens, in))
		}
	}
	return nil
}

// ReadLimit reads the length limit under its name in the API.
func (q *Request) ReadLimit(f *Fields, name string) {
	v, ok := f.Integer(name)
	if ok && v < 1 && f.Err == nil {
		f.Err = apierror.BadRequest(name, fmt.Sprintf("%s must be at least 1, got %d.", name, v))
	}
	q.MaxTokens = v
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

// Admit checks the request that a protocol has read, and keeps the first error.
func (m *Model) Admit(f *Fields, q *Request) {
	if q.N == 0 {
		q.N = 1
	}
	switch {
	case f.Err != nil:
	case q.N < 1 || len(q.Prompts)*q.N > maxChoices:
		f.Err = apierror.BadRequest("n", fmt.Sprintf("n must be between 1 and %d over all prompts.", maxChoices))
	case q.MaxTokens > 0 && q.MinTokens > q.MaxTokens:
		f.Err = apierror.BadRequest("min_tokens", fmt.Sprintf("the least length, %d, is over the limit of %d", q.MinTokens, q.MaxTokens))
	default:
		f.Err = m.CheckRequest(q)
	}
}

// Read returns the prompts of texts.
func (m *Model) Read(texts []string) []Prompt {
	prompts := make([]Prompt, len(texts))
	for i, text := range texts {
		prompts[i].Tokens = m.Options.Tokenizer.Count(text)
	}
	return prompts
}

package mock

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

// maxChoices bounds n times the number of prompts of one request.
const maxChoices = 1024

// mediaTokens is what an image, audio or video part counts.
const mediaTokens = 256

// textRequest is what requests of all protocols have in common.
type textRequest struct {
	model           string
	stream          bool
	includeUsage    bool
	continuousUsage bool
	ignoreEOS       bool
	maxTokens       int // 0 = not given
	minTokens       int
	n               int // ≥ 1
	seed            uint64
	silent          bool     // there are no output tokens
	apart           bool     // the model has no part in it: it is not in the engine's metrics
	length          int      // output tokens that the request itself decides; 0 = it does not
	chat            bool     // it is a conversation
	wish            *wishes  // nil = an ordinary answer
	payload         any      // what else the protocol has read
	priority        int      // with an accelerator: lower is served first
	cacheSalt       string   // with an accelerator: prefixes are shared only with the same
	prompts         []prompt // at least one; each gets n choices
}

// prompt is what is kept of one input text.
type prompt struct {
	tokens int
	hash   uint32
	echo   string   // only filled when the content is ContentEcho
	role   string   // whose text readText adds; only for ids
	ids    []uint32 // of the tokens, as far as they were read; only with an accelerator
}

func (q *textRequest) promptTokens() int {
	sum := 0
	for i := range q.prompts {
		sum += q.prompts[i].tokens
	}
	return sum
}

// fields reads typed members of a JSON object and keeps the first problem.
// Absent and null are the same.
type fields struct {
	v   *fastjson.Value
	err *apierror.Error
}

func (f *fields) fail(name, want string) {
	if f.err == nil {
		f.err = apierror.BadRequest(name, fmt.Sprintf("Input should be a valid %s: %s", want, name))
	}
}

func (f *fields) get(name string) (*fastjson.Value, bool) {
	v := f.v.Get(name)
	return v, v != nil && v.Type() != fastjson.TypeNull
}

func (f *fields) boolean(name string) bool {
	v, ok := f.get(name)
	if !ok {
		return false
	}
	b, err := v.Bool()
	if err != nil {
		f.fail(name, "boolean")
	}
	return b
}

func (f *fields) text(name string) string {
	v, ok := f.get(name)
	if !ok {
		return ""
	}
	b, err := v.StringBytes()
	if err != nil {
		f.fail(name, "string")
	}
	return string(b)
}

func (f *fields) integer(name string) (int, bool) {
	v, ok := f.get(name)
	if !ok {
		return 0, false
	}
	x, err := v.Float64()
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		f.fail(name, "integer")
		return 0, false
	}
	return int(x), true
}

// readBody reads the whole body into buf.
func (m *model) readBody(w http.ResponseWriter, r *http.Request, buf *bytes.Buffer) error {
	_, err := io.Copy(buf, http.MaxBytesReader(w, r.Body, m.opt.MaxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		status := http.StatusRequestEntityTooLarge
		return apierror.New(status, fmt.Sprintf("Request body is larger than %d bytes.", tooLarge.Limit), "")
	}
	if err != nil {
		return errClientGone
	}
	return nil
}

// parseJSON hands a JSON object to read, which must keep nothing of it.
func (m *model) parseJSON(body []byte, read func(*fields)) *apierror.Error {
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
	f := &fields{v: v}
	read(f)
	return f.err
}

// parseText reads the members that OpenAI's text routes share, then the prompts.
func (m *model) parseText(body []byte, prompts func(*model, *fields) []prompt) (*textRequest, *apierror.Error) {
	q := &textRequest{}
	refusal := m.parseJSON(body, func(f *fields) {
		q.model, q.stream, q.ignoreEOS = f.text("model"), f.boolean("stream"), f.boolean("ignore_eos")
		q.readLengths(f)
		q.readStreamOptions(f)
		if m.opt.Accelerator != nil {
			q.priority, _ = f.integer("priority")
			q.cacheSalt = f.text("cache_salt")
		}
		q.prompts = prompts(m, f)
		if f.err == nil && len(q.prompts)*q.n > maxChoices {
			f.err = apierror.BadRequest("n", fmt.Sprintf("n must be at most %d over all prompts.", maxChoices))
		}
		if f.err == nil {
			f.err = m.checkRequest(q)
		}
	})
	return q, refusal
}

// firstLine shortens a parser's error, which quotes the input.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text[:min(len(text), 200)]
}

func (q *textRequest) readLengths(f *fields) {
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		v, ok := f.integer(name)
		if !ok {
			continue
		}
		if v < 1 && f.err == nil {
			f.err = apierror.BadRequest(name, fmt.Sprintf("%s must be at least 1, got %d.", name, v))
		}
		q.maxTokens = v
	}
	q.n = 1
	if v, ok := f.integer("n"); ok {
		if (v < 1 || v > maxChoices) && f.err == nil {
			f.err = apierror.BadRequest("n", fmt.Sprintf("n must be between 1 and %d, got %d.", maxChoices, v))
		}
		q.n = v
	}
	if v, ok := f.integer("min_tokens"); ok {
		if v < 0 && f.err == nil {
			f.err = apierror.BadRequest("min_tokens", fmt.Sprintf("min_tokens must be greater than or equal to 0, got %d.", v))
		}
		q.minTokens = v
	}
	if q.maxTokens > 0 && q.minTokens > q.maxTokens && f.err == nil {
		f.err = apierror.BadRequest("min_tokens", fmt.Sprintf("min_tokens must be less than or equal to max_tokens=%d, got %d.",
			q.maxTokens, q.minTokens))
	}
	if v, ok := f.integer("seed"); ok {
		q.seed = uint64(v)
	}
}

func (q *textRequest) readStreamOptions(f *fields) {
	v, ok := f.get("stream_options")
	if !ok {
		return
	}
	if v.Type() != fastjson.TypeObject {
		f.fail("stream_options", "dictionary")
		return
	}
	if !q.stream && f.err == nil {
		f.err = apierror.BadRequest("stream_options", "Stream options can only be defined when `stream=True`.")
	}
	o := &fields{v: v, err: f.err}
	q.includeUsage = o.boolean("include_usage")
	q.continuousUsage = o.boolean("continuous_usage_stats")
	f.err = o.err
}

// noModel is the refusal of a model that is not served.
func noModel(name string) *apierror.Error {
	status := http.StatusNotFound
	return apierror.New(status, fmt.Sprintf("The model `%s` does not exist.", name), "model")
}

// checkRequest compares a well-formed request with the server's limits.
func (m *model) checkRequest(q *textRequest) *apierror.Error {
	if q.model == "" {
		q.model = m.models()[0]
	}
	if !m.serves(q.model) {
		return noModel(q.model)
	}
	for i := range q.prompts {
		in := q.prompts[i].tokens
		if in+max(q.maxTokens, 1) > m.opt.MaxModelLen {
			return apierror.BadRequest("max_tokens", fmt.Sprintf("This model's maximum context length is %d tokens. "+
				"However, you requested %d output tokens and your prompt contains %d input tokens.",
				m.opt.MaxModelLen, q.maxTokens, in))
		}
	}
	return nil
}

package mock

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
)

// nativeRoutes are the APIs of other servers than OpenAI's and vLLM's.
func nativeRoutes() []route {
	post, get := http.MethodPost, http.MethodGet
	rows := []route{
		{post, "/", true, inference(newTGI(tgiAsked))},
		{post, "/generate", true, inference(newGenerate())},
		{post, "/generate_stream", true, inference(newTGI(tgiAlways))},
		{get, "/info", true, about(serveTGIInfo)},
		{post, "/api/chat", true, inference(newOllama(true))},
		{post, "/api/generate", true, inference(newOllama(false))},
		{get, "/api/tags", true, about(serveOllamaModels)},
		{get, "/api/ps", true, about(serveOllamaModels)},
		{get, "/api/version", false, serveVersion},
		{get, "/v2/health/live", false, about(serveTritonReady)},
		{get, "/v2/health/ready", false, about(serveTritonReady)},
		{get, "/v2/models/{model}/ready", false, about(serveTritonReady)},
		{get, "/v2/models/{model}", true, about(serveTritonModel)},
		{post, "/invocations", true, inference(newInvocations(false))},
		{post, "/invocations-response-stream", true, inference(newInvocations(true))},
		{post, "/endpoints/{name}/invocations", true, inference(newInvocations(false))},
		{post, "/endpoints/{name}/invocations-response-stream", true, inference(newInvocations(true))},
	}
	for _, model := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		rows = append(rows,
			route{post, model + "/generate", true, inference(newTriton(false))},
			route{post, model + "/generate_stream", true, inference(newTriton(true))},
			route{post, model + "/infer", true, inference(infer{})})
	}
	return rows
}

// object reads a member that is an object; an absent one has no members.
func (f *fields) object(name string) *fields {
	v, ok := f.get(name)
	if ok && v.Type() != fastjson.TypeObject {
		f.fail(name, "dictionary")
	}
	if !ok {
		v = nil
	}
	return &fields{v: v, err: f.err}
}

// count reads a whole number of at least least; 0 = it is not given.
func (f *fields) count(name string, least int) int {
	n, ok := f.integer(name)
	if !ok {
		return 0
	}
	if n < least && f.err == nil {
		f.err = apierror.BadRequest(name, fmt.Sprintf("%s must be at least %d, got %d.", name, least, n))
	}
	return n
}

// seed reads a seed under the first of the names that is there.
func (f *fields) seed(names ...string) uint64 {
	for _, name := range names {
		if n, ok := f.integer(name); ok {
			return uint64(n)
		}
	}
	return 0
}

// required reads a text that must be there.
func (f *fields) required(m *model, name string) []prompt {
	v, ok := f.get(name)
	if !ok || v.Type() != fastjson.TypeString {
		f.fail(name, "string")
		return nil
	}
	return []prompt{textPrompt(m, v.GetStringBytes())}
}

// admit checks what a protocol has read into q, and keeps the first problem.
func (m *model) admit(f *fields, q *textRequest) {
	if q.n == 0 {
		q.n = 1
	}
	switch {
	case f.err != nil:
	case q.n < 1 || len(q.prompts)*q.n > maxChoices:
		f.err = apierror.BadRequest("n", fmt.Sprintf("n must be between 1 and %d over all prompts.", maxChoices))
	case q.maxTokens > 0 && q.minTokens > q.maxTokens:
		f.err = apierror.BadRequest("min_tokens", fmt.Sprintf("the least length, %d, is over the limit of %d", q.minTokens, q.maxTokens))
	default:
		f.err = m.checkRequest(q)
	}
}

// appendText appends a JSON string with the tokens from … to−1 of c.
func appendText(dst []byte, c *choice, from, to int) []byte {
	dst = c.appendTokens(append(dst, '"'), from, to)
	return append(dst, '"')
}

// appendSimpleError appends {"error": message}, as TGI, Ollama and Triton say it.
func appendSimpleError(dst []byte, message string) []byte {
	dst = jsonappend.String(append(dst, `{"error":`...), message)
	return append(dst, '}')
}

// setMillis says in a header how many milliseconds something took.
func setMillis(h http.Header, name string, d time.Duration) {
	h.Set(name, strconv.FormatInt(d.Milliseconds(), 10))
}

// appendSeconds appends d in seconds, to the microsecond.
func appendSeconds(dst []byte, d time.Duration) []byte {
	return strconv.AppendFloat(dst, math.Round(d.Seconds()*1e6)/1e6, 'f', -1, 64)
}

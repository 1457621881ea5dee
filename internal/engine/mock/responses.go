package mock

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fastjson"
)

// responsesAPI is POST /v1/responses, as OpenAI and vLLM serve it.
type responsesAPI struct{ streams script }

var _ protocol = (*responsesAPI)(nil)

func newResponses() *responsesAPI {
	p := &responsesAPI{}
	p.streams = script{
		contentType: eventStream, begin: p.begin, first: p.first,
		content: p.content, finish: p.finish, close: p.close, fail: p.fail,
	}
	return p
}

// responsesRequest is what answers repeat of a request.
type responsesRequest struct {
	instructions string
	previous     string // id of the response that is continued; "" = none
	store        bool
}

func (*responsesAPI) reasons() bool { return true }

func (p *responsesAPI) script() *script { return &p.streams }

func (*responsesAPI) refusal(dst []byte, e *apiError) []byte { return appendError(dst, e) }

func (*responsesAPI) read(s *Server, _ *http.Request, body []byte) (*textRequest, *apiError) {
	q := &textRequest{n: 1}
	refusal := s.parseJSON(body, func(f *fields) {
		q.model, q.stream, q.ignoreEOS = f.text("model"), f.boolean("stream"), f.boolean("ignore_eos")
		q.readLimit(f, "max_output_tokens")
		if v, ok := f.integer("seed"); ok {
			q.seed = uint64(v)
		}
		q.readStreamOptions(f)
		var p prompt
		extra := &responsesRequest{instructions: f.text("instructions"), previous: f.text("previous_response_id"), store: true}
		if _, ok := f.get("store"); ok {
			extra.store = f.boolean("store")
		}
		s.resume(f, extra.previous, &p)
		var said strings.Builder
		readText(s, []byte(extra.instructions), &p, &said)
		readInput(s, f, &p)
		q.prompts, q.payload = []prompt{p}, extra
		if f.err == nil {
			f.err = s.checkRequest(q)
		}
	})
	return q, refusal
}

// resume starts p with the conversation that ended with a stored response.
func (s *Server) resume(f *fields, previous string, p *prompt) {
	if previous == "" || f.err != nil {
		return
	}
	stored, ok := s.responses.get(previous)
	if !ok {
		status := http.StatusNotFound
		f.err = &apiError{status, fmt.Sprintf("Response with id '%s' not found.", previous[:min(len(previous), 100)]), kindOf(status), "previous_response_id"}
		return
	}
	p.tokens, p.hash = stored.tokens, stored.hash
}

// keep stores an answer that is about to be complete.
func (*responsesAPI) keep(x *exchange, output int) {
	if extra, _ := x.q.payload.(*responsesRequest); extra != nil && extra.store {
		p := &x.q.prompts[0]
		x.s.responses.put(responseID(x), storedResponse{p.tokens + output, hashText(p.hash, []byte(responseID(x)))})
	}
}

func responseID(x *exchange) string { return "resp_" + x.requestID() }

// readLimit reads the length limit under its name in the API.
func (q *textRequest) readLimit(f *fields, name string) {
	v, ok := f.integer(name)
	if ok && v < 1 && f.err == nil {
		f.err = badRequest(name, fmt.Sprintf("%s must be at least 1, got %d.", name, v))
	}
	q.maxTokens = v
}

// readInput reads a text or a list of items: they make one prompt.
func readInput(s *Server, f *fields, p *prompt) {
	v, ok := f.get("input")
	if !ok {
		f.fail("input", "string or list")
		return
	}
	if v.Type() == fastjson.TypeString {
		var said strings.Builder
		readText(s, v.GetStringBytes(), p, &said)
		p.echo = said.String()
		return
	}
	list, err := v.Array()
	if err != nil || len(list) == 0 {
		f.fail("input", "string or non-empty list")
		return
	}
	for _, item := range list {
		if item.Type() != fastjson.TypeObject {
			f.fail("input", "list of items")
			return
		}
		readItem(s, f, item, p)
	}
}

// readItem adds one item to p.
func readItem(s *Server, f *fields, item *fastjson.Value, p *prompt) {
	in := &fields{v: item, err: f.err}
	defer func() { f.err = in.err }()
	var said strings.Builder
	add := func(names ...string) {
		for _, name := range names {
			readText(s, []byte(in.text(name)), p, &said)
		}
	}
	switch kind := in.text("type"); kind {
	case "", "message":
		readMessage(s, in, item, p)
	case "function_call":
		add("name", "arguments")
		in.need("call_id")
	case "custom_tool_call":
		add("name", "input")
		in.need("call_id")
	case "function_call_output", "custom_tool_call_output":
		in.need("call_id")
		if v, ok := in.get("output"); ok && v.Type() == fastjson.TypeArray {
			for _, part := range v.GetArray() {
				readPart(s, in, part, p, &said)
			}
			return
		}
		add("output")
	case "reasoning", "item_reference": // not told to the model again
	default:
		if in.err == nil {
			in.err = badRequest("input", "Unknown item type: "+kind[:min(len(kind), 100)])
		}
	}
}

// need refuses an object without a text that it must have.
func (f *fields) need(name string) {
	if f.text(name) == "" {
		f.fail(name, "string")
	}
}

// document appends the response object.
func (p *responsesAPI) document(dst []byte, x *exchange) ([]byte, string) {
	output, reasoning := tokens(x.choices)
	p.keep(x, output)
	return p.appendResponse(dst, x, &x.choices[0], output, reasoning), "application/json"
}

// appendResponse appends the response object; c is what was said in it, nil while
// it is in progress.
func (p *responsesAPI) appendResponse(dst []byte, x *exchange, c *choice, output, reasoning int) []byte {
	q := x.q
	dst = append(dst, `{"id":`...)
	dst = appendJSONString(dst, responseID(x))
	dst = append(dst, `,"object":"response","created_at":`...)
	dst = strconv.AppendInt(dst, x.truth.AcceptNs/int64(time.Second), 10)
	dst = append(dst, `,"status":"`...)
	status, why := "in_progress", "null"
	if c != nil {
		if status = "completed"; c.finish == "length" {
			status, why = "incomplete", `{"reason":"max_output_tokens"}`
		}
	}
	dst = append(dst, status...)
	dst = append(dst, `","error":null,"incomplete_details":`...)
	dst = append(dst, why...)
	extra, _ := q.payload.(*responsesRequest)
	dst = appendTextOrNull(append(dst, `,"instructions":`...), extra.instructions)
	dst = append(dst, `,"max_output_tokens":`...)
	if q.maxTokens > 0 {
		dst = strconv.AppendInt(dst, int64(q.maxTokens), 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"model":`...)
	dst = appendJSONString(dst, q.model)
	dst = append(dst, `,"output":[`...)
	if c != nil {
		dst = p.appendOutput(dst, x, c)
	}
	dst = appendTextOrNull(append(dst, `],"parallel_tool_calls":true,"previous_response_id":`...), extra.previous)
	dst = strconv.AppendBool(append(dst, `,"reasoning":{"effort":null,"summary":null},"service_tier":"default","store":`...), extra.store)
	dst = append(dst, `,"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],`+
		`"top_p":1.0,"truncation":"disabled","usage":`...)
	if c == nil || x.s.opt.Usage == UsageNever {
		dst = append(dst, "null"...)
	} else {
		dst = x.appendUsageOf(dst, output, reasoning)
	}
	return append(dst, `,"user":null,"metadata":{}}`...)
}

// appendTextOrNull appends a text that may be missing.
func appendTextOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return appendJSONString(dst, s)
}

// side is one of the two sides of an answer.
type side uint8

const (
	thoughts side = iota
	spoken
)

// sideOf returns the side that a token of c belongs to.
func (c *choice) sideOf(token int) side {
	if token < c.reasoning {
		return thoughts
	}
	return spoken
}

// extent says how much of something is there.
type extent uint8

const (
	begun extent = iota
	whole
)

// appendUsageOf appends the usage object of a response.
func (x *exchange) appendUsageOf(dst []byte, output, reasoning int) []byte {
	dst = append(dst, `{"input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.truth.PromptTokens), 10)
	dst = append(dst, `,"input_tokens_details":{"cached_tokens":0},"output_tokens":`...)
	dst = strconv.AppendInt(dst, int64(output), 10)
	dst = append(dst, `,"output_tokens_details":{"reasoning_tokens":`...)
	dst = strconv.AppendInt(dst, int64(reasoning), 10)
	dst = append(dst, `},"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.truth.PromptTokens+output), 10)
	return append(dst, '}')
}

// appendOutput appends the items of an answer, which are complete.
func (p *responsesAPI) appendOutput(dst []byte, x *exchange, c *choice) []byte {
	if c.reasoning > 0 {
		dst = p.appendItem(dst, x, c, thoughts, whole)
	}
	if c.total > c.reasoning {
		if c.reasoning > 0 {
			dst = append(dst, ',')
		}
		dst = p.appendItem(dst, x, c, spoken, whole)
	}
	return dst
}

// appendItem appends the item of the reasoning or of the answer; without its
// content it has just begun.
func (p *responsesAPI) appendItem(dst []byte, x *exchange, c *choice, of side, part extent) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendItemID(dst, x, of)
	status := "in_progress"
	if part == whole {
		if status = "completed"; of == spoken && c.finish == "length" {
			status = "incomplete"
		}
	}
	if of == thoughts {
		dst = append(dst, `,"type":"reasoning","summary":[],"content":[`...)
	} else {
		dst = append(dst, `,"type":"message","role":"assistant","content":[`...)
	}
	if part == whole {
		dst = p.appendPart(dst, c, of, whole)
	}
	dst = append(dst, `],"status":"`...)
	return append(append(dst, status...), '"', '}')
}

// appendPart appends the one part of an item; without its text it has just begun.
func (*responsesAPI) appendPart(dst []byte, c *choice, of side, part extent) []byte {
	if of == thoughts {
		dst = append(dst, `{"type":"reasoning_text","text":"`...)
	} else {
		dst = append(dst, `{"type":"output_text","annotations":[],"logprobs":[],"text":"`...)
	}
	if part == whole {
		dst = appendSide(dst, c, of)
	}
	return append(dst, '"', '}')
}

// appendSide appends the reasoning or the answer, escaped for JSON.
func appendSide(dst []byte, c *choice, of side) []byte {
	if of == thoughts {
		return c.appendTokens(dst, 0, c.reasoning)
	}
	return c.appendTokens(dst, c.reasoning, c.total)
}

func appendItemID(dst []byte, x *exchange, of side) []byte {
	prefix := "msg_"
	if of == thoughts {
		prefix = "rs_"
	}
	return appendJSONString(dst, prefix+x.requestID())
}

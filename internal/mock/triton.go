package mock

import (
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"
	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
)

// triton is the generate extension of Triton Inference Server, with the tensors of
// its TensorRT-LLM backend or, for bodies with parameters, of its vLLM backend.
type triton struct {
	streaming bool
	streams   script
}

var _ protocol = (*triton)(nil)

// newTriton returns the protocol of generate_stream, or else of generate.
func newTriton(streaming bool) *triton {
	p := &triton{streaming: streaming}
	p.streams = script{contentType: eventStream, content: p.content, finish: p.finish, fail: p.fail}
	return p
}

// tritonRequest is what Triton's answers depend on.
type tritonRequest struct {
	vllm   bool
	before []byte // text in front of an answer in one piece, escaped for JSON
}

// pathModel returns the model that a path names.
func pathModel(r *http.Request) string { return chi.URLParam(r, "model") }

func (p *triton) read(m *model, r *http.Request, body []byte) (*textRequest, *apierror.Error) {
	q := &textRequest{model: pathModel(r), stream: p.streaming}
	refusal := m.parseJSON(body, func(f *fields) {
		q.prompts = f.required(m, "text_input")
		_, vllm := f.get("parameters")
		payload := tritonRequest{vllm: vllm}
		if _, ok := f.get("exclude_input_in_output"); ok && !f.boolean("exclude_input_in_output") && f.err == nil {
			payload.before = jsonappend.Inner(nil, string(f.v.GetStringBytes("text_input")))
		}
		q.payload = payload
		from := f
		if vllm {
			from = f.object("parameters")
			q.minTokens, q.ignoreEOS = from.count("min_tokens", 0), from.boolean("ignore_eos")
		} else {
			q.minTokens = from.count("min_length", 0)
		}
		q.maxTokens, q.seed = from.count("max_tokens", 1), from.seed("seed", "random_seed")
		f.err = from.err
		m.admit(f, q)
	})
	return q, refusal
}

func (*triton) reasons() bool { return false }

func (*triton) refusal(dst []byte, e *apierror.Error) []byte {
	return appendSimpleError(dst, e.Message)
}

func (p *triton) document(dst []byte, x *answer) ([]byte, string) {
	c := &x.choices[0]
	dst = appendTritonHead(dst, x)
	if q, _ := x.q.payload.(tritonRequest); q.before != nil {
		dst = append(dst, q.before...)
	}
	return append(c.appendTokens(dst, 0, c.total), `"}`...), "application/json"
}

// appendTriton appends an answer with the tokens from … to−1 of c.
func appendTriton(dst []byte, x *answer, c *choice, from, to int) []byte {
	return append(c.appendTokens(appendTritonHead(dst, x), from, to), `"}`...)
}

// appendTritonHead opens an answer, up to and including the quote before its text.
func appendTritonHead(dst []byte, x *answer) []byte {
	dst = append(dst, '{')
	q, _ := x.q.payload.(tritonRequest)
	if !q.vllm {
		dst = append(dst, `"cum_log_probs":0.0,`...)
	}
	dst = jsonappend.String(append(dst, `"model_name":`...), x.q.model)
	dst = append(dst, `,"model_version":"1",`...)
	if !q.vllm {
		dst = append(dst, `"output_log_probs":0.0,"sequence_end":false,"sequence_id":0,"sequence_start":false,`...)
	}
	return append(dst, `"text_output":"`...)
}

func (p *triton) script() *script { return &p.streams }

func (*triton) content(e *events, c *choice, from, to int, _ bool) error {
	e.b = appendTriton(append(e.b, "data: "...), e.x, c, from, to)
	return e.end(true)
}

// finish answers if there are no tokens; nothing else tells the end.
func (*triton) finish(e *events, c *choice) error {
	if c.total > 0 {
		return nil
	}
	e.b = appendTriton(append(e.b, "data: "...), e.x, c, 0, 0)
	return e.end(false)
}

func (*triton) fail(e *events, apology *apierror.Error) error {
	e.b = appendSimpleError(append(e.b, "data: "...), apology.Message)
	return e.end(false)
}

// infer is the Open Inference Protocol, version 2, for text.
type infer struct{}

var _ protocol = infer{}

// inferRequest is what answers repeat.
type inferRequest struct{ id string }

func (infer) read(m *model, r *http.Request, body []byte) (*textRequest, *apierror.Error) {
	q := &textRequest{model: pathModel(r)}
	refusal := m.parseJSON(body, func(f *fields) {
		q.payload = inferRequest{id: f.text("id")}
		v, ok := f.get("inputs")
		if !ok || v.Type() != fastjson.TypeArray {
			f.fail("inputs", "list of tensors")
			return
		}
		for _, tensor := range v.GetArray() {
			readTensor(m, f, q, tensor)
		}
		if len(q.prompts) == 0 {
			f.fail("inputs", "list with a tensor of datatype BYTES")
		}
		m.admit(f, q)
	})
	return q, refusal
}

// readTensor reads one input: the text, or the limit.
func readTensor(m *model, f *fields, q *textRequest, tensor *fastjson.Value) {
	data := tensor.GetArray("data")
	for len(data) == 1 && data[0].Type() == fastjson.TypeArray {
		data = data[0].GetArray()
	}
	if len(data) == 0 {
		f.fail("inputs.data", "non-empty list")
		return
	}
	switch {
	case string(tensor.GetStringBytes("datatype")) == "BYTES":
		if data[0].Type() != fastjson.TypeString {
			f.fail("inputs.data", "list of strings")
			return
		}
		if len(q.prompts) == 0 {
			q.prompts = []prompt{textPrompt(m, data[0].GetStringBytes())}
		}
	case string(tensor.GetStringBytes("name")) == "max_tokens":
		n, err := data[0].Int()
		if err != nil || n < 1 {
			f.fail("inputs.data", "list with a whole number of at least 1")
			return
		}
		q.maxTokens = n
	}
}

func (infer) reasons() bool { return false }

func (infer) refusal(dst []byte, e *apierror.Error) []byte { return appendSimpleError(dst, e.Message) }

func (infer) script() *script { return nil }

func (infer) document(dst []byte, x *answer) ([]byte, string) {
	c := &x.choices[0]
	dst = jsonappend.String(append(dst, `{"model_name":`...), x.q.model)
	dst = append(dst, `,"model_version":"1"`...)
	if q, _ := x.q.payload.(inferRequest); q.id != "" {
		dst = jsonappend.String(append(dst, `,"id":`...), q.id)
	}
	dst = append(dst, `,"outputs":[{"name":"text_output","datatype":"BYTES","shape":[1,1],"data":[`...)
	dst = appendText(dst, c, 0, c.total)
	return append(dst, "]}]}"...), "application/json"
}

// serveTritonReady answers the health routes of Triton and KServe.
func serveTritonReady(m *model, w http.ResponseWriter, r *http.Request) {
	if model := pathModel(r); model != "" && !m.serves(model) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	serveHealth(m, w, r)
}

// serveTritonModel answers with the metadata of a model.
func serveTritonModel(m *model, w http.ResponseWriter, r *http.Request) {
	model := pathModel(r)
	if !m.serves(model) {
		_ = apierror.WriteJSON(w, http.StatusNotFound, appendSimpleError(nil, "Request for unknown model: "+strconv.Quote(model)+" is not found"))
		return
	}
	dst := jsonappend.String([]byte(`{"name":`), model)
	_ = apierror.WriteJSON(w, http.StatusOK, append(dst, `,"versions":["1"],"platform":"mock",`+
		`"inputs":[{"name":"text_input","datatype":"BYTES","shape":[-1,1]},{"name":"max_tokens","datatype":"INT32","shape":[-1,1]}],`+
		`"outputs":[{"name":"text_output","datatype":"BYTES","shape":[-1,1]}]}`...))
}

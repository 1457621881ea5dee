package native

import (
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"
	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
)

// triton is the generate extension of Triton Inference Server, with the tensors of
// its TensorRT-LLM backend or, for bodies with parameters, of its vLLM backend.
type triton struct {
	streaming bool
	streams   api.Script
}

var _ api.Protocol = (*triton)(nil)

// NewTriton returns the protocol of generate_stream, or else of generate.
func NewTriton(streaming bool) *triton {
	p := &triton{streaming: streaming}
	p.streams = api.Script{ContentType: api.EventStream, Content: p.content, Finish: p.finish, Fail: p.fail}
	return p
}

// tritonRequest has the parameters of Triton's answers.
type tritonRequest struct {
	vllm   bool
	before []byte // text before an answer in one piece, escaped for JSON
}

// pathModel returns the name of the model in a path.
func pathModel(r *http.Request) string { return chi.URLParam(r, "model") }

func (p *triton) Read(m *api.Model, r *http.Request, body []byte) (*api.Request, *apierror.Error) {
	q := &api.Request{Model: pathModel(r), Stream: p.streaming}
	refusal := m.ParseJSON(body, func(f *api.Fields) {
		q.Prompts = f.Required(m, "text_input")
		_, vllm := f.Get("parameters")
		payload := tritonRequest{vllm: vllm}
		if _, ok := f.Get("exclude_input_in_output"); ok && !f.Boolean("exclude_input_in_output") && f.Err == nil {
			payload.before = jsonappend.Inner(nil, string(f.Value.GetStringBytes("text_input")))
		}
		q.Payload = payload
		from := f
		if vllm {
			from = f.Object("parameters")
			q.MinTokens, q.IgnoreEOS = from.Count("min_tokens", 0), from.Boolean("ignore_eos")
		} else {
			q.MinTokens = from.Count("min_length", 0)
		}
		q.MaxTokens, q.Seed = from.Count("max_tokens", 1), from.Seed("seed", "random_seed")
		f.Err = from.Err
		m.Admit(f, q)
	})
	return q, refusal
}

func (*triton) Reasons() bool { return false }

func (*triton) Refusal(dst []byte, e *apierror.Error) []byte {
	return api.AppendSimpleError(dst, e.Message)
}

func (p *triton) Document(dst []byte, x *api.Answer) ([]byte, string) {
	c := &x.Choices[0]
	dst = appendTritonHead(dst, x)
	if q, _ := x.Request.Payload.(tritonRequest); q.before != nil {
		dst = append(dst, q.before...)
	}
	return append(c.AppendTokens(dst, 0, c.Total), `"}`...), "application/json"
}

// appendTriton appends an answer with the tokens from … to−1 of c.
func appendTriton(dst []byte, x *api.Answer, c *api.Choice, from, to int) []byte {
	return append(c.AppendTokens(appendTritonHead(dst, x), from, to), `"}`...)
}

// appendTritonHead appends an answer up to and including the quote before its text.
func appendTritonHead(dst []byte, x *api.Answer) []byte {
	dst = append(dst, '{')
	q, _ := x.Request.Payload.(tritonRequest)
	if !q.vllm {
		dst = append(dst, `"cum_log_probs":0.0,`...)
	}
	dst = jsonappend.String(append(dst, `"model_name":`...), x.Request.Model)
	dst = append(dst, `,"model_version":"1",`...)
	if !q.vllm {
		dst = append(dst, `"output_log_probs":0.0,"sequence_end":false,"sequence_id":0,"sequence_start":false,`...)
	}
	return append(dst, `"text_output":"`...)
}

func (p *triton) Script() *api.Script { return &p.streams }

func (*triton) content(e *api.Events, c *api.Choice, from, to int, _ bool) error {
	e.B = appendTriton(append(e.B, "data: "...), e.Answer, c, from, to)
	return e.End(true)
}

// finish adds an event if there are no tokens; nothing else marks the end of a stream.
func (*triton) finish(e *api.Events, c *api.Choice) error {
	if c.Total > 0 {
		return nil
	}
	e.B = appendTriton(append(e.B, "data: "...), e.Answer, c, 0, 0)
	return e.End(false)
}

func (*triton) fail(e *api.Events, failure *apierror.Error) error {
	e.B = api.AppendSimpleError(append(e.B, "data: "...), failure.Message)
	return e.End(false)
}

// infer is the Open Inference Protocol, version 2, for text.
type infer struct{}

var _ api.Protocol = infer{}

// NewInfer returns the protocol of POST /infer of a model.
func NewInfer() api.Protocol { return infer{} }

// inferRequest has the members that answers repeat.
type inferRequest struct{ id string }

func (infer) Read(m *api.Model, r *http.Request, body []byte) (*api.Request, *apierror.Error) {
	q := &api.Request{Model: pathModel(r)}
	refusal := m.ParseJSON(body, func(f *api.Fields) {
		q.Payload = inferRequest{id: f.Text("id")}
		v, ok := f.Get("inputs")
		if !ok || v.Type() != fastjson.TypeArray {
			f.Fail("inputs", "list of tensors")
			return
		}
		for _, tensor := range v.GetArray() {
			readTensor(m, f, q, tensor)
		}
		if len(q.Prompts) == 0 {
			f.Fail("inputs", "list with a tensor of datatype BYTES")
		}
		m.Admit(f, q)
	})
	return q, refusal
}

// readTensor reads one input: the text, or the limit.
func readTensor(m *api.Model, f *api.Fields, q *api.Request, tensor *fastjson.Value) {
	data := tensor.GetArray("data")
	for len(data) == 1 && data[0].Type() == fastjson.TypeArray {
		data = data[0].GetArray()
	}
	if len(data) == 0 {
		f.Fail("inputs.data", "non-empty list")
		return
	}
	switch {
	case string(tensor.GetStringBytes("datatype")) == "BYTES":
		if data[0].Type() != fastjson.TypeString {
			f.Fail("inputs.data", "list of strings")
			return
		}
		if len(q.Prompts) == 0 {
			q.Prompts = []api.Prompt{api.TextPrompt(m, data[0].GetStringBytes())}
		}
	case string(tensor.GetStringBytes("name")) == "max_tokens":
		n, err := data[0].Int()
		if err != nil || n < 1 {
			f.Fail("inputs.data", "list with a whole number of at least 1")
			return
		}
		q.MaxTokens = n
	}
}

func (infer) Reasons() bool { return false }

func (infer) Refusal(dst []byte, e *apierror.Error) []byte {
	return api.AppendSimpleError(dst, e.Message)
}

func (infer) Script() *api.Script { return nil }

func (infer) Document(dst []byte, x *api.Answer) ([]byte, string) {
	c := &x.Choices[0]
	dst = jsonappend.String(append(dst, `{"model_name":`...), x.Request.Model)
	dst = append(dst, `,"model_version":"1"`...)
	if q, _ := x.Request.Payload.(inferRequest); q.id != "" {
		dst = jsonappend.String(append(dst, `,"id":`...), q.id)
	}
	dst = append(dst, `,"outputs":[{"name":"text_output","datatype":"BYTES","shape":[1,1],"data":[`...)
	dst = api.AppendText(dst, c, 0, c.Total)
	return append(dst, "]}]}"...), "application/json"
}

// ServeTritonReady handles the health routes of Triton and KServe.
func ServeTritonReady(m *api.Model, w http.ResponseWriter, r *http.Request) {
	if model := pathModel(r); model != "" && !m.Serves(model) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	api.ServeHealth(m, w, r)
}

// ServeTritonModel responds with the metadata of a model.
func ServeTritonModel(m *api.Model, w http.ResponseWriter, r *http.Request) {
	model := pathModel(r)
	if !m.Serves(model) {
		_ = apierror.WriteJSON(w, http.StatusNotFound, api.AppendSimpleError(nil, "Request for unknown model: "+strconv.Quote(model)+" is not found"))
		return
	}
	dst := jsonappend.String([]byte(`{"name":`), model)
	_ = apierror.WriteJSON(w, http.StatusOK, append(dst, `,"versions":["1"],"platform":"mock",`+
		`"inputs":[{"name":"text_input","datatype":"BYTES","shape":[-1,1]},{"name":"max_tokens","datatype":"INT32","shape":[-1,1]}],`+
		`"outputs":[{"name":"text_output","datatype":"BYTES","shape":[-1,1]}]}`...))
}

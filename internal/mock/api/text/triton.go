package text

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"
	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
)

// NewTriton returns the protocol of generate_stream, or else of generate: the generate
// extension of Triton Inference Server, with the tensors of its TensorRT-LLM backend or, for
// bodies with parameters, of its vLLM backend.
func NewTriton(streaming bool) *api.Protocol {
	return &api.Protocol{
		Read: api.ReadJSON(func(m *api.Model, r *http.Request, f *api.Fields, q *api.Request) {
			q.Model, q.Stream = pathModel(r), streaming
			readTriton(m, f, q)
		}),
		Document: func(dst []byte, x *api.Answer) ([]byte, string) {
			q := api.PayloadOf[tritonRequest](x)
			return api.AppendJSON(dst, newTritonAnswer(x, q.before+x.Choices[0].Text(0, x.Choices[0].Total))), api.JSON
		},
		Refuse: api.SimpleError,
		Script: &api.Script{
			ContentType: api.EventStream, Fail: failWith("data: ", api.SimpleError),
			Content: func(e *api.Events, c *api.Choice, from, to int, _ bool) {
				e.JSON("data: ", newTritonAnswer(e.Answer, c.Text(from, to)), true)
			},
			Finish: func(e *api.Events, c *api.Choice) {
				if c.Total == 0 { // else nothing marks the end of a stream
					e.JSON("data: ", newTritonAnswer(e.Answer, ""), false)
				}
			},
		},
	}
}

// tritonRequest has the parameters of Triton's answers.
type tritonRequest struct {
	vllm   bool
	before string // text before an answer in one piece
}

// pathModel returns the name of the model in a path.
func pathModel(r *http.Request) string { return chi.URLParam(r, "model") }

func readTriton(m *api.Model, f *api.Fields, q *api.Request) {
	q.Prompts = api.RequiredPrompt(m, f, "text_input")
	_, vllm := f.Get("parameters")
	payload := tritonRequest{vllm: vllm}
	if !f.Boolean("exclude_input_in_output", true) {
		payload.before = string(f.Value.GetStringBytes("text_input"))
	}
	q.Payload = payload
	if vllm {
		f = f.Object("parameters")
		q.MinTokens, q.IgnoreEOS = f.Count("min_tokens", 0), f.Flag("ignore_eos")
	} else {
		q.MinTokens = f.Count("min_length", 0)
	}
	q.MaxTokens, q.Seed = f.Count("max_tokens", 1), f.Seed("seed", "random_seed")
}

// tritonAnswer is an answer, or an event of a stream.
type tritonAnswer struct {
	CumLogProbs  json.Number `json:"cum_log_probs,omitempty"` // only of the TensorRT-LLM backend
	ModelName    string      `json:"model_name"`
	ModelVersion string      `json:"model_version"`
	*tensorRT
	Text string `json:"text_output"`
}

// tensorRT has the members that only the TensorRT-LLM backend sends.
type tensorRT struct {
	OutputLogProbs json.Number `json:"output_log_probs"`
	SequenceEnd    bool        `json:"sequence_end"`
	SequenceID     int         `json:"sequence_id"`
	SequenceStart  bool        `json:"sequence_start"`
}

func newTritonAnswer(x *api.Answer, text string) *tritonAnswer {
	a := &tritonAnswer{ModelName: x.Request.Model, ModelVersion: "1", Text: text}
	if q := api.PayloadOf[tritonRequest](x); !q.vllm {
		a.CumLogProbs, a.tensorRT = "0.0", &tensorRT{OutputLogProbs: "0.0"}
	}
	return a
}

// NewInfer returns the protocol of POST /infer of a model: the Open Inference Protocol,
// version 2, for text.
func NewInfer() *api.Protocol {
	return &api.Protocol{Read: api.ReadJSON(readInfer), Document: documentInfer, Refuse: api.SimpleError}
}

// inferRequest has the members that answers repeat.
type inferRequest struct{ id string }

func readInfer(m *api.Model, r *http.Request, f *api.Fields, q *api.Request) {
	q.Model = pathModel(r)
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

// tensor is an input or an output of the Open Inference Protocol.
type tensor struct {
	Name     string   `json:"name"`
	Datatype string   `json:"datatype"`
	Shape    [2]int   `json:"shape"` // −1 = any
	Data     []string `json:"data,omitempty"`
}

func documentInfer(dst []byte, x *api.Answer) ([]byte, string) {
	c := &x.Choices[0]
	q := api.PayloadOf[inferRequest](x)
	text := tensor{"text_output", "BYTES", [2]int{1, 1}, []string{c.Text(0, c.Total)}}
	return api.AppendJSON(dst, struct {
		ModelName    string   `json:"model_name"`
		ModelVersion string   `json:"model_version"`
		ID           string   `json:"id,omitempty"`
		Outputs      []tensor `json:"outputs"`
	}{x.Request.Model, "1", q.id, []tensor{text}}), api.JSON
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
		unknown := api.NewError(http.StatusNotFound, "Request for unknown model: "+strconv.Quote(model)+" is not found", "")
		api.Respond(w, unknown.Status, api.SimpleError(nil, unknown))
		return
	}
	rows := [2]int{-1, 1}
	api.OK(w, struct {
		Name     string   `json:"name"`
		Versions []string `json:"versions"`
		Platform string   `json:"platform"`
		Inputs   []tensor `json:"inputs"`
		Outputs  []tensor `json:"outputs"`
	}{
		model, []string{"1"}, "mock", []tensor{{"text_input", "BYTES", rows, nil}, {"max_tokens", "INT32", rows, nil}},
		[]tensor{{"text_output", "BYTES", rows, nil}},
	})
}

package main

import (
	"fmt"
	"io"
	"strings"
	"text/template"

	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
)

// mockHello is the text that the simulator prints to a terminal when it starts.
type mockHello struct {
	Address string // URL, or unix://path
	Models  []string
	Timing  string
	Try     string // a command
}

const mockHelloText = `Simulated inference server, listening on {{.Address}}
  models:  {{if .Models}}{{join .Models ", "}}{{else}}every name is answered{{end}}
  timing:  {{.Timing}}
  APIs:    /v1/chat/completions /v1/completions /v1/responses /v1/messages
           /v1/embeddings and more (aiperfd mock --help)

Try it in another terminal:
  {{.Try}}

Press Ctrl+C to stop.
`

func (h mockHello) write(w io.Writer) error {
	t := template.Must(template.New("hello").Funcs(template.FuncMap{"join": strings.Join}).Parse(mockHelloText))
	return t.Execute(w, h)
}

// hello returns the text for a simulator at an address.
func (f *mockFlags) hello(address string) mockHello {
	h := mockHello{Address: address, Models: f.opt.ServedModels}
	switch {
	case f.opt.Accelerator != nil:
		h.Timing = "a batching server, preset " + f.preset
	case f.opt.Fast:
		h.Timing = "as fast as possible"
	default:
		constant := func(d mock.Delay) string { return strings.TrimPrefix(d.String(), "const:") }
		h.Timing = fmt.Sprintf("first token after %s, then one every %s", constant(f.opt.TTFT), constant(f.opt.ITL))
	}
	model := options.DefaultModel
	if len(h.Models) > 0 {
		model = h.Models[0]
	}
	url := address
	if f.uds != "" {
		url = "http://localhost --unix-socket " + f.uds
	}
	h.Try = "aiperfd profile --model " + model + " --url " + url + " --streaming --request-count 20"
	switch {
	case f.tls.selfSigned != "":
		h.Try += " --tls-ca-file " + f.tls.selfSigned
	case f.tls.cert != "":
		h.Try += " --insecure"
	}
	if f.opt.APIKey != "" {
		h.Try += " --api-key KEY"
	}
	return h
}

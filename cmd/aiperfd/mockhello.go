package main

import (
	"fmt"
	"strings"

	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
)

// mockHello is the text that the simulator prints to a terminal when it starts.
const mockHello = `Simulated inference server, listening on %s
  models:  %s
  timing:  %s
  APIs:    /v1/chat/completions /v1/completions /v1/responses /v1/messages
           /v1/embeddings and more (aiperfd mock --help)

Try it in another terminal:
  %s

Press Ctrl+C to stop.
`

// hello returns the text for a simulator at an address.
func (f *mockFlags) hello(address string) string {
	models, timing := "every name is answered", ""
	switch {
	case f.opt.Accelerator != nil:
		timing = "a batching server, preset " + f.preset
	case f.opt.Fast:
		timing = "as fast as possible"
	default:
		constant := func(d mock.Delay) string { return strings.TrimPrefix(d.String(), "const:") }
		timing = fmt.Sprintf("first token after %s, then one every %s", constant(f.opt.TTFT), constant(f.opt.ITL))
	}
	model := options.DefaultModel
	if served := f.opt.ServedModels; len(served) > 0 {
		models, model = strings.Join(served, ", "), served[0]
	}
	url := address
	if f.uds != "" {
		url = "http://localhost --unix-socket " + f.uds
	}
	try := "aiperfd profile --model " + model + " --url " + url + " --streaming --request-count 20"
	switch {
	case f.tls.selfSigned != "":
		try += " --tls-ca-file " + f.tls.selfSigned
	case f.tls.cert != "":
		try += " --insecure"
	}
	if f.opt.APIKey != "" {
		try += " --api-key KEY"
	}
	return fmt.Sprintf(mockHello, address, models, timing, try)
}

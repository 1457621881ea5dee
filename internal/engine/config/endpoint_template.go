package config

import (
	"bytes"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
)

// readTemplate takes the body of a template out of the file that it names, as
// AIPerf does. A body in place makes a JSON object, so it has a brace; what has
// none is a file or the name of a built-in template.
func readTemplate(in *input, e *Endpoint) {
	const path = endpointPath + ".template.body"
	t := e.Template
	if t == nil || t.Body == "" || strings.Contains(t.Body, "{") || t.Body == builtInTemplate || in.options.Stored {
		return
	}
	body, ok := readWhole(in, path, t.Body, schema.MaxPrompt)
	switch {
	case !ok:
	case !bytes.Contains(body, []byte("{")):
		in.FailValue(in.At(path), problem.CodeOutOfRange, "the file must hold a template of a JSON object")
	default:
		t.Body = string(body)
	}
}

// builtInTemplate is the name that package endpoint knows a body for.
const builtInTemplate = "nv-embedqa"

package config

import (
	"bytes"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
)

// checkEndpoint checks that the fields of the endpoint section agree with each other.
func checkEndpoint(in *input, e *Endpoint) {
	const path = endpointPath
	if e.Path != nil && *e.Path != "" && (!strings.HasPrefix(*e.Path, "/") || strings.ContainsAny(*e.Path, " \t\r\n?#")) {
		in.FailValue(in.At(path+".path"), problem.CodeOutOfRange,
			"must begin with / and contain no spaces, query or fragment")
	}
	if e.SessionHeader != nil && !schema.IsHeaderName(*e.SessionHeader) {
		in.FailValue(in.At(path+".sessionHeader"), problem.CodeOutOfRange, "must be a header name")
	}
	checkConnection(in, e)
	checkTargets(in, e)
	readTemplate(in, e)
	checkTexts(in, e)
	checkStore(in, e)
	if e.PerChunkUsage && !(e.Streaming && e.UseServerTokenCount && e.Type == "chat") {
		in.Conflict(path+".perChunkUsage", "needs streaming, server token counts and the endpoint type chat")
	}
	switch {
	case e.Type == "template" && (e.Template == nil || e.Template.Body == ""):
		in.require(path+".template.body", "the endpoint type template needs a body")
	case e.Template != nil && e.Type != "template":
		in.Conflict(path+".template", "needs the endpoint type template")
	}
	if e.UseClientTokenCount && e.UseServerTokenCount {
		in.Conflict(path+".useClientTokenCount", "must not be on together with server token counts")
	}
	unrequested := e.Type == "responses" || e.Type == "messages" // these APIs always send usage
	if e.Streaming && e.UseServerTokenCount && !e.StreamUsage && !unrequested {
		in.Conflict(path+".streamUsage", "must not be off when the server's token counts are used")
	}
	if e.UseLegacyMaxTokens && unrequested {
		at := in.Where(path + ".useLegacyMaxTokens")
		in.Warn(at, problem.CodeNoEffect, "%s has no effect: the endpoint type %s has a single field for the length",
			problem.Label(at), e.Type)
	}
	checkJobs(in, e)
}

// checkJobs reports options of polled endpoint types that contradict the type or
// each other.
func checkJobs(in *input, e *Endpoint) {
	const path = endpointPath
	isRunpod, isVideo := strings.HasPrefix(e.Type, "runpod"), e.Type == "video_generation"
	if t := e.RequestContentType; t != nil && !isVideo {
		form := "multipart/form-data"
		isForm := slices.Contains(in.options.Choices.Forms, e.Type)
		if isForm && *t != form {
			in.Conflict(path+".requestContentType", "bodies of "+e.Type+" are always "+form)
		} else if !isForm && *t == form {
			in.Conflict(path+".requestContentType", "bodies of "+e.Type+" are never "+form)
		}
	}
	if e.DownloadVideoContent && !isVideo {
		in.Conflict(path+".downloadVideoContent", "needs the endpoint type video_generation, not "+e.Type)
	}
	jobs := path + ".jobs."
	for _, name := range []string{"runpodMode", "runpodInput"} {
		if in.Has(jobs+name) && !isRunpod {
			in.Conflict(jobs+name, "needs the endpoint type runpod, not "+e.Type)
		}
	}
	for _, name := range []string{"pollInterval", "timeout"} {
		if in.Has(jobs+name) && !isRunpod && !isVideo {
			in.Conflict(jobs+name, "needs an endpoint type that polls: runpod or video_generation, not "+e.Type)
		}
	}
	switch mode := e.Jobs.RunpodMode; {
	case mode == "" || !isRunpod:
	case e.Streaming && mode != "stream":
		in.Conflict(jobs+"runpodMode", "is "+mode+"; with streaming it must be stream")
	case !e.Streaming && mode == "stream":
		in.Conflict(jobs+"runpodMode", "is stream, which needs streaming; without it, it may be sync or async")
	}
}

// checkTexts warns about options for text and tokens that have no effect.
func checkTexts(in *input, e *Endpoint) {
	if e.Type != "image_retrieval" || in.options.Stored {
		return
	}
	for _, path := range []string{"benchmark.tokenizer.name", "benchmark.datasets.0.prompts.isl"} {
		if !in.Has(path) {
			continue
		}
		at := in.Where(path)
		for _, deepest := range in.deepest(path) {
			at = in.Where(deepest)
		}
		in.Warn(at, problem.CodeNoEffect,
			"%s: requests of the endpoint type %s have no text, and nothing is counted in tokens", problem.Label(at), e.Type)
	}
}

// checkStore warns if AIPerf would send less: with store it refers to the
// response before instead of repeating the conversation.
func checkStore(in *input, e *Endpoint) {
	store := slices.ContainsFunc(e.Extra,
		func(m Member) bool { return m.Name == "store" && string(m.Value) == "true" })
	turns := slices.ContainsFunc(in.doc.Benchmark.Datasets,
		func(d Dataset) bool { return d.Turns.Mean != nil && *d.Turns.Mean > 1 })
	if e.Type != "responses" || !store || !turns {
		return
	}
	at := in.Where(endpointPath + ".extra")
	in.Warn(at, problem.CodeNoEffect,
		"%s: store: responses are stored by the server, but each turn repeats the whole conversation; "+
			"chaining by previous_response_id is not supported by aiperfd yet", problem.Label(at))
}

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

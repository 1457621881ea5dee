package config

import (
	"slices"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
)

const endpointPath = "benchmark.endpoint"

// endpointRules checks that the fields of the endpoint section agree with
// each other.
type endpointRules struct {
	*loader
	endpoint *Endpoint
}

func (c endpointRules) check() {
	const path = "benchmark.endpoint"
	e := c.endpoint
	if e.Path != nil && *e.Path != "" && (!strings.HasPrefix(*e.Path, "/") || strings.ContainsAny(*e.Path, " \t\r\n?#")) {
		c.FailValue(c.at(path+".path"), problem.CodeOutOfRange, "must begin with / and contain no spaces, query or fragment")
	}
	if e.SessionHeader != nil && !schema.IsHeaderName(*e.SessionHeader) {
		c.FailValue(c.at(path+".sessionHeader"), problem.CodeOutOfRange, "must be a header name")
	}
	c.checkConnection()
	targetRules(c).check()
	c.readTemplate()
	c.checkTexts()
	c.checkStore()
	if e.PerChunkUsage && !(e.Streaming && e.UseServerTokenCount && e.Type == "chat") {
		c.conflict(path+".perChunkUsage", "needs streaming, server token counts and the endpoint type chat")
	}
	switch {
	case e.Type == "template" && (e.Template == nil || e.Template.Body == ""):
		c.require(path+".template.body", "the endpoint type template needs a body")
	case e.Template != nil && e.Type != "template":
		c.conflict(path+".template", "needs the endpoint type template")
	}
	if e.UseClientTokenCount && e.UseServerTokenCount {
		c.conflict(path+".useClientTokenCount", "must not be on together with server token counts")
	}
	unrequested := e.Type == "responses" || e.Type == "messages" // these APIs always send usage
	if e.Streaming && e.UseServerTokenCount && !e.StreamUsage && !unrequested {
		c.conflict(path+".streamUsage", "must not be off when the server's token counts are used")
	}
	if e.UseLegacyMaxTokens && unrequested {
		at := c.where(path + ".useLegacyMaxTokens")
		c.Warn(at, problem.CodeNoEffect, "%s has no effect: the endpoint type %s has a single field for the length", problem.Label(at), e.Type)
	}
	c.checkJobs()
}

// checkJobs reports options of polled endpoint types that contradict the type or
// each other.
func (c endpointRules) checkJobs() {
	const path = "benchmark.endpoint"
	e := c.endpoint
	isRunpod, isVideo := strings.HasPrefix(e.Type, "runpod"), e.Type == "video_generation"
	if t := e.RequestContentType; t != nil && !isVideo {
		form := "multipart/form-data"
		isForm := slices.Contains(c.options.Choices.Forms, e.Type)
		if isForm && *t != form {
			c.conflict(path+".requestContentType", "bodies of "+e.Type+" are always "+form)
		} else if !isForm && *t == form {
			c.conflict(path+".requestContentType", "bodies of "+e.Type+" are never "+form)
		}
	}
	if e.DownloadVideoContent && !isVideo {
		c.conflict(path+".downloadVideoContent", "needs the endpoint type video_generation, not "+e.Type)
	}
	jobs := path + ".jobs."
	for _, name := range []string{"runpodMode", "runpodInput"} {
		if c.has(jobs+name) && !isRunpod {
			c.conflict(jobs+name, "needs the endpoint type runpod, not "+e.Type)
		}
	}
	for _, name := range []string{"pollInterval", "timeout"} {
		if c.has(jobs+name) && !isRunpod && !isVideo {
			c.conflict(jobs+name, "needs an endpoint type that polls: runpod or video_generation, not "+e.Type)
		}
	}
	switch mode := e.Jobs.RunpodMode; {
	case mode == "" || !isRunpod:
	case e.Streaming && mode != "stream":
		c.conflict(jobs+"runpodMode", "is "+mode+"; with streaming it must be stream")
	case !e.Streaming && mode == "stream":
		c.conflict(jobs+"runpodMode", "is stream, which needs streaming; without it, it may be sync or async")
	}
}

// checkTexts warns about options for text and tokens that have no effect.
func (c endpointRules) checkTexts() {
	e := c.endpoint
	if e.Type != "image_retrieval" || c.options.Stored {
		return
	}
	for _, path := range []string{"benchmark.tokenizer.name", "benchmark.datasets.0.prompts.isl"} {
		if !c.has(path) {
			continue
		}
		at := c.where(path)
		for _, deepest := range c.deepest(path) {
			at = c.where(deepest)
		}
		c.Warn(at, problem.CodeNoEffect, "%s: requests of the endpoint type %s have no text, and nothing is counted in tokens", problem.Label(at), e.Type)
	}
}

// checkStore warns if AIPerf would send less: with store it refers to the
// response before instead of repeating the conversation.
func (c endpointRules) checkStore() {
	e := c.endpoint
	store := slices.ContainsFunc(e.Extra.Members(), func(m Member) bool { return m.Name == "store" && string(m.Value) == "true" })
	turns := slices.ContainsFunc(c.doc.Benchmark.Datasets, func(d Dataset) bool { return d.Turns.Mean != nil && *d.Turns.Mean > 1 })
	if e.Type != "responses" || !store || !turns {
		return
	}
	at := c.where(endpointPath + ".extra")
	c.Warn(at, problem.CodeNoEffect, "%s: store: responses are stored by the server, but each turn repeats the whole conversation; "+
		"chaining by previous_response_id is not supported by aiperfd yet", problem.Label(at))
}

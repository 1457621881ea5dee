package config

import "slices"

// checkTexts warns about options for text and tokens that have no effect.
func (l *loader) checkTexts() {
	e := &l.doc.Benchmark.Endpoint
	if e.Type != "image_retrieval" || l.options.Stored {
		return
	}
	for _, path := range []string{"benchmark.tokenizer.name", "benchmark.datasets.0.prompts.isl"} {
		if !l.has(path) {
			continue
		}
		at := l.where(path)
		for _, deepest := range l.deepest(path) {
			at = l.where(deepest)
		}
		l.warn(at, CodeNoEffect, "%s: requests of the endpoint type %s have no text, and nothing is counted in tokens", label(at), e.Type)
	}
}

// checkStore warns where AIPerf would send less: with store it refers to the
// response before instead of repeating the conversation.
func (l *loader) checkStore() {
	e := &l.doc.Benchmark.Endpoint
	store := slices.ContainsFunc(e.Extra.Members(), func(m Member) bool { return m.Name == "store" && string(m.Value) == "true" })
	turns := slices.ContainsFunc(l.doc.Benchmark.Datasets, func(d Dataset) bool { return d.Turns.Mean != nil && *d.Turns.Mean > 1 })
	if e.Type != "responses" || !store || !turns {
		return
	}
	at := l.where(endpointPath + ".extra")
	l.warn(at, CodeNoEffect, "%s: store: responses are stored by the server, but each turn repeats the whole conversation; "+
		"chaining by previous_response_id is not supported by aiperfd yet", label(at))
}

package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// check reports what is missing and what contradicts, before defaults blur what
// was given. It runs over broken documents too: what could not be read counts
// as given.
func (l *loader) check() {
	if !l.has("benchmark") {
		l.require("benchmark", "a benchmark section is required")
		return
	}
	if l.at("benchmark").shape != object {
		return
	}
	l.checkModels()
	l.checkEndpoint()
	if n := l.at("benchmark.datasets"); n == nil || n.shape == list {
		for i := range l.doc.Benchmark.Datasets {
			l.checkDataset(i)
		}
	}
	l.checkPhases()
	l.checkArtifacts()
	l.checkTokenizer()
	if at := l.where("benchmark.runtime.ui"); at.flag != "" && l.doc.Benchmark.Runtime.UI == "dashboard" {
		l.warn(at, CodeNoEffect, "%s dashboard: a full-screen display is not supported yet; the display of simple is used", at.flag)
	}
	if l.has("benchmark.runtime.apiHost") && !l.has("benchmark.runtime.apiPort") {
		l.conflict("benchmark.runtime.apiHost", "needs a port")
	}
}

// checkFilled gives warnings that need the complete document.
func (l *loader) checkFilled() {
	const few = 100 // below it the 99th percentile is a single request
	phases := l.doc.Benchmark.Phases
	for i, p := range phases {
		if p.Kind != "profiling" || p.Requests == nil || *p.Requests >= few {
			continue
		}
		requests, worth := "requests", "percentiles above p90 are unreliable"
		if *p.Requests < 10 {
			worth = "percentiles are not meaningful"
		}
		if *p.Requests == 1 {
			requests = "request"
		}
		if p.Concurrency != nil && int64(*p.Concurrency) > *p.Requests {
			worth = fmt.Sprintf("concurrency %d is never reached, and %s", *p.Concurrency, worth)
		}
		if len(phases) > 1 {
			requests += " in phase " + p.Name
		}
		l.warn(l.where(phasePath(i)+".requests"), CodeShortRun, "only %d %s: %s", *p.Requests, requests, worth)
	}
}

// require reports a missing value.
func (l *loader) require(path, detail string) {
	at := l.where(path)
	if l.flags {
		at = place{ptr: canonicalPointer(path)}
		if name := flagFor(path); name != "" {
			at.flag, detail = name, name+": required"
		}
	}
	l.fail(at, CodeRequired, "%s", detail)
}

// conflict reports a given value that contradicts others.
func (l *loader) conflict(path, detail string) {
	at := l.where(path)
	l.fail(at, CodeConflict, "%s: %s", label(at), detail)
}

func (l *loader) checkModels() {
	const path = "benchmark.models"
	m := &l.doc.Benchmark.Models
	if len(m.Items) == 0 {
		return // the server is asked
	}
	sum, given := 0.0, 0
	for i, item := range m.Items {
		at := path + ".items." + strconv.Itoa(i)
		if n := l.at(at); n != nil && n.shape == object && !l.has(at+".name") {
			l.require(at+".name", "name: required")
		}
		if l.has(at + ".weight") {
			given++
		}
		if item.Weight != nil {
			sum += *item.Weight
		} else if l.failed[at+".weight"] {
			sum = math.NaN() // no complaint about the sum
		}
		if l.has(at+".weight") && m.Strategy != "weighted" {
			l.conflict(at+".weight", "weights need the strategy weighted")
		}
	}
	if m.Strategy != "weighted" || l.failed[path+".strategy"] {
		return
	}
	switch {
	case given < len(m.Items):
		l.unweighted(path)
	case math.Abs(sum-1) > 0.01:
		l.fail(l.where(path+".items"), CodeOutOfRange, "weights: must add up to 1, not %s", format(sum))
	}
}

// unweighted reports models without weights; no option gives them.
func (l *loader) unweighted(path string) {
	const need = "weighted needs a weight for every model"
	if l.flags {
		l.conflict(path+".strategy", need+", and no option gives weights; write models with weights into a file for --config")
		return
	}
	l.require(path+".items", "weight: the strategy "+need)
}

func (l *loader) checkEndpoint() {
	const path = "benchmark.endpoint"
	e := &l.doc.Benchmark.Endpoint
	if e.Path != nil && *e.Path != "" && (!strings.HasPrefix(*e.Path, "/") || strings.ContainsAny(*e.Path, " \t\r\n?#")) {
		l.failValue(l.at(path+".path"), CodeOutOfRange, "must begin with / and contain no spaces, query or fragment")
	}
	if e.SessionHeader != nil && !validHeaderName(*e.SessionHeader) {
		l.failValue(l.at(path+".sessionHeader"), CodeOutOfRange, "must be a header name")
	}
	l.checkReach()
	l.readTemplate()
	l.checkTexts()
	l.checkStore()
	if e.PerChunkUsage && !(e.Streaming && e.UseServerTokenCount && e.Type == "chat") {
		l.conflict(path+".perChunkUsage", "needs streaming, server token counts and the endpoint type chat")
	}
	switch {
	case e.Type == "template" && (e.Template == nil || e.Template.Body == ""):
		l.require(path+".template.body", "the endpoint type template needs a body")
	case e.Template != nil && e.Type != "template":
		l.conflict(path+".template", "needs the endpoint type template")
	}
	if e.UseClientTokenCount && e.UseServerTokenCount {
		l.conflict(path+".useClientTokenCount", "must not be on together with server token counts")
	}
	unasked := e.Type == "responses" || e.Type == "messages" // usage comes unasked
	if e.Streaming && e.UseServerTokenCount && !e.StreamUsage && !unasked {
		l.conflict(path+".streamUsage", "must not be off when the server's token counts are used")
	}
	if e.UseLegacyMaxTokens && unasked {
		at := l.where(path + ".useLegacyMaxTokens")
		l.warn(at, CodeNoEffect, "%s has no effect: the endpoint type %s has a single field for the length", label(at), e.Type)
	}
	l.checkJobs()
}

func (l *loader) checkArtifacts() {
	const path = "benchmark.artifacts"
	if l.doc.Benchmark.Artifacts.ExportOutputs {
		at := l.where(path + ".exportOutputsJson")
		l.fail(at, CodeUnsupported, "%s: writing outputs.json is not supported by aiperfd yet", label(at))
	}
	if p := l.doc.Benchmark.Artifacts.Prefix; p != nil && strings.ContainsAny(*p, "\x00\n") {
		l.failValue(l.at(path+".prefix"), CodeOutOfRange, "must be a file name prefix")
	}
}

// artifacts reads the artifacts section. AIPerf says with records and raw which
// files are wanted; level says the same in one word.
func (l *loader) artifacts(n *node, path string) {
	if n.shape != object {
		l.wrongType(n, path, "an object")
		return
	}
	rest := *n
	rest.members = append([]member(nil), n.members...)
	records, raw := rest.drop("records"), rest.drop("raw")
	l.fields(&rest, &l.doc.Benchmark.Artifacts, path)
	level, ok := l.exportLevel(records, raw, path)
	if !ok || level == "" {
		return
	}
	if a := &l.doc.Benchmark.Artifacts; l.has(path+".level") && a.Level != level {
		l.conflict(path+".level", "contradicts records and raw, which mean "+level)
	} else {
		a.Level = level
	}
}

// exportLevel reads AIPerf's two fields; "" = nothing was said.
func (l *loader) exportLevel(records, raw *node, path string) (level string, ok bool) {
	if records != nil && records.shape != null {
		l.given[path+".records"] = records
		switch {
		case records.shape == boolean && records.scalar == "false":
			level = "summary"
		case records.shape == list && len(records.items) == 1 && records.items[0].scalar == "jsonl":
			level = "records"
		default:
			l.failValue(records, CodeBadEnum, "must be false or [\"jsonl\"]")
			return "", false
		}
	}
	if raw == nil || raw.shape == null {
		return level, true
	}
	l.given[path+".raw"] = raw
	switch {
	case raw.shape == list && len(raw.items) == 0, raw.shape == boolean && raw.scalar == "false":
		return level, true
	case raw.shape != boolean:
		return "", l.wrongType(raw, path+".raw", "true or false")
	case level == "summary":
		l.conflict(path+".raw", "raw records are written beside records; records is false")
		return "", false
	}
	return "raw", true
}

package config

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/metric"
)

// documentRules checks that the sections of a document agree with each other.
type documentRules struct{ *loader }

// check reports missing and contradictory values. It runs before defaults are
// filled in, and over broken documents too: a value that could not be read counts
// as given.
func (c documentRules) check() {
	if !c.has("benchmark") {
		c.require("benchmark", "a benchmark section is required")
		return
	}
	if c.at("benchmark").Shape != tree.Object {
		return
	}
	c.checkModels()
	endpointRules{c.loader, &c.doc.Benchmark.Endpoint}.check()
	if n := c.at("benchmark.datasets"); n == nil || n.Shape == tree.List {
		for i := range c.doc.Benchmark.Datasets {
			datasetRules{c.loader, &c.doc.Benchmark.Datasets[i], fmt.Sprintf("benchmark.datasets.%d", i)}.check()
		}
	}
	c.checkPhases()
	c.checkArtifacts()
	c.checkTokenizer()
	c.checkStudy()
	if c.has("benchmark.runtime.apiHost") && !c.has("benchmark.runtime.apiPort") {
		c.conflict("benchmark.runtime.apiHost", "needs a port")
	}
}

func (c documentRules) checkModels() {
	const path = "benchmark.models"
	m := &c.doc.Benchmark.Models
	if len(m.Items) == 0 {
		return // the server's only model is used
	}
	sum, given := 0.0, 0
	for i, item := range m.Items {
		at := path + ".items." + strconv.Itoa(i)
		if n := c.at(at); n != nil && n.Shape == tree.Object && !c.has(at+".name") {
			c.require(at+".name", "name: required")
		}
		if c.has(at + ".weight") {
			given++
		}
		if item.Weight != nil {
			sum += *item.Weight
		} else if c.failed[at+".weight"] {
			sum = math.NaN() // the sum is not checked
		}
		if c.has(at+".weight") && m.Strategy != "weighted" {
			c.conflict(at+".weight", "weights need the strategy weighted")
		}
	}
	if m.Strategy != "weighted" || c.failed[path+".strategy"] {
		return
	}
	switch {
	case given < len(m.Items):
		c.unweighted(path)
	case math.Abs(sum-1) > 0.01:
		name, at := "weights", c.where(path+".items")
		if c.flagFor != nil {
			name, at = "--model-weights", c.where(path+".items.0.weight")
		}
		rounded := math.Round(1e6*sum) / 1e6 // or 0.7 and 0.2 are 0.8999999999999999
		c.Fail(at, problem.CodeOutOfRange, "%s: must add up to 1, not %s", name, schema.FormatNumber(rounded))
	}
}

// unweighted reports models without weights.
func (c documentRules) unweighted(path string) {
	const need = "weighted needs a weight for every model"
	if c.flagFor != nil {
		c.conflict(path+".strategy", need+": --model-weights")
		return
	}
	c.require(path+".items", "weight: the strategy "+need)
}

func (c documentRules) checkPhases() {
	const path = "benchmark.phases"
	if !c.has(path) {
		c.require(path, "phases: at least one profiling phase is required")
		return
	}
	if c.at(path).Shape != tree.List {
		return
	}
	names := make(map[string]bool)
	profiling := false
	for i := range c.doc.Benchmark.Phases {
		p, at := &c.doc.Benchmark.Phases[i], PhasePath(i)
		if c.at(at).Shape != tree.Object {
			profiling = true // it may have been meant as one
			continue
		}
		rules := phaseRules{c.loader, p, at}
		rules.checkName(names)
		rules.checkKind()
		rules.checkSeamless(i)
		rules.checkArrival()
		rules.checkSeries()
		rules.checkCancellation()
		profiling = profiling || phaseKind(p) != "warmup"
	}
	if !profiling && len(c.doc.Benchmark.Phases) > 0 {
		c.require(path, "phases: at least one profiling phase is required")
	}
}

// checkRecords checks what is kept of the records.
func (c documentRules) checkRecords() {
	const path = "benchmark.artifacts."
	a := &c.doc.Benchmark.Artifacts
	if a.RecordSampleRate != nil && a.KeepRecords != "sample" {
		c.conflict(path+"recordSampleRate", "needs the value sample of keepRecords")
	}
	if a.KeepRecords != "all" && a.Level == "summary" {
		c.conflict(path+"keepRecords", "selects records, and the export level summary writes none")
	}
	if a.RecordFileSize != nil && a.Level == "summary" {
		c.conflict(path+"recordFileSize", "is the size of record files, and the export level summary writes none")
	}
	if a.RecordFileSize != nil && a.RecordFormat != "jsonl" {
		c.conflict(path+"recordFileSize", "cannot be combined with recordFormat "+a.RecordFormat+": a Parquet file is one file")
	}
}

func (c documentRules) checkArtifacts() {
	c.checkUserFiles()
	const path = "benchmark.artifacts"
	c.checkRecords()
	if a := &c.doc.Benchmark.Artifacts; a.Trace && a.Level == "summary" {
		at := c.where(path + ".trace")
		c.Warn(at, problem.CodeNoEffect, "%s: no record lines are written at level summary", problem.Label(at))
	}
	if p := c.doc.Benchmark.Artifacts.Prefix; p != nil && strings.ContainsFunc(*p, func(r rune) bool { return r < ' ' || strings.ContainsRune(`\:*?"<>|`, r) }) {
		c.FailValue(c.at(path+".prefix"), problem.CodeOutOfRange, `must be the beginning of a file name, without \ : * ? " < > | and control characters`)
	}
}

// checkTokenizer checks that an untrusted document may read the tokenizer's file,
// or have it downloaded.
func (c documentRules) checkTokenizer() {
	name := c.doc.Benchmark.Tokenizer.Name
	local := filepath.IsAbs(name) || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".json")
	if c.options.Untrusted && local {
		c.checkFile("benchmark.tokenizer.name", name)
	}
	if c.options.Untrusted && c.doc.Benchmark.Tokenizer.AllowDownload && !c.options.AllowDownload {
		c.FailValue(c.at("benchmark.tokenizer.allowDownload"), problem.CodeNotAllowed, "downloads are allowed by: serve --allow-download")
	}
}

// checkFilled checks what needs the complete document.
func (c documentRules) checkFilled() {
	if n := c.at("benchmark.datasets"); n != nil && n.Shape == tree.List {
		for i := range c.doc.Benchmark.Datasets {
			datasetRules{c.loader, &c.doc.Benchmark.Datasets[i], fmt.Sprintf("benchmark.datasets.%d", i)}.checkFormat()
		}
	}
	c.checkFixed()
	c.warnShort()
}

// warnTail warns of a closed loop whose last requests, at falling concurrency, are a large
// part of all.
func (c documentRules) warnTail(p *Phase, path string) {
	const share = 10
	n := *p.Requests
	if p.Type != "concurrency" || p.Concurrency == nil || *p.Concurrency == 1 || n < int64(*p.Concurrency) || n/share >= int64(*p.Concurrency) {
		return
	}
	last := "one runs"
	if others := *p.Concurrency - 1; others > 1 {
		last = fmt.Sprintf("%d run", others)
	}
	c.Warn(c.where(path), problem.CodeShortRun, "%d requests at concurrency %d: the last %s at falling concurrency, "+
		"so that throughput is underestimated; use at least %d requests, or a duration", n, *p.Concurrency, last, share*int64(*p.Concurrency))
}

// warnShort warns of phases with few requests.
func (c documentRules) warnShort() {
	const few = 100 // below it the 99th percentile is a single request
	phases := c.doc.Benchmark.Phases
	for i, p := range phases {
		if p.Kind != "profiling" || p.Requests == nil {
			continue
		}
		c.warnTail(&p, PhasePath(i)+".requests")
		if *p.Requests >= few {
			continue
		}
		requests, worth := "requests", unreliable(*p.Requests)
		if *p.Requests == 1 {
			requests = "request"
		}
		if p.Concurrency != nil && int64(*p.Concurrency) > *p.Requests {
			worth = fmt.Sprintf("concurrency %d is never reached, and %s", *p.Concurrency, worth)
		}
		if len(phases) > 1 {
			requests += " in phase " + p.Name
		}
		path := PhasePath(i) + ".requests"
		at := c.where(path)
		if c.inferred(path) {
			requests += ", the default of " + problem.Label(at)
		}
		c.Warn(at, problem.CodeShortRun, "only %d %s: %s", *p.Requests, requests, worth)
	}
}

// unreliable names the percentiles that so many requests are too few for.
func unreliable(requests int64) string {
	for _, percentile := range []int{50, 75, 90, 95} {
		if metric.Supports(float64(requests), float64(percentile)/100) {
			continue
		}
		if percentile == 50 {
			return "percentiles are not meaningful"
		}
		return fmt.Sprintf("p%d and higher percentiles are unreliable", percentile)
	}
	return "p99 is unreliable"
}

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

// checkDocument reports missing and contradictory values. It runs before defaults are
// filled in, and over broken documents too: a value that could not be read counts
// as given.
func checkDocument(in *input) {
	if !in.Has("benchmark") {
		in.require("benchmark", "a benchmark section is required")
		return
	}
	if in.At("benchmark").Shape != tree.Object {
		return
	}
	checkModels(in)
	checkEndpoint(in, &in.doc.Benchmark.Endpoint)
	if n := in.At("benchmark.datasets"); n == nil || n.Shape == tree.List {
		for i := range in.doc.Benchmark.Datasets {
			checkDataset(in, &in.doc.Benchmark.Datasets[i], datasetPath(i))
		}
	}
	checkPhases(in)
	checkArtifacts(in)
	checkTokenizer(in)
	checkGPUTelemetry(in, &in.doc.Benchmark.GPUTelemetry)
	checkServerMetrics(in, &in.doc.Benchmark.ServerMetrics)
	checkNetworkLatency(in, &in.doc.Benchmark.NetworkLatency)
	checkCluster(in, in.doc.Benchmark.Cluster)
	checkStudy(in)
	checkGate(in)
	checkOTel(in)
	checkMLflow(in)
	if in.Has("benchmark.runtime.apiHost") && !in.Has("benchmark.runtime.apiPort") {
		in.Conflict("benchmark.runtime.apiHost", "needs a port")
	}
}

func checkModels(in *input) {
	const path = "benchmark.models"
	m := &in.doc.Benchmark.Models
	if len(m.Items) == 0 {
		return // the server's only model is used
	}
	sum, given := 0.0, 0
	for i, item := range m.Items {
		at := path + ".items." + strconv.Itoa(i)
		if n := in.At(at); n != nil && n.Shape == tree.Object && !in.Has(at+".name") {
			in.require(at+".name", "name: required")
		}
		if in.Has(at + ".weight") {
			given++
		}
		if item.Weight != nil {
			sum += *item.Weight
		} else if in.Failed[at+".weight"] {
			sum = math.NaN() // the sum is not checked
		}
		if in.Has(at+".weight") && m.Strategy != "weighted" {
			in.Conflict(at+".weight", "weights need the strategy weighted")
		}
	}
	if m.Strategy != "weighted" || in.Failed[path+".strategy"] {
		return
	}
	switch {
	case given < len(m.Items):
		unweighted(in, path)
	case math.Abs(sum-1) > 0.01:
		name, at := "weights", in.Where(path+".items")
		if in.flagFor != nil {
			name, at = "--model-weights", in.Where(path+".items.0.weight")
		}
		rounded := math.Round(1e6*sum) / 1e6 // or 0.7 and 0.2 are 0.8999999999999999
		in.Fail(at, problem.CodeOutOfRange, "%s: must add up to 1, not %s", name, schema.FormatNumber(rounded))
	}
}

// unweighted reports models without weights.
func unweighted(in *input, path string) {
	const need = "weighted needs a weight for every model"
	if in.flagFor != nil {
		in.Conflict(path+".strategy", need+": --model-weights")
		return
	}
	in.require(path+".items", "weight: the strategy "+need)
}

// checkRecords checks what is kept of the records.
func checkRecords(in *input) {
	const path = "benchmark.artifacts."
	a := &in.doc.Benchmark.Artifacts
	if a.RecordSampleRate != nil && a.KeepRecords != "sample" {
		in.Conflict(path+"recordSampleRate", "needs the value sample of keepRecords")
	}
	if a.KeepRecords != "all" && a.Level == "summary" {
		in.Conflict(path+"keepRecords", "selects records, and the export level summary writes none")
	}
	if a.RecordFileSize != nil && a.Level == "summary" {
		in.Conflict(path+"recordFileSize", "is the size of record files, and the export level summary writes none")
	}
	if a.RecordFileSize != nil && a.RecordFormat != "jsonl" {
		in.Conflict(path+"recordFileSize",
			"cannot be combined with recordFormat "+a.RecordFormat+": a Parquet file is one file")
	}
}

func checkArtifacts(in *input) {
	checkUserFiles(in)
	const path = "benchmark.artifacts"
	checkRecords(in)
	if a := &in.doc.Benchmark.Artifacts; a.Trace && a.Level == "summary" {
		in.noEffect(path+".trace", ": no record lines are written at level summary")
	}
	if p := in.doc.Benchmark.Artifacts.Prefix; p != nil && strings.ContainsFunc(*p, func(r rune) bool { return r < ' ' || strings.ContainsRune(`\:*?"<>|`, r) }) {
		in.FailValue(in.At(path+".prefix"), problem.CodeOutOfRange,
			`must be the beginning of a file name, without \ : * ? " < > | and control characters`)
	}
}

// checkTokenizer checks that an untrusted document may read the tokenizer's file,
// or have it downloaded.
func checkTokenizer(in *input) {
	name := in.doc.Benchmark.Tokenizer.Name
	local := filepath.IsAbs(name) || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".json")
	if in.options.Untrusted && local {
		checkFile(in, "benchmark.tokenizer.name", name)
	}
	if in.options.Untrusted && in.doc.Benchmark.Tokenizer.AllowDownload && !in.options.AllowDownload {
		in.FailValue(in.At("benchmark.tokenizer.allowDownload"), problem.CodeNotAllowed,
			"downloads are allowed by: serve --allow-download")
	}
}

// checkFilled checks what needs the complete document.
func checkFilled(in *input) {
	if n := in.At("benchmark.datasets"); n != nil && n.Shape == tree.List {
		for i := range in.doc.Benchmark.Datasets {
			checkFormat(in, &in.doc.Benchmark.Datasets[i], datasetPath(i))
		}
	}
	checkTypedPhases(in)
	warnShort(in)
}

// warnTail warns of a closed loop whose last requests, at falling concurrency, are a large
// part of all.
func warnTail(in *input, p *Phase, path string) {
	const share = 10
	n := *p.Requests
	if p.Type != "concurrency" || p.Concurrency == nil || *p.Concurrency == 1 || n < int64(*p.Concurrency) || n/share >= int64(*p.Concurrency) {
		return
	}
	last := "one runs"
	if others := *p.Concurrency - 1; others > 1 {
		last = fmt.Sprintf("%d run", others)
	}
	in.Warn(in.Where(path), problem.CodeShortRun, "%d requests at concurrency %d: the last %s at falling concurrency, "+
		"so that throughput is underestimated; use at least %d requests, or a duration", n, *p.Concurrency, last, share*int64(*p.Concurrency))
}

// warnShort warns of phases with few requests.
func warnShort(in *input) {
	const few = 100 // below it the 99th percentile is a single request
	phases := in.doc.Benchmark.Phases
	for i, p := range phases {
		if p.Kind != "profiling" || p.Requests == nil {
			continue
		}
		warnTail(in, &p, PhasePath(i)+".requests")
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
		at := in.Where(path)
		if in.inferred(path) {
			requests += ", the default of " + problem.Label(at)
		}
		in.Warn(at, problem.CodeShortRun, "only %d %s: %s", *p.Requests, requests, worth)
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

// checkUserFiles checks the paths, and that every template has a result.
func checkUserFiles(in *input) {
	const path = "benchmark.artifacts.userFiles"
	files := in.doc.Benchmark.Artifacts.UserFiles
	if len(files) == 0 || in.Failed[path] {
		return
	}
	if in.options.Untrusted {
		in.Fail(in.Where(path), problem.CodeNotAllowed, "%s: writing files from the document is not allowed here",
			problem.Label(in.Where(path)))
		return
	}
	taken := map[string]bool{}
	for i, f := range files {
		at := fmt.Sprintf("%s.%d", path, i)
		if requirement := checkUserPath(f.Path, in.doc.Benchmark.Artifacts.Prefix); f.Path != "" && requirement != "" {
			in.FailValue(in.At(at+".path"), problem.CodeOutOfRange, requirement)
		}
		if f.Path != "" && taken[strings.ToLower(f.Path)] {
			in.Conflict(at+".path", "another file has this path")
		}
		taken[strings.ToLower(f.Path)] = true
		switch {
		case f.Path == "" && !in.Has(at+".path"):
			in.require(at+".path", "path: required")
		case f.Content.Node() == nil:
			in.require(at+".content", "content: required")
		case in.Failed[at+".format"]:
		case f.Format == "text" && f.Content.Node().Shape != tree.Text:
			in.Conflict(at+".format", "the content of a text is a string")
		case f.Format != "" && f.Format != "text" && f.Content.Node().Shape == tree.Text:
			in.Conflict(at+".format", "the content of "+f.Format+" is an object or a list; a string is a text")
		default:
			f.Render(in.doc.variables(), UserFileRun{Model: "model", EndpointURL: "http://localhost"}, in.Report)
		}
	}
}

package config

import (
	"fmt"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
)

// checkUserFiles checks the paths, and that every template has a result.
func checkUserFiles(in *input) {
	const path = "benchmark.artifacts.userFiles"
	files := in.doc.Benchmark.Artifacts.UserFiles
	if len(files) == 0 || in.Failed[path] {
		return
	}
	if in.options.Untrusted {
		in.Fail(in.Where(path), problem.CodeNotAllowed, "%s: writing files from the document is not allowed here", problem.Label(in.Where(path)))
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

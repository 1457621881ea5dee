package config

import (
	"fmt"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
)

// checkUserFiles checks the paths, and that every template has a result.
func (c documentRules) checkUserFiles() {
	const path = "benchmark.artifacts.userFiles"
	files := c.doc.Benchmark.Artifacts.UserFiles
	if len(files) == 0 || c.failed[path] {
		return
	}
	if c.options.Untrusted {
		c.Fail(c.where(path), problem.CodeNotAllowed, "%s: writing files from the document is not allowed here", problem.Label(c.where(path)))
		return
	}
	taken := map[string]bool{}
	for i, f := range files {
		at := fmt.Sprintf("%s.%d", path, i)
		if requirement := checkUserPath(f.Path, c.doc.Benchmark.Artifacts.Prefix); f.Path != "" && requirement != "" {
			c.FailValue(c.at(at+".path"), problem.CodeOutOfRange, requirement)
		}
		if f.Path != "" && taken[strings.ToLower(f.Path)] {
			c.conflict(at+".path", "another file has this path")
		}
		taken[strings.ToLower(f.Path)] = true
		switch {
		case f.Path == "" && !c.has(at+".path"):
			c.require(at+".path", "path: required")
		case f.Content.Node() == nil:
			c.require(at+".content", "content: required")
		case c.failed[at+".format"]:
		case f.Format == "text" && f.Content.Node().Shape != tree.Text:
			c.conflict(at+".format", "the content of a text is a string")
		case f.Format != "" && f.Format != "text" && f.Content.Node().Shape == tree.Text:
			c.conflict(at+".format", "the content of "+f.Format+" is an object or a list; a string is a text")
		default:
			f.Render(c.doc.variables(), UserFileRun{Model: "model", EndpointURL: "http://localhost"}, c.Report)
		}
	}
}

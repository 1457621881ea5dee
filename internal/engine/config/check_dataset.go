package config

import (
	"fmt"
	"os"
	"strings"
)

func (l *loader) checkDataset(i int) {
	path := fmt.Sprintf("benchmark.datasets.%d", i)
	d := &l.doc.Benchmark.Datasets[i]
	if n := l.at(path); n == nil || n.shape != object || l.failed[path+".type"] {
		return
	}
	if d.Type == "file" || d.Type == "" && (l.has(path+".path") || l.has(path+".records")) {
		l.checkFileDataset(d, path)
	} else {
		l.checkSynthetic(d, path)
	}
	l.checkSystemPrompt(d, path)
}

// only reports fields that the dataset's type does not have.
func (l *loader) only(path, kind, fields string) {
	for field := range strings.FieldsSeq(fields) {
		if !l.has(path + "." + field) {
			continue
		}
		for _, at := range l.deepest(path + "." + field) {
			l.conflict(at, "only valid for datasets of type "+kind+"")
		}
	}
}

// deepest returns the fields that were given by flags below path, so that each
// flag is named, or path itself.
func (l *loader) deepest(path string) []string {
	n := l.at(path)
	if n.flag == "" || n.shape != object {
		return []string{path}
	}
	var all []string
	for _, m := range n.members {
		at := join(path, m.name)
		if m.value.shape == object && l.has(at) {
			all = append(all, l.deepest(at)...)
			continue
		}
		l.given[at] = m.value
		all = append(all, at)
	}
	return all
}

func (l *loader) checkFileDataset(d *Dataset, path string) {
	if !l.failed[path+".format"] { // another format might have them
		l.only(path, "synthetic", "prompts prefixPrompts turns turnDelay turnDelayRatio images audio rankings")
	}
	hasPath, hasRecords := l.has(path+".path"), l.has(path+".records")
	switch {
	case hasPath && hasRecords:
		l.conflict(path+".records", "conflicts with path; use only one of them")
	case !hasPath && !hasRecords:
		l.require(path+".path", "path: a file dataset needs a path or records")
	}
	const many = 500
	if len(d.Records) > many {
		l.warn(l.where(path+".records"), CodeNoEffect, "records: %d inline records; use a file for large datasets", len(d.Records))
	}
	if info, err := os.Stat(d.Path); err == nil && info.IsDir() && !l.options.Untrusted {
		at := l.where(path + ".path")
		l.failed[path+".path"] = true
		l.fail(at, CodeUnsupported, "%s: not supported by aiperfd yet: a folder of files", label(at))
		return
	}
	l.checkFile(path+".path", d.Path)
}

func (l *loader) checkSynthetic(d *Dataset, path string) {
	l.only(path, "file", "path format records osl")
	l.checkMedia(d, path)
	if delay := path + ".turnDelay"; d.TurnDelay.Stddev > 0 && (d.TurnDelay.Mean == nil || *d.TurnDelay.Mean == 0) {
		l.conflict(delay, "a standard deviation needs a mean above 0")
	}
	prefix, p := path+".prefixPrompts", d.PrefixPrompts
	pooled := p.PoolSize > 0 || p.Length > 0
	switch {
	case p.Length > 0 && p.PoolSize == 0 && !l.failed[prefix+".poolSize"]:
		l.conflict(prefix+".length", "needs a pool size above 0")
	case p.PoolSize > 0 && p.Length == 0 && !l.failed[prefix+".length"]:
		l.conflict(prefix+".poolSize", "needs a length above 0")
	}
	if pooled && p.SharedSystemLength != nil {
		l.conflict(prefix+".sharedSystemLength", "excludes the pool of prefixes")
	}
	if pooled && p.UserContextLength != nil {
		l.conflict(prefix+".userContextLength", "excludes the pool of prefixes")
	}
}

// checkSystemPrompt: a literal system prompt, a generated one and a pool of
// prefixes exclude each other.
func (l *loader) checkSystemPrompt(d *Dataset, path string) {
	literal := ""
	for _, field := range []string{"systemPrompt", "systemPromptFile"} {
		if !l.has(path + "." + field) {
			continue
		}
		if literal != "" {
			l.conflict(path+"."+field, "conflicts with systemPrompt; use only one of them")
		}
		literal = path + "." + field
	}
	shared := ""
	if d.PrefixPrompts.SharedSystemLength != nil {
		shared = path + ".prefixPrompts.sharedSystemLength"
	}
	if literal != "" && shared != "" {
		l.conflict(shared, "excludes a literal system prompt")
	}
	if literal != "" && (d.PrefixPrompts.PoolSize > 0 || d.PrefixPrompts.Length > 0) {
		l.conflict(literal, "excludes the pool of prefixes")
	}
	if d.SystemPromptFile != nil {
		l.checkFile(path+".systemPromptFile", *d.SystemPromptFile)
	}
}

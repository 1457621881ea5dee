package config

import (
	"os"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/tree"
)

// datasetRules checks that the fields of a dataset agree with each other.
type datasetRules struct {
	*loader
	dataset *Dataset
	path    string
}

func (c datasetRules) check() {
	d, path := c.dataset, c.path
	if n := c.at(path); n == nil || n.Shape != tree.Object || c.failed[path+".type"] {
		return
	}
	switch {
	case d.Type == "public" || d.Type == "" && c.has(path+".dataset"):
		c.checkPublic()
	case d.Type == "file" || d.Type == "" && (c.has(path+".path") || c.has(path+".records")):
		c.only("public", "dataset hfSubset hfSplit hfRevision")
		c.checkFileDataset()
	default:
		c.only("public", "dataset hfSubset hfSplit hfRevision")
		c.checkSynthetic()
	}
	c.checkSystemPrompt()
}

// only reports fields that the dataset's type does not have.
func (c datasetRules) only(kind, fields string) {
	for field := range strings.FieldsSeq(fields) {
		if !c.has(c.path + "." + field) {
			continue
		}
		for _, at := range c.deepest(c.path + "." + field) {
			c.conflict(at, "only valid for datasets of type "+kind)
		}
	}
}

// noColumns reports names of columns in a dataset whose members have names of their own.
func (c datasetRules) noColumns() {
	if !c.has(c.path + ".columns") {
		return
	}
	for _, at := range c.deepest(c.path + ".columns") {
		c.conflict(at, "only valid for the format columns and for public datasets hf:ORG/NAME")
	}
}

// checkPublic checks a public dataset. Its name is checked when the plan is made.
func (c datasetRules) checkPublic() {
	d, path := c.dataset, c.path
	c.only("synthetic", syntheticFields)
	c.only("file", "format records replaySpeedup")
	hub := strings.HasPrefix(d.Dataset, "hf:")
	switch {
	case !c.has(path + ".dataset"):
		c.require(path+".dataset", "dataset: a public dataset needs its name")
	case hub && c.options.Untrusted && !c.options.AllowDownload:
		c.failValue(c.at(path+".dataset"), CodeNotAllowed, "datasets by their id are allowed by: serve --allow-download")
	}
	if !hub {
		c.noColumns()
	}
	c.checkFile(path+".path", d.Path)
}

// syntheticFields are the fields that only datasets of type synthetic have.
const syntheticFields = "prompts prefixPrompts turns turnDelay turnDelayRatio images audio video rankings"

func (c datasetRules) checkFileDataset() {
	d, path := c.dataset, c.path
	if !c.failed[path+".format"] { // another format might have them
		c.only("synthetic", "prefixPrompts turns turnDelay turnDelayRatio rankings")
	}
	hasPath, hasRecords := c.has(path+".path"), c.has(path+".records")
	switch {
	case hasPath && hasRecords:
		c.conflict(path+".records", "conflicts with path; use only one of them")
	case !hasPath && !hasRecords:
		c.require(path+".path", "path: a file dataset needs a path or records")
	}
	const many = 500
	if len(d.Records) > many {
		c.Warn(c.where(path+".records"), CodeNoEffect, "records: %d inline records; use a file for large datasets", len(d.Records))
	}
	if info, err := os.Stat(d.Path); err == nil && !c.options.Untrusted && (info.IsDir() || isPipe(d.Path)) {
		return
	}
	c.checkData(path+".path", d.Path)
}

// checkFormat checks the fields that only some formats have. Names of columns need the
// format columns. Of the fields of generated content, a file has only numbers of texts and
// media per request, and only if the format draws them.
func (c datasetRules) checkFormat() {
	d, path := c.dataset, c.path
	if d.Type != "file" || c.failed[path+".format"] || d.Format == "" {
		return
	}
	if d.Format != "columns" {
		c.noColumns()
	}
	if !slices.Contains(c.options.Choices.Drawn, d.Format) {
		c.only("synthetic", "prompts images audio video")
		return
	}
	for _, field := range []string{"prompts", "images", "audio", "video"} {
		n := c.at(path + "." + field)
		if n == nil || n.Shape != tree.Object {
			continue
		}
		for _, m := range n.Members {
			if m.Name != "batchSize" {
				c.conflict(path+"."+field+"."+m.Name, "only valid for datasets of type synthetic")
			}
		}
	}
}

func (c datasetRules) checkSynthetic() {
	d, path := c.dataset, c.path
	c.only("file", "path format records columns osl replaySpeedup skipBadLines")
	c.checkWarmupMarker()
	c.checkMedia()
	if delay := path + ".turnDelay"; d.TurnDelay.Stddev > 0 && (d.TurnDelay.Mean == nil || *d.TurnDelay.Mean == 0) {
		c.conflict(delay, "a standard deviation needs a mean above 0")
	}
	prefix, p := path+".prefixPrompts", d.PrefixPrompts
	pooled := p.PoolSize > 0 || p.Length > 0
	switch {
	case p.Length > 0 && p.PoolSize == 0 && !c.failed[prefix+".poolSize"]:
		c.conflict(prefix+".length", "needs a pool size above 0")
	case p.PoolSize > 0 && p.Length == 0 && !c.failed[prefix+".length"]:
		c.conflict(prefix+".poolSize", "needs a length above 0")
	}
	if pooled && p.SharedSystemLength != nil {
		c.conflict(prefix+".sharedSystemLength", "excludes the pool of prefixes")
	}
	if pooled && p.UserContextLength != nil {
		c.conflict(prefix+".userContextLength", "excludes the pool of prefixes")
	}
}

// checkWarmupMarker checks that there is a system message if a marker goes into it during
// the warm-up only: with the marker alone, the messages of the two phases would differ in
// number.
func (c datasetRules) checkWarmupMarker() {
	d, at := c.dataset, c.path+".prompts.cacheBust.target"
	if d.Prompts.CacheBust.Target == "warmup_isolation_system" && d.SystemPrompt == nil && d.SystemPromptFile == nil && d.PrefixPrompts.SharedSystemLength == nil {
		c.conflict(at, "warmup_isolation_system needs a system message: set systemPrompt, systemPromptFile or sharedSystemLength")
	}
}

// checkSystemPrompt checks that at most one of a literal system prompt, a
// generated one and a pool of prefixes is given.
func (c datasetRules) checkSystemPrompt() {
	d, path := c.dataset, c.path
	literal := ""
	for _, field := range []string{"systemPrompt", "systemPromptFile"} {
		if !c.has(c.path + "." + field) {
			continue
		}
		if literal != "" {
			c.conflict(path+"."+field, "conflicts with systemPrompt; use only one of them")
		}
		literal = c.path + "." + field
	}
	shared := ""
	if d.PrefixPrompts.SharedSystemLength != nil {
		shared = path + ".prefixPrompts.sharedSystemLength"
	}
	if literal != "" && shared != "" {
		c.conflict(shared, "excludes a literal system prompt")
	}
	if literal != "" && (d.PrefixPrompts.PoolSize > 0 || d.PrefixPrompts.Length > 0) {
		c.conflict(literal, "excludes the pool of prefixes")
	}
	if d.SystemPromptFile != nil {
		c.checkFile(path+".systemPromptFile", *d.SystemPromptFile)
	}
}

package config

import (
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
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
		c.FailValue(c.at(path+".dataset"), problem.CodeNotAllowed, "datasets by their id are allowed by: serve --allow-download")
	}
	if !hub {
		c.noColumns()
	}
	c.checkFile(path+".path", d.Path)
}

// syntheticFields are the fields that only datasets of type synthetic have.
const syntheticFields = "prompts prefixPrompts turns turnDelay turnDelayRatio images audio video rankings warmup"

func (c datasetRules) checkFileDataset() {
	d, path := c.dataset, c.path
	if !c.failed[path+".format"] { // another format might have them
		c.only("synthetic", "prefixPrompts turns turnDelay turnDelayRatio rankings warmup")
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
		c.Warn(c.where(path+".records"), problem.CodeNoEffect, "records: %d inline records; use a file for large datasets", len(d.Records))
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
	c.only("file", "path format records columns blockSize osl ignoreTraceDelays synthesis replaySpeedup skipBadLines")
	c.checkWarmupMarker()
	c.checkMedia()
	c.checkLengths()
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
	if pooled && d.Prompts.Corpus == "unique" {
		c.conflict(prefix, "the corpus unique excludes a pool of prefixes: they would be shared")
	}
	if pooled && p.UserContextLength != nil {
		c.conflict(prefix+".userContextLength", "excludes the pool of prefixes")
	}
}

// checkLengths checks that lengths are drawn in one way only.
func (c datasetRules) checkLengths() {
	p, path := &c.dataset.Prompts, c.path+".prompts"
	pairs, ratio, style := path+".sequenceDistribution", path+".randomRangeRatio", path+".randomCorpusStyle"
	if len(p.SequenceDistribution) > 0 {
		for _, other := range []string{path + ".isl", path + ".osl", ratio} {
			if c.has(other) {
				c.conflict(other, "cannot be combined with a sequence distribution, which sets both lengths")
			}
		}
		total := 0.0
		for i, pair := range p.SequenceDistribution {
			total += pair.Probability
			for _, name := range []string{"isl", "osl", "probability"} {
				if at := fmt.Sprintf("%s.%d", pairs, i); !c.has(at + "." + name) {
					c.require(at, name+": required in every pair of lengths")
				}
			}
		}
		if at := c.where(pairs); total < 99 || total > 101 {
			c.Fail(at, problem.CodeOutOfRange, "%s: the probabilities add up to %s; they are percentages and must add up to 100", problem.Label(at), schema.FormatNumber(total))
		}
	}
	if c.dataset.OSLExact && !c.has(path+".osl") && len(p.SequenceDistribution) == 0 {
		c.conflict(c.path+".oslExact", "needs an output length (osl)")
	}
	if p.RandomRangeRatio != nil {
		for _, name := range []string{"input", "output"} {
			if !c.has(ratio + "." + name) {
				c.require(ratio+"."+name, name+": required beside the other ratio")
			}
		}
		if p.RandomCorpusStyle == "sglang" && p.RandomRangeRatio.Input != p.RandomRangeRatio.Output {
			c.conflict(ratio, "the style sglang has one ratio for both lengths")
		}
		if top := max(p.RandomRangeRatio.Input, p.RandomRangeRatio.Output); top >= 1 && p.RandomCorpusStyle != "sglang" {
			c.conflict(ratio, "must be below 1 (up to 1 with the style sglang)")
		}
		c.needMean(path+".isl", p.ISL, "a range ratio")
		c.needMean(path+".osl", p.OSL, "a range ratio")
	} else if c.has(style) && p.Corpus != "random" && p.RandomCorpusStyle == "sglang" {
		c.conflict(style, "needs the corpus random or a range ratio")
	}
}

// needMean reports a length that is not a plain whole number.
func (c datasetRules) needMean(path string, d Distribution, what string) {
	switch {
	case c.failed[path]:
	case d.Mean == nil || !c.has(path):
		c.require(path, path[strings.LastIndexByte(path, '.')+1:]+": "+what+" needs a mean length")
	case d.Stddev != 0 || d.Median != nil || d.Min != nil || d.Max != nil || *d.Mean != float64(int64(*d.Mean)):
		c.conflict(path, what+" needs a whole number without a spread")
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

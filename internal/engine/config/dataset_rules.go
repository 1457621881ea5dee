package config

import (
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

// checkDataset checks that the fields of a dataset agree with each other.
func checkDataset(in *input, d *Dataset, path string) {
	if n := in.At(path); n == nil || n.Shape != tree.Object || in.Failed[path+".type"] {
		return
	}
	switch {
	case d.Type == "public" || d.Type == "" && in.Has(path+".dataset"):
		checkPublic(in, d, path)
	case d.Type == "file" || d.Type == "" && (in.Has(path+".path") || in.Has(path+".records")):
		onlyFor(in, path, "public", "dataset hfSubset hfSplit hfRevision filters")
		checkFileDataset(in, d, path)
	default:
		onlyFor(in, path, "public", "dataset hfSubset hfSplit hfRevision filters")
		checkSynthetic(in, d, path)
	}
	checkSystemPrompt(in, d, path)
}

// only reports fields that the dataset's type does not have.
func onlyFor(in *input, path string, kind, fields string) {
	for field := range strings.FieldsSeq(fields) {
		if !in.Has(path + "." + field) {
			continue
		}
		for _, at := range in.deepest(path + "." + field) {
			in.Conflict(at, "only valid for datasets of type "+kind)
		}
	}
}

// noColumns reports names of columns in a dataset whose members have names of their own.
func noColumns(in *input, path string) {
	if !in.Has(path + ".columns") {
		return
	}
	for _, at := range in.deepest(path + ".columns") {
		in.Conflict(at, "only valid for the format columns and for public datasets hf:ORG/NAME")
	}
}

// checkPublic checks a public dataset. Its name is checked when the plan is made.
func checkPublic(in *input, d *Dataset, path string) {
	onlyFor(in, path, "synthetic", syntheticFields)
	onlyFor(in, path, "file", "format records replaySpeedup")
	hub := strings.HasPrefix(d.Dataset, "hf:")
	switch {
	case !in.Has(path + ".dataset"):
		in.require(path+".dataset", "dataset: a public dataset needs its name")
	case hub && in.options.Untrusted && !in.options.AllowDownload:
		in.FailValue(in.At(path+".dataset"), problem.CodeNotAllowed,
			"datasets by their id are allowed by: serve --allow-download")
	}
	if !hub {
		noColumns(in, path)
	}
	checkFile(in, path+".path", d.Path)
}

// syntheticFields are the fields that only datasets of type synthetic have.
const syntheticFields = "prompts prefixPrompts turns turnDelay turnDelayRatio images audio video rankings warmup"

func checkFileDataset(in *input, d *Dataset, path string) {
	if !in.Failed[path+".format"] { // another format might have them
		onlyFor(in, path, "synthetic", "prefixPrompts turns turnDelay turnDelayRatio rankings warmup")
	}
	hasPath, hasRecords := in.Has(path+".path"), in.Has(path+".records")
	switch {
	case hasPath && hasRecords:
		in.Conflict(path+".records", "conflicts with path; use only one of them")
	case !hasPath && !hasRecords:
		in.require(path+".path", "path: a file dataset needs a path or records")
	}
	const many = 500
	if len(d.Records) > many {
		in.Warn(in.Where(path+".records"), problem.CodeNoEffect,
			"records: %d inline records; use a file for large datasets", len(d.Records))
	}
	checkData(in, path+".path", d.Path)
}

// checkFormat checks the fields that only some formats have. Names of columns need the
// format columns. Of the fields of generated content, a file has only numbers of texts and
// media per request, and only if the format draws them.
func checkFormat(in *input, d *Dataset, path string) {
	if d.Type != "file" || in.Failed[path+".format"] || d.Format == "" {
		return
	}
	if d.Format != "columns" {
		noColumns(in, path)
	}
	if !slices.Contains(in.options.Choices.Drawn, d.Format) {
		onlyFor(in, path, "synthetic", "prompts images audio video")
		return
	}
	for _, field := range []string{"prompts", "images", "audio", "video"} {
		n := in.At(path + "." + field)
		if n == nil || n.Shape != tree.Object {
			continue
		}
		for _, m := range n.Members {
			if m.Name != "batchSize" {
				in.Conflict(path+"."+field+"."+m.Name, "only valid for datasets of type synthetic")
			}
		}
	}
}

func checkSynthetic(in *input, d *Dataset, path string) {
	onlyFor(in, path, "file",
		"path format records columns blockSize osl ignoreTraceDelays maxContextLength "+
			"useThinkTimeOnly traceIdleGapCapSeconds gapRule synthesis replaySpeedup skipBadLines "+
			"maxIdleGapCapSeconds openLoopReplay openLoopStrict omitKvHints forceMinTokens")
	checkWarmupMarker(in, d, path)
	checkMedia(in, d, path)
	checkLengths(in, d, path)
	if delay := path + ".turnDelay"; d.TurnDelay.Stddev > 0 && (d.TurnDelay.Mean == nil || *d.TurnDelay.Mean == 0) {
		in.Conflict(delay, "a standard deviation needs a mean above 0")
	}
	prefix, p := path+".prefixPrompts", d.PrefixPrompts
	pooled := p.PoolSize > 0 || p.Length > 0
	switch {
	case p.Length > 0 && p.PoolSize == 0 && !in.Failed[prefix+".poolSize"]:
		in.Conflict(prefix+".length", "needs a pool size above 0")
	case p.PoolSize > 0 && p.Length == 0 && !in.Failed[prefix+".length"]:
		in.Conflict(prefix+".poolSize", "needs a length above 0")
	}
	if pooled && p.SharedSystemLength != nil {
		in.Conflict(prefix+".sharedSystemLength", "excludes the pool of prefixes")
	}
	if pooled && d.Prompts.Corpus == "unique" {
		in.Conflict(prefix, "the corpus unique excludes a pool of prefixes: they would be shared")
	}
	if pooled && p.UserContextLength != nil {
		in.Conflict(prefix+".userContextLength", "excludes the pool of prefixes")
	}
}

// checkLengths checks that lengths are drawn in one way only.
func checkLengths(in *input, d *Dataset, path string) {
	p, prompts := &d.Prompts, path+".prompts"
	pairs, ratio, style := prompts+".sequenceDistribution", prompts+".randomRangeRatio", prompts+".randomCorpusStyle"
	if len(p.SequenceDistribution) > 0 {
		for _, other := range []string{prompts + ".isl", prompts + ".osl", ratio} {
			if in.Has(other) {
				in.Conflict(other, "cannot be combined with a sequence distribution, which sets both lengths")
			}
		}
		total := 0.0
		for i, pair := range p.SequenceDistribution {
			total += pair.Probability
			for _, name := range []string{"isl", "osl", "probability"} {
				if at := fmt.Sprintf("%s.%d", pairs, i); !in.Has(at + "." + name) {
					in.require(at, name+": required in every pair of lengths")
				}
			}
		}
		if at := in.Where(pairs); total < 99 || total > 101 {
			in.Fail(at, problem.CodeOutOfRange, "%s: the probabilities add up to %s; they are percentages and must add up to 100", problem.Label(at), schema.FormatNumber(total))
		}
	}
	if d.OSLExact && !in.Has(prompts+".osl") && len(p.SequenceDistribution) == 0 {
		in.Conflict(path+".oslExact", "needs an output length (osl)")
	}
	if p.RandomRangeRatio != nil {
		for _, name := range []string{"input", "output"} {
			if !in.Has(ratio + "." + name) {
				in.require(ratio+"."+name, name+": required beside the other ratio")
			}
		}
		if p.RandomCorpusStyle == "sglang" && p.RandomRangeRatio.Input != p.RandomRangeRatio.Output {
			in.Conflict(ratio, "the style sglang has one ratio for both lengths")
		}
		if top := max(p.RandomRangeRatio.Input, p.RandomRangeRatio.Output); top >= 1 && p.RandomCorpusStyle != "sglang" {
			in.Conflict(ratio, "must be below 1 (up to 1 with the style sglang)")
		}
		needMean(in, prompts+".isl", p.ISL, "a range ratio")
		needMean(in, prompts+".osl", p.OSL, "a range ratio")
	} else if in.Has(style) && p.Corpus != "random" && p.RandomCorpusStyle == "sglang" {
		in.Conflict(style, "needs the corpus random or a range ratio")
	}
}

// needMean reports a length that is not a plain whole number.
func needMean(in *input, path string, d Distribution, what string) {
	switch {
	case in.Failed[path]:
	case d.Mean == nil || !in.Has(path):
		in.require(path, path[strings.LastIndexByte(path, '.')+1:]+": "+what+" needs a mean length")
	case d.Stddev != 0 || d.Median != nil || d.Min != nil || d.Max != nil || *d.Mean != float64(int64(*d.Mean)):
		in.Conflict(path, what+" needs a whole number without a spread")
	}
}

// checkWarmupMarker checks that there is a system message if a marker goes into it during
// the warm-up only: with the marker alone, the messages of the two phases would differ in
// number.
func checkWarmupMarker(in *input, d *Dataset, path string) {
	at := path + ".prompts.cacheBust.target"
	if d.Prompts.CacheBust.Target == "warmup_isolation_system" && d.SystemPrompt == nil && d.SystemPromptFile == nil && d.PrefixPrompts.SharedSystemLength == nil {
		in.Conflict(at,
			"warmup_isolation_system needs a system message: set systemPrompt, systemPromptFile or sharedSystemLength")
	}
}

// checkSystemPrompt checks that at most one of a literal system prompt, a
// generated one and a pool of prefixes is given.
func checkSystemPrompt(in *input, d *Dataset, path string) {
	literal := ""
	for _, field := range []string{"systemPrompt", "systemPromptFile"} {
		if !in.Has(path + "." + field) {
			continue
		}
		if literal != "" {
			in.Conflict(path+"."+field, "conflicts with systemPrompt; use only one of them")
		}
		literal = path + "." + field
	}
	shared := ""
	if d.PrefixPrompts.SharedSystemLength != nil {
		shared = path + ".prefixPrompts.sharedSystemLength"
	}
	if literal != "" && shared != "" {
		in.Conflict(shared, "excludes a literal system prompt")
	}
	if literal != "" && (d.PrefixPrompts.PoolSize > 0 || d.PrefixPrompts.Length > 0) {
		in.Conflict(literal, "excludes the pool of prefixes")
	}
	if d.SystemPromptFile != nil {
		checkFile(in, path+".systemPromptFile", *d.SystemPromptFile)
	}
}

package config

import (
	"encoding/json"
	"slices"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
)

func datasetDefaults(in *input, d *Dataset, path string) {
	if d.Name == "" {
		d.Name = "main"
	}
	if d.Type == "" {
		d.Type = "synthetic"
		switch {
		case d.Dataset != "":
			d.Type = "public"
			in.infer(path+".type", d.Type, "a public dataset is given")
		case d.Path != "" || len(d.Records) > 0:
			d.Type = "file"
			in.infer(path+".type", d.Type, "a path or records are given")
		}
	}
	switch d.Type {
	case "file":
		fileDefaults(in, d, path)
	case "synthetic":
		syntheticDefaults(in, d, path)
	}
	if d.Sampling == "" {
		d.Sampling = schema.Default[string](path + ".sampling")
	}
}

// fileDefaults takes the format that the first record looks like, and the defaults of
// the format.
func fileDefaults(in *input, d *Dataset, path string) {
	detectFormat(in, d, path)
	if order := in.options.Choices.Orders[d.Format]; order != "" && d.Sampling == "" {
		d.Sampling = order
		in.infer(path+".sampling", order, "the format "+d.Format+" is read in this order")
	}
	if slices.Contains(in.options.Choices.Drawn, d.Format) {
		entriesDefault(in, d, path)
	}
}

func syntheticDefaults(in *input, d *Dataset, path string) {
	if len(d.Prompts.SequenceDistribution) == 0 {
		mean(&d.Prompts.ISL, path+".prompts.isl")
	}
	schema.Fill(&d.Prompts, path+".prompts")
	mean(&d.Turns, path+".turns")
	mean(&d.TurnDelay, path+".turnDelay")
	mediaDefaults(in, d, path)
	entriesDefault(in, d, path)
}

// detectFormat looks at the first record of a dataset: it sets the format if none is given,
// and whether the dataset is a trace with times.
func detectFormat(in *input, d *Dataset, path string) {
	at := path + ".path"
	if !in.Has(at) {
		at = path + ".records"
	}
	if in.options.Choices.Detect == nil || d.Path == "" && len(d.Records) == 0 || in.Failed[at] || in.Failed[path+".format"] ||
		in.doc.closed() && d.Path != "" {
		return
	}
	file := DatasetFile{Path: d.Path, Format: d.Format, Columns: in.Has(path + ".columns"), Endpoint: in.doc.Benchmark.Endpoint.Type}
	if d.Path != "" {
		file.FS, file.Path = in.doc.DataFile(d.Path)
	}
	for i := range d.Records {
		raw, err := json.Marshal(d.Records[i])
		if err != nil {
			return // it is reported by the decoder
		}
		file.Records = append(file.Records, raw)
	}
	found, err := in.options.Choices.Detect(file)
	if err == nil {
		in.timed = found.Timed
	}
	if d.Format != "" || in.options.Stored {
		return // reading reports the error
	}
	if err != nil {
		in.Failed[path+".format"] = true
		place := in.Where(at)
		in.Fail(place, problem.CodeRequired, "%s: %v", problem.Label(place), err)
		return
	}
	d.Format = found.Format
	reason := "the first record looks like it"
	if file.Columns && d.Format == "columns" {
		reason = "columns are named"
	}
	in.infer(path+".format", d.Format, reason)
}

// defaultEntries is AIPerf's number of conversations if nothing suggests one.
const defaultEntries = 100

// entriesDefault sets the number of conversations that are made: as many as the phases
// need, so that the run does not repeat them.
func entriesDefault(in *input, d *Dataset, path string) {
	if in.Has(path + ".entries") {
		return
	}
	var reason string
	if numbered(d) {
		d.Entries, reason = firstNumber(in)
	} else {
		d.Entries, reason = allNumbers(in, d)
	}
	in.infer(path+".entries", d.Entries, reason)
}

// numbered reports whether the conversations depend on their number: an order that is drawn
// over all of them, and the lengths and prompts of other tools.
func numbered(d *Dataset) bool {
	return d.Type != "synthetic" || d.Sampling != "" && d.Sampling != "sequential" ||
		d.Prompts.RandomRangeRatio != nil || d.Prompts.Corpus == "random"
}

// firstNumber returns the number of sessions or requests of the first profiling phase that
// has one, as AIPerf does.
func firstNumber(in *input) (n int, reason string) {
	for i, p := range in.doc.Benchmark.Phases {
		if p.Kind != "profiling" || in.inferred(PhasePath(i)+".requests") {
			continue
		}
		if n, why := givenNumber(p); n > 0 {
			return n, why
		}
	}
	return defaultEntries, "no number of sessions or requests is given"
}

// allNumbers returns how many conversations all phases need together.
func allNumbers(in *input, d *Dataset) (n int, reason string) {
	given, least := 0, 1
	for i, p := range in.doc.Benchmark.Phases {
		if in.inferred(PhasePath(i) + ".requests") {
			least = defaultEntries // more than such a phase needs
			continue
		}
		if p.Kind == "warmup" && d.Warmup == "separate" {
			continue
		}
		size, why := givenNumber(p)
		if size == 0 {
			size, why = expectedNumber(p)
		}
		if size == 0 {
			continue
		}
		n += size
		reason = "the numbers of sessions or requests of all phases"
		if given++; given == 1 {
			reason = why
		}
	}
	if given == 0 {
		return defaultEntries, "no number of sessions or requests is given"
	}
	if n < least {
		return least, "no number of sessions or requests is given"
	}
	return min(n, maxEntries), reason
}

// givenNumber is the number of conversations that a phase needs at most, if it is given.
func givenNumber(p Phase) (int, string) {
	switch {
	case p.Sessions != nil:
		return int(min(*p.Sessions, maxEntries)), "the number of sessions"
	case p.Requests != nil:
		return int(min(*p.Requests, maxEntries)), "the number of requests"
	}
	return 0, ""
}

// mean gives a distribution without a value the default of its path as its only value.
func mean(d *Distribution, path string) {
	if !d.Given() {
		*d = Distribution{Mean: new(schema.Default[float64](path))}
	}
}

// mediaDefaults fills in the images, audio and rankings of a synthetic dataset.
func mediaDefaults(in *input, d *Dataset, path string) {
	if d.Images != nil {
		imageDefaults(in, d.Images, path+".images")
	}
	if d.Audio != nil {
		audioDefaults(in, d.Audio, path+".audio")
	}
	if d.Video != nil {
		videoDefaults(in, d.Video, path+".video")
	}
	if d.Rankings == nil && slices.Contains(in.options.Choices.Ranking, in.doc.Benchmark.Endpoint.Type) {
		d.Rankings = &Rankings{}
		in.infer(path+".rankings", d.Rankings, "the endpoint type ranks passages")
	}
	if r := d.Rankings; r != nil {
		mean(&r.Passages, path+".rankings.passages")
		mean(&r.PassageTokens, path+".rankings.passageTokens")
		mean(&r.QueryTokens, path+".rankings.queryTokens")
	}
}

func imageDefaults(in *input, i *Images, path string) {
	shaped := !nothing(i.Width) || !nothing(i.Height) || i.Format != "" || i.Source != "" || i.SourceSampling != ""
	batchDefault(in, &i.BatchSize, shaped, path)
	schema.Fill(i, path)
	if !i.On() {
		return
	}
	if nothing(i.Width) {
		i.Width = Distribution{}
		mean(&i.Width, path+".width")
	}
	if nothing(i.Height) {
		i.Height = Distribution{}
		mean(&i.Height, path+".height")
	}
}

func audioDefaults(in *input, a *Audio, path string) {
	shaped := !nothing(a.Length) || a.Format != "" || len(a.Depths) > 0 || len(a.SampleRates) > 0 || a.Channels > 0
	batchDefault(in, &a.BatchSize, shaped, path)
	schema.Fill(a, path)
	if a.On() && nothing(a.Length) {
		a.Length = Distribution{}
		mean(&a.Length, path+".length")
	}
}

func videoDefaults(in *input, v *Video, path string) {
	batchDefault(in, &v.BatchSize, v.shaped(), path)
	schema.Fill(v, path)
	a := &v.Audio
	if a.Codec == nil && v.On() && a.Channels > 0 {
		codec := "libvorbis"
		if v.Format == "mp4" {
			codec = "libopus"
		}
		a.Codec = &codec
		in.infer(path+".audio.codec", codec, "the format is "+v.Format)
	}
}

// batchDefault sets the number of items per request: 1 for media with a shape.
func batchDefault(in *input, batch **int, shaped bool, path string) {
	if *batch != nil {
		return
	}
	n, reason := 0, "no other field of it is given"
	if shaped {
		n, reason = 1, "another field of it is given"
	}
	*batch = &n
	in.infer(path+".batchSize", n, reason)
}

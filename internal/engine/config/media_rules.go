package config

import (
	"fmt"
	"slices"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// checkMedia checks the images, audio and rankings of a synthetic dataset.
func (c datasetRules) checkMedia() {
	d, path := c.dataset, c.path
	c.atMost(path+".turns", d.Turns, MaxTurns, "turns")
	c.atMost(path+".prompts.isl", d.Prompts.ISL, MaxTokens, "tokens")
	if r := d.Rankings; r != nil {
		c.atMost(path+".rankings.passages", r.Passages, MaxPassages, "passages")
		c.atMost(path+".rankings.passageTokens", r.PassageTokens, MaxTokens, "tokens")
		c.atMost(path+".rankings.queryTokens", r.QueryTokens, MaxTokens, "tokens")
	}
	if d.Images != nil {
		c.checkImages(d.Images, path+".images")
	}
	if d.Audio != nil {
		c.checkAudio(d.Audio, path+".audio")
	}
	if d.Video != nil {
		c.checkVideo(d.Video, path+".video")
	}
	kind := c.doc.Benchmark.Endpoint.Type
	if c.failed["benchmark.endpoint.type"] {
		return
	}
	ranks := slices.Contains(c.options.Choices.Ranking, kind)
	if c.has(path+".rankings") && !ranks {
		for _, at := range c.deepest(path + ".rankings") {
			c.conflict(at, fmt.Sprintf("the endpoint type %s has no rankings; they are for %s", kind, schema.ChoiceList(c.options.Choices.Ranking)))
		}
	}
	if prompts := path + ".prompts.isl"; ranks && c.has(prompts) {
		at := c.where(prompts)
		c.Warn(at, problem.CodeNoEffect, "%s has no effect: the endpoint type %s sends queries and passages, whose lengths are set by rankings", problem.Label(at), kind)
	}
}

func (c datasetRules) checkImages(i *Images, path string) {
	for _, made := range madeSources() {
		if suggest.Fold(made) == suggest.Fold(i.Source) {
			i.Source = made
		}
	}
	if i.Source != "" && i.Directory() != "" {
		c.checkFolder(path+".source", i.Source)
	} else if i.SourceSampling != "" && i.SourceSampling != schema.Default[string](path+".sourceSampling") && !c.failed[path+".sourceSampling"] {
		c.conflict(path+".sourceSampling", "only valid if the source is a directory")
	}
	c.atMost(path+".width", i.Width, MaxSide, "pixels")
	c.atMost(path+".height", i.Height, MaxSide, "pixels")
	if w, h := i.Width.Mean, i.Height.Mean; w != nil && h != nil && *w <= MaxSide && *h <= MaxSide && *w**h > maxPixels && c.has(path) {
		c.FailValue(c.at(path), problem.CodeOutOfRange, fmt.Sprintf("an image of %s × %s pixels; at most %d are accepted in total", schema.FormatNumber(*w), schema.FormatNumber(*h), maxPixels))
	}
}

func (c datasetRules) checkAudio(a *Audio, path string) {
	for i, depth := range a.Depths {
		at := fmt.Sprintf("%s.depths.%d", path, i)
		if !slices.Contains(Depths(), depth) && !c.failed[at] {
			c.FailValue(c.at(at), problem.CodeBadEnum, "must be 8, 16, 24 or 32")
		}
	}
	for i, rate := range a.SampleRates {
		at := fmt.Sprintf("%s.sampleRates.%d", path, i)
		if hertz := Hertz(rate); (hertz < minRate || hertz > MaxRate) && !c.failed[at] {
			c.FailValue(c.at(at), problem.CodeOutOfRange, "must be from 1 to 96 kHz, or from 1000 to 384000 Hz")
		}
	}
	c.atMost(path+".length", a.Length, MaxClip, "seconds")
}

func (c datasetRules) checkVideo(given *Video, path string) {
	v := *given
	schema.Fill(&v, path)
	for _, side := range []string{"width", "height"} {
		if at := path + "." + side; !c.has(at) && (v.On() || v.BatchSize == nil && given.shaped()) {
			c.require(at, side+": generated video needs a width and a height")
		}
	}
	if at := path + ".duration"; c.has(at) && !c.failed[at] && !c.failed[path+".fps"] && v.Frames() < 1 {
		c.FailValue(c.at(at), problem.CodeOutOfRange, fmt.Sprintf("with %d frames per second the video has no frame; must be at least %s", v.FPS, schema.FormatNumber(1/float64(v.FPS))))
	}
	c.checkVideoAudio(v.Audio, path+".audio")
}

// checkVideoAudio checks an audio track with its defaults filled in.
func (c datasetRules) checkVideoAudio(a VideoAudio, path string) {
	rate, depth, codec := path+".sampleRate", path+".depth", path+".codec"
	if hertz := Hertz(a.SampleRate); c.has(rate) && !c.failed[rate] && (hertz < minVideoRate || hertz > MaxVideoRate) {
		c.FailValue(c.at(rate), problem.CodeOutOfRange, "must be from 8 to 96 kHz, or from 8000 to 96000 Hz")
	}
	if a.Channels > 0 || c.failed[path+".channels"] {
		return
	}
	if c.has(codec) && !c.failed[codec] {
		c.conflict(codec, "needs an audio track: 1 or 2 channels (--video-audio-num-channels)")
	}
	for at, differs := range map[string]bool{rate: a.SampleRate != schema.Default[float64](rate), depth: a.Depth != schema.Default[int](depth)} {
		if c.has(at) && !c.failed[at] && differs {
			c.Warn(c.where(at), problem.CodeNoEffect, "%s has no effect: the videos have no audio track", problem.Label(c.where(at)))
		}
	}
}

// atMost checks the mean of a distribution.
func (c datasetRules) atMost(path string, d Distribution, most float64, unit string) {
	if d.Mean != nil && *d.Mean > most {
		c.FailValue(c.meanAt(path), problem.CodeOutOfRange, "must be at most "+schema.FormatNumber(most)+" "+unit)
	}
}

// meanAt returns the node of a distribution's mean.
func (c datasetRules) meanAt(path string) *tree.Node {
	n := c.at(path)
	if mean := n.Get("mean"); mean != nil {
		return mean
	}
	return n
}

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
func checkMedia(in *input, d *Dataset, path string) {
	atMost(in, path+".turns", d.Turns, MaxTurns, "turns")
	atMost(in, path+".prompts.isl", d.Prompts.ISL, MaxTokens, "tokens")
	if r := d.Rankings; r != nil {
		atMost(in, path+".rankings.passages", r.Passages, MaxPassages, "passages")
		atMost(in, path+".rankings.passageTokens", r.PassageTokens, MaxTokens, "tokens")
		atMost(in, path+".rankings.queryTokens", r.QueryTokens, MaxTokens, "tokens")
	}
	if d.Images != nil {
		checkImages(in, d.Images, path+".images")
	}
	if d.Audio != nil {
		checkAudio(in, d.Audio, path+".audio")
	}
	if d.Video != nil {
		checkVideo(in, d.Video, path+".video")
	}
	kind := in.doc.Benchmark.Endpoint.Type
	if in.Failed["benchmark.endpoint.type"] {
		return
	}
	ranks := slices.Contains(in.options.Choices.Ranking, kind)
	if in.Has(path+".rankings") && !ranks {
		for _, at := range in.deepest(path + ".rankings") {
			in.Conflict(at, fmt.Sprintf("the endpoint type %s has no rankings; they are for %s", kind, schema.ChoiceList(in.options.Choices.Ranking)))
		}
	}
	if prompts := path + ".prompts.isl"; ranks && in.Has(prompts) {
		at := in.Where(prompts)
		in.Warn(at, problem.CodeNoEffect, "%s has no effect: the endpoint type %s sends queries and passages, whose lengths are set by rankings", problem.Label(at), kind)
	}
}

func checkImages(in *input, i *Images, path string) {
	for _, made := range madeSources() {
		if suggest.Fold(made) == suggest.Fold(i.Source) {
			i.Source = made
		}
	}
	if i.Source != "" && i.Directory() != "" {
		checkFolder(in, path+".source", i.Source)
	} else if i.SourceSampling != "" && i.SourceSampling != schema.Default[string](path+".sourceSampling") && !in.Failed[path+".sourceSampling"] {
		in.Conflict(path+".sourceSampling", "only valid if the source is a directory")
	}
	atMost(in, path+".width", i.Width, MaxSide, "pixels")
	atMost(in, path+".height", i.Height, MaxSide, "pixels")
	if w, h := i.Width.Mean, i.Height.Mean; w != nil && h != nil && *w <= MaxSide && *h <= MaxSide && *w**h > maxPixels && in.Has(path) {
		in.FailValue(in.At(path), problem.CodeOutOfRange, fmt.Sprintf("an image of %s × %s pixels; at most %d are accepted in total", schema.FormatNumber(*w), schema.FormatNumber(*h), maxPixels))
	}
}

func checkAudio(in *input, a *Audio, path string) {
	for i, depth := range a.Depths {
		at := fmt.Sprintf("%s.depths.%d", path, i)
		if !slices.Contains(Depths(), depth) && !in.Failed[at] {
			in.FailValue(in.At(at), problem.CodeBadEnum, "must be 8, 16, 24 or 32")
		}
	}
	for i, rate := range a.SampleRates {
		at := fmt.Sprintf("%s.sampleRates.%d", path, i)
		if hertz := Hertz(rate); (hertz < minRate || hertz > MaxRate) && !in.Failed[at] {
			in.FailValue(in.At(at), problem.CodeOutOfRange, "must be from 1 to 96 kHz, or from 1000 to 384000 Hz")
		}
	}
	atMost(in, path+".length", a.Length, MaxClip, "seconds")
}

func checkVideo(in *input, given *Video, path string) {
	v := *given
	schema.Fill(&v, path)
	for _, side := range []string{"width", "height"} {
		if at := path + "." + side; !in.Has(at) && (v.On() || v.BatchSize == nil && given.shaped()) {
			in.require(at, side+": generated video needs a width and a height")
		}
	}
	if at := path + ".duration"; in.Has(at) && !in.Failed[at] && !in.Failed[path+".fps"] && v.Frames() < 1 {
		in.FailValue(in.At(at), problem.CodeOutOfRange, fmt.Sprintf("with %d frames per second the video has no frame; must be at least %s", v.FPS, schema.FormatNumber(1/float64(v.FPS))))
	}
	checkVideoAudio(in, v.Audio, path+".audio")
}

// checkVideoAudio checks an audio track with its defaults filled in.
func checkVideoAudio(in *input, a VideoAudio, path string) {
	rate, depth, codec := path+".sampleRate", path+".depth", path+".codec"
	if hertz := Hertz(a.SampleRate); in.Has(rate) && !in.Failed[rate] && (hertz < minVideoRate || hertz > MaxVideoRate) {
		in.FailValue(in.At(rate), problem.CodeOutOfRange, "must be from 8 to 96 kHz, or from 8000 to 96000 Hz")
	}
	if a.Channels > 0 || in.Failed[path+".channels"] {
		return
	}
	if in.Has(codec) && !in.Failed[codec] {
		in.Conflict(codec, "needs an audio track: 1 or 2 channels (--video-audio-num-channels)")
	}
	for at, differs := range map[string]bool{rate: a.SampleRate != schema.Default[float64](rate), depth: a.Depth != schema.Default[int](depth)} {
		if in.Has(at) && !in.Failed[at] && differs {
			in.Warn(in.Where(at), problem.CodeNoEffect, "%s has no effect: the videos have no audio track",
				problem.Label(in.Where(at)))
		}
	}
}

// atMost checks the mean of a distribution.
func atMost(in *input, path string, d Distribution, most float64, unit string) {
	if d.Mean != nil && *d.Mean > most {
		in.FailValue(meanAt(in, path), problem.CodeOutOfRange, "must be at most "+schema.FormatNumber(most)+" "+unit)
	}
}

// meanAt returns the node of a distribution's mean.
func meanAt(in *input, path string) *tree.Node {
	n := in.At(path)
	if mean := n.Get("mean"); mean != nil {
		return mean
	}
	return n
}

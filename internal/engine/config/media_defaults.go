package config

import (
	"slices"

	"aiperfd/internal/engine/config/schema"
)

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

package config

import (
	"slices"

	"aiperfd/internal/engine/config/schema"
)

// mediaDefaults fills in the images, audio and rankings of a synthetic dataset.
func (f filler) mediaDefaults(d *Dataset, path string) {
	if d.Images != nil {
		f.imageDefaults(d.Images, path+".images")
	}
	if d.Audio != nil {
		f.audioDefaults(d.Audio, path+".audio")
	}
	if d.Video != nil {
		f.videoDefaults(d.Video, path+".video")
	}
	if d.Rankings == nil && slices.Contains(f.options.Choices.Ranking, f.doc.Benchmark.Endpoint.Type) {
		d.Rankings = &Rankings{}
		f.infer(path+".rankings", d.Rankings, "the endpoint type ranks passages")
	}
	if r := d.Rankings; r != nil {
		mean(&r.Passages, path+".rankings.passages")
		mean(&r.PassageTokens, path+".rankings.passageTokens")
		mean(&r.QueryTokens, path+".rankings.queryTokens")
	}
}

func (f filler) imageDefaults(i *Images, path string) {
	shaped := !nothing(i.Width) || !nothing(i.Height) || i.Format != "" || i.Source != "" || i.SourceSampling != ""
	f.batchDefault(&i.BatchSize, shaped, path)
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

func (f filler) audioDefaults(a *Audio, path string) {
	shaped := !nothing(a.Length) || a.Format != "" || len(a.Depths) > 0 || len(a.SampleRates) > 0 || a.Channels > 0
	f.batchDefault(&a.BatchSize, shaped, path)
	schema.Fill(a, path)
	if a.On() && nothing(a.Length) {
		a.Length = Distribution{}
		mean(&a.Length, path+".length")
	}
}

func (f filler) videoDefaults(v *Video, path string) {
	f.batchDefault(&v.BatchSize, v.shaped(), path)
	schema.Fill(v, path)
	a := &v.Audio
	if a.Codec == nil && v.On() && a.Channels > 0 {
		codec := "libvorbis"
		if v.Format == "mp4" {
			codec = "libopus"
		}
		a.Codec = &codec
		f.infer(path+".audio.codec", codec, "the format is "+v.Format)
	}
}

// batchDefault sets the number of items per request: 1 for media with a shape.
func (f filler) batchDefault(batch **int, shaped bool, path string) {
	if *batch != nil {
		return
	}
	n, reason := 0, "no other field of it is given"
	if shaped {
		n, reason = 1, "another field of it is given"
	}
	*batch = &n
	f.infer(path+".batchSize", n, reason)
}

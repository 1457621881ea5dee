package config

import "slices"

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
		for value, mean := range map[*Distribution]float64{
			&r.Passages: DefaultPassages, &r.PassageTokens: DefaultPassageTokens, &r.QueryTokens: DefaultQueryTokens,
		} {
			if !value.Given() {
				*value = constant(mean)
			}
		}
	}
}

func (f filler) imageDefaults(i *Images, path string) {
	shaped := !nothing(i.Width) || !nothing(i.Height) || i.Format != "" || i.Source != "" || i.SourceSampling != ""
	f.batchDefault(&i.BatchSize, shaped, path)
	if i.Format == "" {
		i.Format = defaultImageFormat
	}
	if i.Source == "" {
		i.Source = madeSources()[0]
	}
	if i.SourceSampling == "" {
		i.SourceSampling = defaultImageSampling
	}
	for _, side := range []*Distribution{&i.Width, &i.Height} {
		if i.On() && nothing(*side) {
			*side = constant(DefaultSide)
		}
	}
}

func (f filler) audioDefaults(a *Audio, path string) {
	shaped := !nothing(a.Length) || a.Format != "" || len(a.Depths) > 0 || len(a.SampleRates) > 0 || a.Channels > 0
	f.batchDefault(&a.BatchSize, shaped, path)
	if a.Format == "" {
		a.Format = "wav"
	}
	if len(a.Depths) == 0 {
		a.Depths = []int{defaultDepth}
	}
	if len(a.SampleRates) == 0 {
		a.SampleRates = []float64{defaultRate}
	}
	if a.Channels == 0 {
		a.Channels = 1
	}
	if a.On() && nothing(a.Length) {
		a.Length = constant(DefaultClip)
	}
}

func (f filler) videoDefaults(v *Video, path string) {
	f.batchDefault(&v.BatchSize, v.shaped(), path)
	v.fill()
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

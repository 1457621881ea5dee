package config

import (
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/suggest"
)

// Images are the generated images of a synthetic dataset.
type Images struct {
	BatchSize      *int         `json:"batchSize" validate:"gte=0"` // images per request; 0 = none; 1 if anything else is given
	Width          Distribution `json:"width"`                      // pixels; 0 = not given; default 512
	Height         Distribution `json:"height"`
	Format         string       `json:"format" validate:"oneof=jpeg png random"`                                                // jpeg (default), png, random
	Source         string       `json:"source" validate:"min=1"`                                                                // noise (default), noise-smooth, assets, or a directory
	SourceSampling string       `json:"sourceSampling" validate:"oneof=random-with-replacement shuffle-cycle sequential-cycle"` // directory only
}

// On reports whether there are images to make.
func (i *Images) On() bool { return i != nil && i.BatchSize != nil && *i.BatchSize > 0 }

// Directory returns where images are taken from; empty = they are made.
func (i *Images) Directory() string {
	if slices.Contains(madeSources(), i.Source) {
		return ""
	}
	return i.Source
}

// madeSources lists the sources of images that are no directories.
func madeSources() []string { return []string{"noise", "noise-smooth", "assets"} }

// Audio are the generated audio clips of a synthetic dataset.
type Audio struct {
	BatchSize   *int         `json:"batchSize" validate:"gte=0"`      // clips per request; 0 = none; 1 if anything else is given
	Length      Distribution `json:"length"`                          // seconds; 0 = not given; default 10
	Format      string       `json:"format" validate:"oneof=wav"`     // wav
	Depths      []int        `json:"depths" validate:"min=1"`         // bits: 8, 16, 24, 32; default 16
	SampleRates []float64    `json:"sampleRates" validate:"min=1"`    // kHz, above 96 Hz; default 16
	Channels    int          `json:"channels" validate:"gte=1,lte=2"` // 1 (default) or 2
}

// On reports whether there are audio clips to make.
func (a *Audio) On() bool { return a != nil && a.BatchSize != nil && *a.BatchSize > 0 }

// Rankings are the queries and passages of a synthetic dataset for an endpoint
// type that ranks.
type Rankings struct {
	Passages      Distribution `json:"passages" least:"1"`      // of a request; default 10
	PassageTokens Distribution `json:"passageTokens" least:"1"` // default 128
	QueryTokens   Distribution `json:"queryTokens" least:"1"`   // default 32
}

// The defaults of generated media and rankings.
const (
	defaultSide          = 512 // pixels
	defaultClip          = 10  // seconds
	defaultDepth         = 16  // bits
	defaultRate          = 16  // kHz
	defaultPassages      = 10
	defaultPassageTokens = 128
	defaultQueryTokens   = 32
	defaultImageFormat   = "jpeg"
	defaultImageSampling = "random-with-replacement"
)

// The limits of generated media.
const (
	maxSide = 16_384      // pixels
	maxClip = 4 * 60 * 60 // seconds
	minRate = 1000        // Hz
	maxRate = 384_000     // Hz
)

// depths lists the bits that a sample may have.
func depths() []int { return []int{8, 16, 24, 32} }

// Hertz returns a sample rate of a document in Hz: values above 96 are Hz, others
// kHz.
func Hertz(rate float64) float64 {
	const mostKilo = 96
	if rate > mostKilo {
		return rate
	}
	return rate * 1000
}

// rankingTypes lists the endpoint types that take a query and passages.
func rankingTypes() []string {
	return []string{"rerank", "cohere_rankings", "nim_rankings", "hf_tei_rankings", "score"}
}

func ranks(endpointType string) bool {
	return slices.ContainsFunc(rankingTypes(), func(name string) bool { return suggest.Fold(name) == suggest.Fold(endpointType) })
}

// nothing reports whether a distribution is not given, or only draws 0, which is
// AIPerf's way to say so.
func nothing(d Distribution) bool {
	return !d.Given() || d.Mean != nil && *d.Mean == 0 && d.Stddev == 0
}

// mediaDefaults fills in the images, audio and rankings of a synthetic dataset.
func (l *loader) mediaDefaults(d *Dataset, path string) {
	if d.Images != nil {
		l.imageDefaults(d.Images, path+".images")
	}
	if d.Audio != nil {
		l.audioDefaults(d.Audio, path+".audio")
	}
	if d.Rankings == nil && ranks(l.doc.Benchmark.Endpoint.Type) {
		d.Rankings = &Rankings{}
		l.infer(path+".rankings", d.Rankings, "the endpoint type ranks passages")
	}
	if r := d.Rankings; r != nil {
		for value, mean := range map[*Distribution]float64{
			&r.Passages: defaultPassages, &r.PassageTokens: defaultPassageTokens, &r.QueryTokens: defaultQueryTokens,
		} {
			if !value.Given() {
				*value = constant(mean)
			}
		}
	}
}

func (l *loader) imageDefaults(i *Images, path string) {
	shaped := !nothing(i.Width) || !nothing(i.Height) || i.Format != "" || i.Source != "" || i.SourceSampling != ""
	l.batchDefault(&i.BatchSize, shaped, path)
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
			*side = constant(defaultSide)
		}
	}
}

func (l *loader) audioDefaults(a *Audio, path string) {
	shaped := !nothing(a.Length) || a.Format != "" || len(a.Depths) > 0 || len(a.SampleRates) > 0 || a.Channels > 0
	l.batchDefault(&a.BatchSize, shaped, path)
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
		a.Length = constant(defaultClip)
	}
}

// batchDefault: what has a shape is sent once in every request.
func (l *loader) batchDefault(batch **int, shaped bool, path string) {
	if *batch != nil {
		return
	}
	n, reason := 0, "no other field of it is given"
	if shaped {
		n, reason = 1, "another field of it is given"
	}
	*batch = &n
	l.infer(path+".batchSize", n, reason)
}

// checkMedia checks the images, audio and rankings of a synthetic dataset.
func (l *loader) checkMedia(d *Dataset, path string) {
	if d.Images != nil {
		l.checkImages(d.Images, path+".images")
	}
	if d.Audio != nil {
		l.checkAudio(d.Audio, path+".audio")
	}
	kind := l.doc.Benchmark.Endpoint.Type
	if l.failed["benchmark.endpoint.type"] {
		return
	}
	if l.has(path+".rankings") && !ranks(kind) {
		for _, at := range l.deepest(path + ".rankings") {
			l.conflict(at, fmt.Sprintf("the endpoint type %s has no rankings; they are for %s", kind, choiceList(strings.Join(rankingTypes(), " "))))
		}
	}
	if prompts := path + ".prompts.isl"; ranks(kind) && l.has(prompts) {
		at := l.where(prompts)
		l.warn(at, CodeNoEffect, "%s has no effect: the endpoint type %s sends queries and passages, whose lengths are set by rankings", label(at), kind)
	}
}

func (l *loader) checkImages(i *Images, path string) {
	for _, made := range madeSources() {
		if suggest.Fold(made) == suggest.Fold(i.Source) {
			i.Source = made
		}
	}
	if i.Source != "" && i.Directory() != "" {
		l.checkFolder(path+".source", i.Source)
	} else if i.SourceSampling != "" && i.SourceSampling != defaultImageSampling && !l.failed[path+".sourceSampling"] {
		l.conflict(path+".sourceSampling", "only valid if the source is a directory")
	}
	l.atMost(path+".width", i.Width, maxSide, "pixels")
	l.atMost(path+".height", i.Height, maxSide, "pixels")
}

// atMost checks the mean of a distribution.
func (l *loader) atMost(path string, d Distribution, most float64, unit string) {
	if d.Mean != nil && *d.Mean > most {
		l.failValue(l.meanAt(path), CodeOutOfRange, "must be at most "+format(most)+" "+unit)
	}
}

// meanAt returns the node of a distribution's mean.
func (l *loader) meanAt(path string) *node {
	n := l.at(path)
	if mean := n.get("mean"); mean != nil {
		return mean
	}
	return n
}

func (l *loader) checkAudio(a *Audio, path string) {
	for i, depth := range a.Depths {
		at := fmt.Sprintf("%s.depths.%d", path, i)
		if !slices.Contains(depths(), depth) && !l.failed[at] {
			l.failValue(l.at(at), CodeBadEnum, "must be 8, 16, 24 or 32")
		}
	}
	for i, rate := range a.SampleRates {
		at := fmt.Sprintf("%s.sampleRates.%d", path, i)
		if hertz := Hertz(rate); (hertz < minRate || hertz > maxRate) && !l.failed[at] {
			l.failValue(l.at(at), CodeOutOfRange, "must be from 1 to 96 kHz, or from 1000 to 384000 Hz")
		}
	}
	l.atMost(path+".length", a.Length, maxClip, "seconds")
}

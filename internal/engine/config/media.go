package config

import (
	"cmp"
	"slices"
)

// Images are the generated images of a synthetic dataset.
type Images struct {
	BatchSize      *int         `json:"batchSize" validate:"gte=0,lte=10000"` // images per request; 0 = none; 1 if anything else is given
	Width          Distribution `json:"width"`                                // pixels; 0 = not given; default 512
	Height         Distribution `json:"height"`
	Format         string       `json:"format" validate:"oneof=jpeg png random"`                                                // jpeg (default), png, random
	Source         string       `json:"source" validate:"min=1"`                                                                // noise (default), noise-smooth, assets, or a directory
	SourceSampling string       `json:"sourceSampling" validate:"oneof=random-with-replacement shuffle-cycle sequential-cycle"` // directory only
}

// On reports whether there are images to make.
func (i *Images) On() bool { return i != nil && i.BatchSize != nil && *i.BatchSize > 0 }

// Directory returns the directory of the images; empty = they are generated.
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
	BatchSize   *int         `json:"batchSize" validate:"gte=0,lte=10000"` // clips per request; 0 = none; 1 if anything else is given
	Length      Distribution `json:"length"`                               // seconds; 0 = not given; default 10
	Format      string       `json:"format" validate:"oneof=wav"`          // wav
	Depths      []int        `json:"depths" validate:"min=1"`              // bits: 8, 16, 24, 32; default 16
	SampleRates []float64    `json:"sampleRates" validate:"min=1"`         // kHz, above 96 Hz; default 16
	Channels    int          `json:"channels" validate:"gte=1,lte=2"`      // 1 (default) or 2
}

// On reports whether there are audio clips to make.
func (a *Audio) On() bool { return a != nil && a.BatchSize != nil && *a.BatchSize > 0 }

// Video are the generated videos of a synthetic dataset.
type Video struct {
	BatchSize *int       `json:"batchSize" validate:"gte=0,lte=10000"`                      // videos per request; 0 = none; 1 if anything else is given
	Duration  Seconds    `json:"duration" validate:"gt=0"`                                  // default 1
	FPS       int        `json:"fps" validate:"gte=1,lte=240"`                              // frames per second; default 4
	Width     *int       `json:"width" validate:"gte=1,lte=8192"`                           // pixels; required
	Height    *int       `json:"height" validate:"gte=1,lte=8192"`                          // pixels; required
	SynthType string     `json:"synthType" validate:"oneof=moving_shapes grid_clock noise"` // moving_shapes (default), grid_clock, noise
	Format    string     `json:"format" validate:"oneof=webm mp4"`                          // webm (default), mp4
	Codec     string     `json:"codec" validate:"min=1"`                                    // ffmpeg's name of an encoder; default libvpx-vp9
	Audio     VideoAudio `json:"audio"`
}

// VideoAudio is the audio track of generated videos: noise.
type VideoAudio struct {
	SampleRate float64 `json:"sampleRate" validate:"gt=0"`                   // kHz, above 96 Hz; default 44.1
	Channels   int     `json:"channels" validate:"gte=0,lte=2"`              // 0 (default) = no track
	Codec      *string `json:"codec" validate:"oneof=aac libvorbis libopus"` // default libvorbis for webm, libopus for mp4
	Depth      int     `json:"depth" validate:"oneof=8 16 24 32"`            // bits; default 16
}

// On reports whether there are videos to make.
func (v *Video) On() bool { return v != nil && v.BatchSize != nil && *v.BatchSize > 0 }

// shaped reports whether anything but the number of videos is given.
func (v Video) shaped() bool {
	v.BatchSize = nil
	return v != Video{}
}

// fill fills in the defaults that do not depend on other fields.
func (v *Video) fill() {
	v.Duration, v.FPS = cmp.Or(v.Duration, defaultDuration), cmp.Or(v.FPS, defaultFPS)
	v.SynthType, v.Format, v.Codec = cmp.Or(v.SynthType, defaultSynthType), cmp.Or(v.Format, defaultVideoFormat), cmp.Or(v.Codec, defaultVideoCodec)
	v.Audio.SampleRate, v.Audio.Depth = cmp.Or(v.Audio.SampleRate, defaultVideoRate), cmp.Or(v.Audio.Depth, defaultDepth)
}

// Frames is the number of frames of a video.
func (v *Video) Frames() int { return int(float64(v.Duration) * float64(v.FPS)) }

// Rankings are the queries and passages of a synthetic dataset for an endpoint
// type that ranks.
type Rankings struct {
	Passages      Distribution `json:"passages" least:"1"`      // of a request; default 10
	PassageTokens Distribution `json:"passageTokens" least:"1"` // default 128
	QueryTokens   Distribution `json:"queryTokens" least:"1"`   // default 32
}

// The defaults of generated media and rankings.
const (
	DefaultSide          = 512 // pixels
	DefaultClip          = 10  // seconds
	defaultDepth         = 16  // bits
	defaultRate          = 16  // kHz
	defaultDuration      = 1   // seconds
	defaultFPS           = 4
	defaultVideoRate     = 44.1 // kHz
	DefaultPassages      = 10
	DefaultPassageTokens = 128
	DefaultQueryTokens   = 32
	defaultSynthType     = "moving_shapes"
	defaultVideoFormat   = "webm"
	defaultVideoCodec    = "libvpx-vp9"
	defaultImageFormat   = "jpeg"
	defaultImageSampling = "random-with-replacement"
)

// The limits of generated media.
const (
	MaxSide     = 16_384      // pixels
	MaxClip     = 4 * 60 * 60 // seconds
	maxPixels   = 64 << 20    // of an image
	MaxPassages = 10_000      // of a request
	MaxTurns    = 100_000     // of a conversation
	MaxTokens   = 1 << 24     // of one text
	minRate     = 1000        // Hz
	MaxRate     = 384_000     // Hz

	minVideoRate = 8000   // Hz, of audio tracks
	MaxVideoRate = 96_000 // Hz, of audio tracks
)

// Depths lists the bits that a sample may have.
func Depths() []int { return []int{8, 16, 24, 32} }

// Hertz returns a sample rate of a document in Hz: values above 96 are Hz, others
// kHz.
func Hertz(rate float64) float64 {
	const mostKilo = 96
	if rate > mostKilo {
		return rate
	}
	return rate * 1000
}

// nothing reports whether a distribution is not given, or only draws 0, which
// means the same in AIPerf.
func nothing(d Distribution) bool {
	return !d.Given() || d.Mean != nil && *d.Mean == 0 && d.Stddev == 0
}

package config

import "slices"

// Images are the generated images of a synthetic dataset.
type Images struct {
	BatchSize      *int         `json:"batchSize"` // images per request; 0 = none; 1 if anything else is given
	Width          Distribution `json:"width"`     // pixels; 0 = not given; default 512
	Height         Distribution `json:"height"`
	Format         string       `json:"format"`         // jpeg (default), png, random
	Source         string       `json:"source"`         // noise (default), noise-smooth, assets, or a directory
	SourceSampling string       `json:"sourceSampling"` // directory only
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
	BatchSize   *int         `json:"batchSize"`   // clips per request; 0 = none; 1 if anything else is given
	Length      Distribution `json:"length"`      // seconds; 0 = not given; default 10
	Format      string       `json:"format"`      // wav
	Depths      []int        `json:"depths"`      // bits: 8, 16, 24, 32; default 16
	SampleRates []float64    `json:"sampleRates"` // kHz, above 96 Hz; default 16
	Channels    int          `json:"channels"`    // 1 (default) or 2
}

// On reports whether there are audio clips to make.
func (a *Audio) On() bool { return a != nil && a.BatchSize != nil && *a.BatchSize > 0 }

// Video are the generated videos of a synthetic dataset.
type Video struct {
	BatchSize *int       `json:"batchSize"` // videos per request; 0 = none; 1 if anything else is given
	Duration  Seconds    `json:"duration"`  // default 1
	FPS       int        `json:"fps"`       // frames per second; default 4
	Width     *int       `json:"width"`     // pixels; required
	Height    *int       `json:"height"`    // pixels; required
	SynthType string     `json:"synthType"` // moving_shapes (default), grid_clock, noise
	Format    string     `json:"format"`    // webm (default), mp4
	Codec     string     `json:"codec"`     // ffmpeg's name of an encoder; default libvpx-vp9
	Audio     VideoAudio `json:"audio"`
}

// VideoAudio is the audio track of generated videos: noise.
type VideoAudio struct {
	SampleRate float64 `json:"sampleRate"` // kHz, above 96 Hz; default 44.1
	Channels   int     `json:"channels"`   // 0 (default) = no track
	Codec      *string `json:"codec"`      // default libvorbis for webm, libopus for mp4
	Depth      int     `json:"depth"`      // bits; default 16
}

// On reports whether there are videos to make.
func (v *Video) On() bool { return v != nil && v.BatchSize != nil && *v.BatchSize > 0 }

// shaped reports whether anything but the number of videos is given.
func (v Video) shaped() bool {
	v.BatchSize = nil
	return v != Video{}
}

// Frames is the number of frames of a video.
func (v *Video) Frames() int { return int(float64(v.Duration) * float64(v.FPS)) }

// Rankings are the queries and passages of a synthetic dataset for an endpoint
// type that ranks.
type Rankings struct {
	Passages      Distribution `json:"passages"`      // of a request; default 10
	PassageTokens Distribution `json:"passageTokens"` // default 128
	QueryTokens   Distribution `json:"queryTokens"`   // default 32
}

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

package media

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The limits of a generated video.
const (
	MaxVideoSide   = 8192    // pixels
	MaxVideoPixels = 2 << 30 // of all frames of one video together
	MaxFPS         = 240
)

// Video describes a video to generate.
type Video struct {
	Width, Height int // pixels
	Frames        int // ≥ 1
	FPS           int // frames per second
	Pattern       string
	Format        string // container: webm or mp4
	Codec         string // ffmpeg's name of the encoder, for example libvpx-vp9
	Sound         *Clip  // noise as the audio track, as long as the frames; nil = none
	SoundCodec    string // ffmpeg's name of the encoder of the audio track
}

// VideoPatterns lists what generated videos can show.
func VideoPatterns() []string { return []string{"moving_shapes", "grid_clock", "noise"} }

// VideoFormats lists the containers of generated videos.
func VideoFormats() []string { return []string{"webm", "mp4"} }

// Bytes estimates the number of bytes of a video.
func (v *Video) Bytes() int {
	pixels, perByte := v.Width*v.Height*v.Frames, 100
	if v.Pattern == "noise" {
		perByte = 1
	}
	sound := 0
	if v.Sound != nil {
		sound = int(v.Length().Seconds() * 16_000) // 128 kbit/s
	}
	return pixels/perByte + sound + 4096
}

// Length is the playing time.
func (v *Video) Length() time.Duration {
	return time.Duration(v.Frames) * time.Second / time.Duration(max(v.FPS, 1))
}

// Check returns all problems of a description, except unknown encoders.
func (v *Video) Check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	sized := v.Width >= 1 && v.Height >= 1 && v.Width <= MaxVideoSide && v.Height <= MaxVideoSide
	if !sized {
		bad("video of %d × %d pixels: sides must be from 1 to %d", v.Width, v.Height, MaxVideoSide)
	}
	if v.Frames < 1 {
		bad("video of %d frames: at least 1 is needed", v.Frames)
	}
	if v.FPS < 1 || v.FPS > MaxFPS {
		bad("video with %d frames per second: must be from 1 to %d", v.FPS, MaxFPS)
	}
	if sized && v.Frames > MaxVideoPixels/(v.Width*v.Height) {
		bad("video of %d frames with %d × %d pixels: at most %d pixels in total are accepted", v.Frames, v.Width, v.Height, MaxVideoPixels)
	}
	for _, c := range []struct {
		what, value string
		accepted    []string
	}{{"pattern", v.Pattern, VideoPatterns()}, {"format", v.Format, VideoFormats()}} {
		if !slices.Contains(c.accepted, c.value) {
			bad("video %s %q; accepted: %s", c.what, c.value, strings.Join(c.accepted, ", "))
		}
	}
	if v.Codec == "" || v.Sound != nil && v.SoundCodec == "" {
		bad("the name of an encoder is missing")
	}
	return errors.Join(errs...)
}

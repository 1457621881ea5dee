package media

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// The limits of a clip.
const (
	MinClip = 10 * time.Millisecond
	MaxClip = 4 * time.Hour
)

// loudness is the standard deviation of the samples; full scale is 1.
const loudness = 0.3

// Clip describes an audio clip to generate.
type Clip struct {
	Length     time.Duration
	SampleRate int // Hz
	Depth      int // bits per sample: 8 (unsigned), 16, 24 or 32 (signed)
	Channels   int // 1 or 2
}

// Audio generates a clip of noise as a WAV file with PCM samples (RIFF, "WAVE",
// format 1).
func Audio(c Clip, random *rand.Rand) (Object, error) {
	frames := int(math.Round(c.Length.Seconds() * float64(c.SampleRate)))
	frame := c.Channels * c.Depth / 8
	switch {
	case c.Length < MinClip || c.Length > MaxClip:
		return Object{}, fmt.Errorf("clip of %s: the length must be from %s to %s", c.Length, MinClip, MaxClip)
	case c.SampleRate < 1000 || c.SampleRate > 384_000:
		return Object{}, fmt.Errorf("clip with %d samples per second: the rate must be from 1000 to 384000", c.SampleRate)
	case c.Depth != 8 && c.Depth != 16 && c.Depth != 24 && c.Depth != 32:
		return Object{}, fmt.Errorf("clip with %d bits per sample: the depth must be 8, 16, 24 or 32", c.Depth)
	case c.Channels != 1 && c.Channels != 2:
		return Object{}, fmt.Errorf("clip with %d channels: 1 or 2 are possible", c.Channels)
	case frames*frame > math.MaxUint32-64:
		return Object{}, fmt.Errorf("clip of %d bytes: a WAV file has at most 4 GiB", frames*frame)
	}
	out := wavHeader(c, frames*frame)
	for range frames * c.Channels {
		out = appendSample(out, c.Depth, min(max(random.NormFloat64()*loudness, -1), 1))
	}
	if len(out)%2 == 1 {
		out = append(out, 0) // chunks of RIFF have an even length
	}
	return Object{Type: "audio/wav", Data: out}, nil
}

// wavHeader returns the header of a file with size bytes of samples.
func wavHeader(c Clip, size int) []byte {
	const head = 44
	little := binary.LittleEndian
	out := make([]byte, 0, head+size+1)
	out = append(out, "RIFF"...)
	out = little.AppendUint32(out, uint32(head-8+size+size%2))
	out = append(out, "WAVEfmt "...)
	out = little.AppendUint32(out, 16)
	out = little.AppendUint16(out, 1)
	out = little.AppendUint16(out, uint16(c.Channels))
	out = little.AppendUint32(out, uint32(c.SampleRate))
	out = little.AppendUint32(out, uint32(c.SampleRate*c.Channels*c.Depth/8))
	out = little.AppendUint16(out, uint16(c.Channels*c.Depth/8))
	out = little.AppendUint16(out, uint16(c.Depth))
	out = append(out, "data"...)
	return little.AppendUint32(out, uint32(size))
}

// appendSample appends a level from -1 to 1.
func appendSample(out []byte, depth int, level float64) []byte {
	if depth == 8 {
		return append(out, byte(math.Round(127.5+127.5*level)))
	}
	v := int64(math.Round(level * (math.Ldexp(1, depth-1) - 1)))
	for shift := 0; shift < depth; shift += 8 {
		out = append(out, byte(v>>shift))
	}
	return out
}

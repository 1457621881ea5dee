package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

func TestImage(t *testing.T) {
	for _, p := range []Pattern{Noise, SmoothNoise} {
		for f, want := range map[ImageFormat]string{PNG: "png", JPEG: "jpeg"} {
			for _, size := range []image.Point{{1, 1}, {31, 7}, {64, 64}, {200, 33}} {
				name := fmt.Sprint(p, want, size)
				o, err := Image(size.X, size.Y, p, f, source(1))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				got, format, err := image.Decode(bytes.NewReader(o.Data))
				if err != nil || format != want || got.Bounds().Size() != size || o.Type != "image/"+want {
					t.Errorf("%s: decoded %s %v (%s): %v", name, format, got.Bounds(), o.Type, err)
				}
				again, _ := Image(size.X, size.Y, p, f, source(1))
				other, _ := Image(size.X, size.Y, p, f, source(2))
				if !bytes.Equal(o.Data, again.Data) || bytes.Equal(o.Data, other.Data) && size.X > 1 {
					t.Errorf("%s: the bytes do not follow from the seed", name)
				}
			}
		}
	}
}

// TestEntropy: noise cannot be compressed, smooth noise can.
func TestEntropy(t *testing.T) {
	const side = 256
	noise, err := Image(side, side, Noise, PNG, source(1))
	if err != nil {
		t.Fatal(err)
	}
	calm, err := Image(side, side, SmoothNoise, PNG, source(1))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(noise.Data); n < side*side*3 {
		t.Errorf("noise takes %d bytes, less than it holds", n)
	}
	if n := len(calm.Data); n > side*side*2 || n < side*side/4 {
		t.Errorf("smooth noise takes %d bytes of %d pixels", n, side*side)
	}
}

func TestImageLimits(t *testing.T) {
	for _, size := range []image.Point{{0, 1}, {1, 0}, {-1, 5}, {MaxSide + 1, 1}, {MaxSide, MaxSide}} {
		if _, err := Image(size.X, size.Y, Noise, PNG, source(1)); err == nil || !strings.Contains(err.Error(), "pixels") {
			t.Errorf("%v: %v", size, err)
		}
	}
}

func TestAudio(t *testing.T) {
	for _, c := range []Clip{
		{time.Second, 16_000, 16, 1},
		{15 * time.Millisecond, 44_100, 8, 1},
		{30 * time.Millisecond, 48_000, 24, 2},
		{250 * time.Millisecond, 8_000, 32, 2},
	} {
		o, err := Audio(c, source(3))
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		little := binary.LittleEndian
		frame := c.Channels * c.Depth / 8
		size := int(little.Uint32(o.Data[40:]))
		if want := int(math.Round(c.Length.Seconds()*float64(c.SampleRate))) * frame; size != want {
			t.Errorf("%+v: %d bytes of samples, want %d", c, size, want)
		}
		if string(o.Data[:4]) != "RIFF" || int(little.Uint32(o.Data[4:]))+8 != len(o.Data) || len(o.Data)%2 != 0 || len(o.Data) != 44+size+size%2 {
			t.Errorf("%+v: the lengths do not fit: %d", c, len(o.Data))
		}
		if string(o.Data[8:16]) != "WAVEfmt " || little.Uint16(o.Data[20:]) != 1 || int(little.Uint16(o.Data[22:])) != c.Channels ||
			int(little.Uint32(o.Data[24:])) != c.SampleRate || int(little.Uint32(o.Data[28:])) != c.SampleRate*frame ||
			int(little.Uint16(o.Data[32:])) != frame || int(little.Uint16(o.Data[34:])) != c.Depth || string(o.Data[36:40]) != "data" {
			t.Errorf("%+v: header %q", c, o.Data[:44])
		}
		checkLoudness(t, c, o.Data[44:44+size])
	}
}

// checkLoudness decodes the samples: mean near 0, standard deviation near 0.3.
func checkLoudness(t *testing.T, c Clip, samples []byte) {
	t.Helper()
	sum, squares, n := 0.0, 0.0, 0.0
	for width := c.Depth / 8; len(samples) >= width; samples = samples[width:] {
		level := (float64(samples[0]) - 127.5) / 127.5
		if c.Depth > 8 {
			v := int64(0)
			for i := range width {
				v |= int64(samples[i]) << (8 * i)
			}
			v = v << (64 - c.Depth) >> (64 - c.Depth) // sign
			level = float64(v) / (math.Ldexp(1, c.Depth-1) - 1)
		}
		sum, squares, n = sum+level, squares+level*level, n+1
	}
	mean := sum / n
	if sigma := math.Sqrt(squares/n - mean*mean); math.Abs(mean) > 0.05 || sigma < 0.25 || sigma > 0.33 {
		t.Errorf("%+v: mean %.3f, standard deviation %.3f", c, mean, sigma)
	}
}

func TestAudioLimits(t *testing.T) {
	good := Clip{time.Second, 16_000, 16, 1}
	for name, change := range map[string]func(*Clip){
		"length": func(c *Clip) { c.Length = time.Millisecond }, "rate": func(c *Clip) { c.SampleRate = 10 },
		"depth": func(c *Clip) { c.Depth = 12 }, "channels": func(c *Clip) { c.Channels = 3 },
		"4 GiB": func(c *Clip) { c.Length, c.SampleRate, c.Depth, c.Channels = MaxClip, 384_000, 32, 2 },
	} {
		c := good
		change(&c)
		if _, err := Audio(c, source(1)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkImage(b *testing.B) {
	for name, p := range map[string]Pattern{"noise": Noise, "smooth": SmoothNoise} {
		for f, format := range map[ImageFormat]string{PNG: "png", JPEG: "jpeg"} {
			b.Run(name+" "+format, func(b *testing.B) {
				size := 0
				for b.Loop() {
					o, err := Image(512, 512, p, f, source(1))
					if err != nil {
						b.Fatal(err)
					}
					size = len(o.Data)
				}
				b.ReportMetric(float64(size), "B/image")
			})
		}
	}
}

func BenchmarkAudio(b *testing.B) {
	for b.Loop() {
		if _, err := Audio(Clip{5 * time.Second, 16_000, 16, 1}, source(1)); err != nil {
			b.Fatal(err)
		}
	}
}

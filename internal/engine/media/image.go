package media

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
)

// The limits of an image, in pixels.
const (
	MaxSide   = 16_384
	MaxPixels = 64 << 20
)

// JPEGQuality is the quality that AIPerf uses.
const JPEGQuality = 85

// Pattern is the content of a generated image.
type Pattern uint8

// The patterns.
const (
	// Noise is independent uniform pixels. It cannot be compressed: a PNG of it
	// is about three bytes per pixel.
	Noise Pattern = iota
	// SmoothNoise is noise of low frequency, with the entropy of a photograph.
	SmoothNoise
)

// ImageFormat is the encoding of an image.
type ImageFormat uint8

// The formats.
const (
	PNG  ImageFormat = iota // default compression
	JPEG                    // quality 85, chroma halved in both directions
)

// Image generates an image of exactly width × height pixels.
func Image(width, height int, p Pattern, f ImageFormat, random *rand.Rand) (Object, error) {
	if err := checkSize(width, height); err != nil {
		return Object{}, err
	}
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	switch p {
	case Noise:
		fill(img.Pix, random)
		for i := 3; i < len(img.Pix); i += 4 {
			img.Pix[i] = 0xff
		}
		if f == PNG {
			// Compression would take twenty times as long and save nothing.
			return encodePNG(img, png.NoCompression)
		}
	case SmoothNoise:
		smooth(img, random)
	}
	return Encode(img, f)
}

// Bytes estimates the number of bytes of an image. The real number is hardly ever
// larger.
func Bytes(width, height int, f ImageFormat) int {
	pixels := width * height
	if f == JPEG {
		return pixels + 1024
	}
	return 3*pixels + height + 1024
}

func checkSize(width, height int) error {
	if width < 1 || height < 1 || width > MaxSide || height > MaxSide || width*height > MaxPixels {
		return fmt.Errorf("image of %d × %d pixels: sides must be from 1 to %d, with at most %d pixels in total", width, height, MaxSide, MaxPixels)
	}
	return nil
}

// Encode writes an image in a format.
func Encode(img image.Image, f ImageFormat) (Object, error) {
	if f == PNG {
		return encodePNG(img, png.DefaultCompression)
	}
	if n, ok := img.(*image.NRGBA); ok && n.Opaque() {
		// The same bytes; the encoder is faster for this type.
		img = &image.RGBA{Pix: n.Pix, Stride: n.Stride, Rect: n.Rect}
	}
	var out bytes.Buffer
	err := jpeg.Encode(&out, img, &jpeg.Options{Quality: JPEGQuality})
	return Object{Type: "image/jpeg", Data: bytes.Clone(out.Bytes())}, err
}

// encodePNG returns an image without spare capacity.
func encodePNG(img image.Image, level png.CompressionLevel) (Object, error) {
	var out bytes.Buffer
	e := png.Encoder{CompressionLevel: level}
	err := e.Encode(&out, img)
	return Object{Type: "image/png", Data: bytes.Clone(out.Bytes())}, err
}

// cell is the distance of the points between which smooth noise is interpolated.
const cell = 32

// smooth fills an image with interpolated noise and a little grain.
func smooth(img *image.NRGBA, random *rand.Rand) {
	size := img.Rect.Size()
	columns, rows := size.X/cell+2, size.Y/cell+2
	points := make([]byte, columns*rows*3)
	fill(points, random)
	grain := make([]byte, size.X)
	for y := range size.Y {
		fill(grain, random)
		top := points[y/cell*columns*3:]
		bottom := top[columns*3:]
		v := y % cell
		row := img.Pix[y*img.Stride:]
		for x := range size.X {
			at, u := x/cell*3, x%cell
			for c := range 3 {
				upper := int(top[at+c])*(cell-u) + int(top[at+c+3])*u
				lower := int(bottom[at+c])*(cell-u) + int(bottom[at+c+3])*u
				level := (upper*(cell-v)+lower*v)/(cell*cell) + int(grain[x]&7) - 3
				row[x*4+c] = byte(min(max(level, 0), 255))
			}
			row[x*4+3] = 0xff
		}
	}
}

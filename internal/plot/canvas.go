package plot

import (
	"image/color"
	"io"
)

// Format is a kind of picture.
type Format string

// The formats.
const (
	PNG Format = "png"
	SVG Format = "svg"
)

// The size of a picture: 1,600 by 800 pixels at 150 dots per inch, as AIPerf's. Lengths
// below are in points, 72 per inch.
const (
	pixelsPerPoint = 150.0 / 72
	width          = 1600 / pixelsPerPoint
	height         = 800 / pixelsPerPoint
)

// Theme is a set of colours.
type Theme string

// The themes.
const (
	Light Theme = "light"
	Dark  Theme = "dark"
)

// colours returns the colours of the background, of text and of the grid.
func (t Theme) colours() (back, text, grid color.RGBA) {
	if t == Dark {
		return gray(0x1b), gray(0xe0), gray(0x31)
	}
	return gray(0xff), gray(0x22), gray(0xe3)
}

func gray(y uint8) color.RGBA { return color.RGBA{R: y, G: y, B: y, A: 0xff} }

// palette are the colours of Okabe and Ito, which people with a colour vision deficiency
// can tell apart.
func palette(i int) color.RGBA {
	colours := [...]color.RGBA{
		{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, {R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}, {R: 0x00, G: 0x9e, B: 0x73, A: 0xff},
		{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, {R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}, {R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
	}
	return colours[i%len(colours)]
}

// point is a pair of values, or a place of a picture, from its upper left corner.
type point struct{ X, Y float64 }

// canvas is what a picture is drawn on.
type canvas interface {
	// stroke draws a line through points.
	stroke(points []point, width float64, c color.RGBA)
	disc(at point, radius float64, c color.RGBA)
	ring(at point, radius, width float64, c color.RGBA)
	// text writes a line that begins, ends or has its middle at a place of its baseline.
	text(at point, text string, size float64, where anchor, c color.RGBA)
	// encode writes the picture, once.
	encode(w io.Writer) error
}

// anchor is the part of a text that is at the place given.
type anchor uint8

const (
	start anchor = iota
	middle
	end
	upwards // the middle of a text that runs from bottom to top
)

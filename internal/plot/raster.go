package plot

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// letters are those of a font, in the sizes that were asked for.
type letters struct {
	font  *opentype.Font
	faces map[float64]font.Face
}

func newLetters() (*letters, error) {
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, fmt.Errorf("read font: %w", err)
	}
	return &letters{parsed, map[float64]font.Face{}}, nil
}

// face returns the letters of a size, for [raster].
func (l *letters) face(size float64) font.Face {
	if l.faces[size] == nil {
		face, err := opentype.NewFace(l.font, &opentype.FaceOptions{Size: size, DPI: 72 * pixelsPerPoint})
		if err != nil {
			panic(err) // only of options
		}
		l.faces[size] = face
	}
	return l.faces[size]
}

// width returns the width of a text.
func (l *letters) width(text string, size float64) float64 {
	return float64(font.MeasureString(l.face(size), text)) / 64 / pixelsPerPoint
}

// raster is a canvas of pixels.
type raster struct {
	letters *letters
	pixels  *image.RGBA
	shape   vector.Rasterizer
}

var _ canvas = &raster{}

func newRaster(letters *letters, back color.RGBA) *raster {
	r := &raster{letters: letters}
	r.pixels = image.NewRGBA(image.Rect(0, 0, round(width*pixelsPerPoint), round(height*pixelsPerPoint)))
	draw.Draw(r.pixels, r.pixels.Bounds(), image.NewUniform(back), image.Point{}, draw.Src)
	return r
}

func round(x float64) int { return int(math.Round(x)) }

func (r *raster) stroke(points []point, width float64, c color.RGBA) {
	var last point // direction of the line before
	for i := range max(0, len(points)-1) {
		a, b := points[i], points[i+1]
		length := math.Hypot(b.X-a.X, b.Y-a.Y)
		if length == 0 {
			continue
		}
		along := point{(b.X - a.X) / length, (b.Y - a.Y) / length}
		x, y := along.Y*width/2, -along.X*width/2
		r.fill([][]point{{{a.X + x, a.Y + y}, {b.X + x, b.Y + y}, {b.X - x, b.Y - y}, {a.X - x, a.Y - y}}}, c)
		const smooth = 0.98 // cosine of an angle that needs no round joint
		if last != (point{}) && last.X*along.X+last.Y*along.Y < smooth {
			r.disc(a, width/2, c)
		}
		last = along
	}
}

func (r *raster) disc(at point, radius float64, c color.RGBA) {
	r.fill([][]point{circle(at, radius, 1)}, c)
}

func (r *raster) ring(at point, radius, width float64, c color.RGBA) {
	r.fill([][]point{circle(at, radius+width/2, 1), circle(at, radius-width/2, -1)}, c)
}

// circle returns corners of a circle, in one or the other direction.
func circle(at point, radius, direction float64) []point {
	const corners = 24
	out := make([]point, corners)
	for i := range out {
		sin, cos := math.Sincos(direction * 2 * math.Pi * float64(i) / corners)
		out[i] = point{at.X + radius*cos, at.Y + radius*sin}
	}
	return out
}

// fill fills polygons. Those within others have the opposite direction and are holes.
func (r *raster) fill(polygons [][]point, c color.RGBA) {
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, polygon := range polygons {
		for _, p := range polygon {
			low = point{min(low.X, p.X), min(low.Y, p.Y)}
			high = point{max(high.X, p.X), max(high.Y, p.Y)}
		}
	}
	box := image.Rect(
		int(math.Floor(low.X*pixelsPerPoint)), int(math.Floor(low.Y*pixelsPerPoint)),
		int(math.Ceil(high.X*pixelsPerPoint)), int(math.Ceil(high.Y*pixelsPerPoint)),
	).Intersect(r.pixels.Bounds())
	if box.Empty() {
		return
	}
	r.shape.Reset(box.Dx(), box.Dy())
	for _, polygon := range polygons {
		for i, p := range polygon {
			x, y := float32(p.X*pixelsPerPoint-float64(box.Min.X)), float32(p.Y*pixelsPerPoint-float64(box.Min.Y))
			if i == 0 {
				r.shape.MoveTo(x, y)
			} else {
				r.shape.LineTo(x, y)
			}
		}
		r.shape.ClosePath()
	}
	r.shape.Draw(r.pixels, box, image.NewUniform(c), image.Point{})
}

func (r *raster) text(at point, text string, size float64, where anchor, c color.RGBA) {
	face := r.letters.face(size)
	long := font.MeasureString(face, text)
	if where == upwards {
		r.upwards(at, text, face, c)
		return
	}
	x := fixed.Int26_6(at.X * pixelsPerPoint * 64)
	switch where {
	case end:
		x -= long
	case middle:
		x -= long / 2
	case start, upwards:
	}
	line := font.Drawer{Dst: r.pixels, Src: image.NewUniform(c), Face: face}
	line.Dot = fixed.Point26_6{X: x, Y: fixed.Int26_6(at.Y * pixelsPerPoint * 64)}
	line.DrawString(text)
}

// upwards writes a text from bottom to top: it is written into a mask, which is turned.
func (r *raster) upwards(at point, text string, face font.Face, c color.RGBA) {
	metrics := face.Metrics()
	ascent, tall := metrics.Ascent.Ceil(), (metrics.Ascent + metrics.Descent).Ceil()
	long := font.MeasureString(face, text).Ceil()
	flat := image.NewAlpha(image.Rect(0, 0, long, tall))
	line := font.Drawer{Dst: flat, Src: image.Opaque, Face: face, Dot: fixed.P(0, ascent)}
	line.DrawString(text)
	turned := image.NewAlpha(image.Rect(0, 0, tall, long))
	for y := range tall {
		for x := range long {
			turned.SetAlpha(y, long-1-x, flat.AlphaAt(x, y))
		}
	}
	corner := image.Pt(round(at.X*pixelsPerPoint)-ascent, round(at.Y*pixelsPerPoint)-long/2)
	place, ink := turned.Bounds().Add(corner), image.NewUniform(c)
	draw.DrawMask(r.pixels, place, ink, image.Point{}, turned, image.Point{}, draw.Over)
}

func (r *raster) encode(w io.Writer) error { return png.Encode(w, r.pixels) }

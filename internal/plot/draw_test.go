package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sketch is a canvas that says what is drawn on it, without places and letters' sizes.
type sketch struct{ strings.Builder }

func (s *sketch) stroke(points []point, width float64, c color.RGBA) {
	if c == palette(0) || c == palette(1) || c == palette(2) {
		fmt.Fprintf(s, "line of %d points, %g wide, %s\n", len(points), width, hex(c))
	}
}
func (s *sketch) disc(_ point, radius float64, c color.RGBA) {
	fmt.Fprintf(s, "disc %g %s\n", radius, hex(c))
}
func (s *sketch) ring(_ point, radius, _ float64, c color.RGBA) {
	fmt.Fprintf(s, "ring %g %s\n", radius, hex(c))
}
func (s *sketch) text(_ point, text string, _ float64, _ anchor, _ color.RGBA) { fmt.Fprintln(s, text) }
func (s *sketch) encode(io.Writer) error                                       { return nil }

func sample() *figure {
	return &figure{title: "Title", panels: []panel{
		{x: "x of the first", y: "upper", series: []series{
			{name: "front", style: line, points: []point{{0, 0}, {5, 5}, {10, 20}}},
			{name: "run", colour: 1, style: joined, points: []point{{0, 0}, {10, 20}}, labels: []string{"a", "b"},
				low: []float64{0, 10}, high: []float64{0, 30}},
			{name: "nothing", colour: 1, style: marks},
		}},
		{x: "x", y: "lower", logX: true, series: []series{{colour: 2, style: hollow, points: []point{{1, 1}, {10, 2}}}}},
	}}
}

func TestDraw(t *testing.T) {
	letters, err := newLetters()
	if err != nil {
		t.Fatal(err)
	}
	var s sketch
	sample().draw(&painter{canvas: &s, letters: letters, theme: Light})
	want := `0
2
4
6
8
10
0
10
20
30
upper
line of 3 points, 1.4 wide, #0072b2
line of 2 points, 1.4 wide, #e69f00
disc 3 #e69f00
disc 3 #e69f00
line of 2 points, 1 wide, #e69f00
line of 2 points, 1 wide, #e69f00
a
b
line of 2 points, 1.4 wide, #0072b2
front
line of 2 points, 1.4 wide, #e69f00
disc 3 #e69f00
run
1
2
5
10
0
1
2
lower
ring 3.5 #009e73
ring 3.5 #009e73
Title
x
`
	if diff := cmp.Diff(want, s.String()); diff != "" {
		t.Error(diff)
	}
}

// TestPlaces: both kinds of canvas draw a point at the same place.
func TestPlaces(t *testing.T) {
	letters, err := newLetters()
	if err != nil {
		t.Fatal(err)
	}
	white := gray(0xff)
	d, r := newDrawing(white), newRaster(letters, white)
	for _, on := range []canvas{d, r} {
		on.disc(point{100, 50}, 3, palette(0))
		on.ring(point{200, 50}, 6, 1, palette(1))
		on.stroke([]point{{300, 50}, {400, 50}, {400, 100}}, 2, palette(2))
		on.text(point{500, 50}, "<a>", 12, start, gray(0))
		on.text(point{600, 50}, "up", 12, upwards, gray(0))
	}
	var svg, raster bytes.Buffer
	if err := d.encode(&svg); err != nil {
		t.Fatal(err)
	}
	if err := r.encode(&raster); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<circle cx="100.00" cy="50.00" r="3" fill="#0072b2"/>`,
		`<polyline points="300.00,50.00 400.00,50.00 400.00,100.00" fill="none" stroke="#009e73"`,
		`<text x="500.00" y="50.00" font-size="12" text-anchor="start" fill="#000000">&lt;a&gt;</text>`,
		`<text x="600.00" y="50.00" font-size="12" text-anchor="middle" fill="#000000" transform="rotate(-90 600.00 50.00)">up</text>`,
	} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("the drawing has no %s:\n%s", want, svg.String())
		}
	}
	picture, err := png.Decode(&raster)
	if err != nil {
		t.Fatal(err)
	}
	at := func(x, y float64) color.RGBA {
		return color.RGBAModel.Convert(picture.At(round(x*pixelsPerPoint), round(y*pixelsPerPoint))).(color.RGBA)
	}
	for _, c := range []struct {
		what string
		x, y float64
		want color.RGBA
	}{
		{"middle of the disc", 100, 50, palette(0)}, {"beside the disc", 105, 50, white},
		{"middle of the ring", 200, 50, white}, {"the ring", 206, 50, palette(1)},
		{"the line", 350, 50, palette(2)}, {"the corner", 400, 50, palette(2)}, {"the second line", 400, 75, palette(2)},
	} {
		if got := at(c.x, c.y); got != c.want {
			t.Errorf("%s is %v, want %v", c.what, got, c.want)
		}
	}
	dark := func(x0, x1, y0, y1 float64) (n int) {
		for x := x0; x < x1; x += 0.5 {
			for y := y0; y < y1; y += 0.5 {
				if at(x, y).R < 0x80 {
					n++
				}
			}
		}
		return n
	}
	if dark(500, 520, 40, 52) == 0 || dark(490, 499, 40, 52) != 0 {
		t.Error("the text does not begin at its place")
	}
	if dark(590, 601, 43, 50) == 0 || dark(590, 601, 50, 57) == 0 || dark(604, 620, 40, 60) != 0 {
		t.Error("the text that runs upwards is not at its place")
	}
}

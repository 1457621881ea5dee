package plot

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of a picture: 1,600 by 800 pixels at 150 dots per inch, as AIPerf's.
const (
	dpi    = 150
	width  = 1600 * vg.Inch / dpi
	height = 800 * vg.Inch / dpi
)

// Theme is a set of colours.
type Theme string

// The themes.
const (
	Light Theme = "light"
	Dark  Theme = "dark"
)

// colours returns the background and the colour of text.
func (t Theme) colours() (back, text color.Color) {
	if t == Dark {
		return color.Gray{Y: 0x1b}, color.Gray{Y: 0xe0}
	}
	return color.White, color.Gray{Y: 0x22}
}

// palette are the colours of Okabe and Ito, which people with a colour vision deficiency
// can tell apart.
func palette(i int) color.Color {
	colours := [...]color.RGBA{
		{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, {R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}, {R: 0x00, G: 0x9e, B: 0x73, A: 0xff},
		{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, {R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}, {R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
	}
	return colours[i%len(colours)]
}

// figure is one picture: panels one above the other, with the same horizontal axis.
type figure struct {
	title  string
	panels []panel
}

// panel is one system of coordinates.
type panel struct {
	x, y   string // labels of the axes, with units
	logX   bool
	series []series
}

// series is one set of points.
type series struct {
	name   string // in the legend; empty = not in it
	colour int    // of the palette
	points plotter.XYs
	labels []string // beside the points; nil = none
	style  style
	low    []float64 // of the range of each point, vertically; nil = none
	high   []float64
}

// style is how a series is drawn.
type style uint8

const (
	line   style = iota
	dots         // small, for many points
	marks        // large, for a few points
	joined       // marks joined by a line
	hollow       // marks of points that are no result
	bars         // horizontal, each from one point to the next
)

// write draws the figure into a file.
func (f *figure) write(name string, format Format, theme Theme) error {
	plots := make([][]*plot.Plot, len(f.panels))
	for i := range f.panels {
		p, err := f.panel(i, theme)
		if err != nil {
			return err
		}
		plots[i] = []*plot.Plot{p}
	}
	var canvas interface {
		vg.CanvasSizer
		vg.CanvasWriterTo
	}
	switch format {
	case PNG:
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))}
	case SVG:
		canvas = vgsvg.New(width, height)
	default:
		return fmt.Errorf("format %q: must be png or svg", format)
	}
	area := draw.New(canvas)
	back, _ := theme.colours()
	area.SetColor(back)
	area.Fill(area.Path())
	area = draw.Crop(area, 6, -14, 6, -6)
	tiles := draw.Tiles{Rows: len(plots), Cols: 1, PadY: 6}
	for i, row := range plot.Align(plots, tiles, area) {
		plots[i][0].Draw(row[0])
	}
	return save(name, canvas)
}

// save writes the picture whole or not at all.
func save(name string, picture vg.CanvasWriterTo) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".plot-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the error that is returned is the first one
		}
	}()
	if _, err = picture.WriteTo(f); err == nil {
		err = f.Chmod(0o644)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// panel makes the plot of a panel; the first one has the title.
func (f *figure) panel(i int, theme Theme) (*plot.Plot, error) {
	p, spec := plot.New(), &f.panels[i]
	back, text := theme.colours()
	p.BackgroundColor = back
	if i == 0 {
		p.Title.Text = f.title
		p.Title.Padding = 8
	}
	p.Legend.Top, p.Legend.Padding = true, 2
	p.X.Color, p.Y.Color, p.X.Tick.Color, p.Y.Tick.Color = text, text, text, text
	for _, t := range []*draw.TextStyle{
		&p.Title.TextStyle, &p.Legend.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label,
	} {
		t.Color, t.Font.Variant = text, "Sans"
	}
	p.Legend.TextStyle.Font.Size = 9
	p.Y.Label.Text = spec.y
	if i == len(f.panels)-1 {
		p.X.Label.Text = spec.x
	}
	grid := plotter.NewGrid()
	faint := color.NRGBA{R: 0x80, G: 0x80, B: 0x80, A: 0x38}
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	p.Add(grid)
	for _, s := range spec.series {
		if err := s.add(p, theme); err != nil {
			return nil, err
		}
	}
	spec.scale(p, len(f.panels))
	return p, nil
}

// scale sets the ranges and ticks of the axes.
func (s *panel) scale(p *plot.Plot, panels int) {
	p.Y.Min = min(0, p.Y.Min)
	if p.Y.Max <= p.Y.Min {
		p.Y.Max = p.Y.Min + 1
	}
	p.Y.Max += (p.Y.Max - p.Y.Min) * s.headroom()
	p.Y.Tick.Marker, p.X.Tick.Marker = roundTicks{8 / float64(panels)}, roundTicks{10}
	if s.logX && p.X.Min > 0 {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decadeTicks{}
		p.X.Min, p.X.Max = p.X.Min*0.8, p.X.Max*1.25
		return
	}
	p.X.Min = min(0, p.X.Min)
	if p.X.Max <= p.X.Min {
		p.X.Max = p.X.Min + 1
	}
	if labelled(s.series) {
		p.X.Max += (p.X.Max - p.X.Min) * 0.12 // room for the labels
	}
}

// headroom is the room above the data for the legend, as a share of their height.
func (s *panel) headroom() float64 {
	room := 0.05
	for _, one := range s.series {
		if one.name != "" {
			room += 0.06
		}
	}
	return room
}

func labelled(all []series) bool {
	for _, s := range all {
		if s.labels != nil {
			return true
		}
	}
	return false
}

// add adds the series to a plot.
func (s *series) add(p *plot.Plot, theme Theme) error {
	if len(s.points) == 0 {
		return nil
	}
	colour := palette(s.colour)
	var legend []plot.Thumbnailer
	switch s.style {
	case bars:
		b := segments{s.points, draw.LineStyle{Color: colour, Width: 1.2}}
		p.Add(b)
		legend = append(legend, b)
	case line, joined:
		l, err := plotter.NewLine(s.points)
		if err != nil {
			return err
		}
		l.Color, l.Width = colour, 1.4
		p.Add(l)
		legend = append(legend, l)
	case dots, marks, hollow:
	}
	if s.style == dots || s.style == marks || s.style == hollow || s.style == joined {
		m, err := plotter.NewScatter(s.points)
		if err != nil {
			return err
		}
		m.GlyphStyle = s.glyph(colour)
		p.Add(m)
		legend = append(legend, m)
	}
	if s.low != nil {
		p.Add(ranges{s, draw.LineStyle{Color: colour, Width: 1}})
	}
	if s.name != "" {
		p.Legend.Add(s.name, legend...)
	}
	return s.label(p, theme)
}

func (s *series) glyph(colour color.Color) draw.GlyphStyle {
	switch s.style {
	case dots:
		return draw.GlyphStyle{Color: colour, Radius: dotRadius(len(s.points)), Shape: draw.CircleGlyph{}}
	case hollow:
		return draw.GlyphStyle{Color: colour, Radius: 3.5, Shape: draw.RingGlyph{}}
	case line, marks, joined, bars:
	}
	return draw.GlyphStyle{Color: colour, Radius: 3, Shape: draw.CircleGlyph{}}
}

// dotRadius returns the radius of n dots.
func dotRadius(n int) vg.Length {
	if n < 1000 {
		return 2
	}
	return 1
}

// label writes the labels beside the points.
func (s *series) label(p *plot.Plot, theme Theme) error {
	if s.labels == nil {
		return nil
	}
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: s.points, Labels: s.labels})
	if err != nil {
		return err
	}
	_, text := theme.colours()
	for i := range labels.TextStyle {
		labels.TextStyle[i].Color = text
		labels.TextStyle[i].Font.Size, labels.TextStyle[i].Font.Variant = 8, "Sans"
	}
	labels.Offset = vg.Point{X: 5, Y: 4}
	p.Add(labels)
	return nil
}

// segments draws a horizontal bar from each even point to the next.
type segments struct {
	points plotter.XYs
	style  draw.LineStyle
}

// Plot implements [plot.Plotter].
func (s segments) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i := 0; i+1 < len(s.points); i += 2 {
		a, b := s.points[i], s.points[i+1]
		c.StrokeLine2(s.style, x(a.X), y(a.Y), x(b.X), y(b.Y))
	}
}

// DataRange implements [plot.DataRanger].
func (s segments) DataRange() (xMin, xMax, yMin, yMax float64) { return plotter.XYRange(s.points) }

// Thumbnail implements [plot.Thumbnailer].
func (s segments) Thumbnail(c *draw.Canvas) {
	y := (c.Min.Y + c.Max.Y) / 2
	c.StrokeLine2(draw.LineStyle{Color: s.style.Color, Width: 3}, c.Min.X, y, c.Max.X, y)
}

// ranges draws a vertical line through each point, from its lowest to its highest value.
type ranges struct {
	*series
	line draw.LineStyle
}

// Plot implements [plot.Plotter].
func (r ranges) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, at := range r.points {
		c.StrokeLine2(r.line, x(at.X), y(r.low[i]), x(at.X), y(r.high[i]))
	}
}

// DataRange implements [plot.DataRanger].
func (r ranges) DataRange() (xMin, xMax, yMin, yMax float64) {
	xMin, xMax, yMin, yMax = plotter.XYRange(r.points)
	for i := range r.low {
		yMin, yMax = math.Min(yMin, r.low[i]), math.Max(yMax, r.high[i])
	}
	return xMin, xMax, yMin, yMax
}

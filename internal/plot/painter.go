package plot

import (
	"fmt"
	"image/color"

	"aiperfd/internal/engine/durable"
)

// Sizes of letters, and distances.
const (
	titleSize    = 12
	axisSize     = 12
	tickSize     = 10
	legendSize   = 9
	labelSize    = 8
	margin       = 6
	rightMargin  = 14
	axisGap      = 5 // between an axis and the data
	tickLength   = 8
	legendSample = 20
)

// write draws the figure into a file.
func (f *figure) write(name string, format Format, theme Theme) error {
	letters, err := newLetters()
	if err != nil {
		return err
	}
	back, _, _ := theme.colours()
	var on canvas
	switch format {
	case PNG:
		on = newRaster(letters, back)
	case SVG:
		on = newDrawing(back)
	default:
		return fmt.Errorf("format %q: must be png or svg", format)
	}
	f.draw(&painter{canvas: on, letters: letters, theme: theme})
	return durable.Write(name, durable.Shared, on.encode)
}

// painter draws a figure.
type painter struct {
	canvas
	letters *letters
	theme   Theme
}

// draw draws the panels one above the other, with data of the same width and height.
func (f *figure) draw(p *painter) {
	_, text, _ := p.theme.colours()
	const (
		title = margin + titleSize*1.2 + 8      // above the first panel
		below = axisGap + tickLength + tickSize // below the data of each panel
		gap   = 14                              // between panels
		label = axisSize*1.2 + margin           // below the last panel
	)
	all := make([]axes, len(f.panels))
	left := 0.0
	for i := range f.panels {
		all[i] = f.panels[i].scale(len(f.panels))
		for _, t := range all[i].yTicks {
			left = max(left, p.letters.width(t.label, tickSize))
		}
	}
	left += margin + axisSize*1.2 + 2 + tickLength + axisGap
	rows := float64(len(f.panels))
	tall := (height - title - label - rows*below - (rows-1)*gap) / rows
	for i := range f.panels {
		a := &all[i]
		a.left, a.right = left, width-rightMargin
		a.top = title + float64(i)*(tall+below+gap)
		a.bottom = a.top + tall
		p.grid(a)
		p.axes(a)
		p.text(point{margin + axisSize*0.8, (a.top + a.bottom) / 2}, f.panels[i].y, axisSize, upwards, text)
		for j := range f.panels[i].series {
			p.series(a, &f.panels[i].series[j])
		}
		p.legend(a, f.panels[i].series)
	}
	p.text(point{width / 2, margin + titleSize}, f.title, titleSize, middle, text)
	last := &f.panels[len(f.panels)-1]
	p.text(point{(left + width - rightMargin) / 2, height - margin - 2}, last.x, axisSize, middle, text)
}

// grid draws lines through the ticks with labels.
func (p *painter) grid(a *axes) {
	_, _, faint := p.theme.colours()
	for _, t := range a.xTicks {
		if x := a.at(point{t.value, a.yMin}).X; t.label != "" {
			p.stroke([]point{{x, a.top}, {x, a.bottom}}, 0.5, faint)
		}
	}
	for _, t := range a.yTicks {
		y := a.at(point{a.xMin, t.value}).Y
		p.stroke([]point{{a.left, y}, {a.right, y}}, 0.5, faint)
	}
}

// axes draws both axes with their ticks.
func (p *painter) axes(a *axes) {
	_, text, _ := p.theme.colours()
	y, x := a.bottom+axisGap, a.left-axisGap
	p.stroke([]point{{a.left, y}, {a.right, y}}, 0.5, text)
	for _, t := range a.xTicks {
		at := a.at(point{t.value, a.yMin}).X
		length := tickLength / 2.0
		if t.label != "" {
			length = tickLength
			p.text(point{at, y + tickLength + tickSize}, t.label, tickSize, middle, text)
		}
		p.stroke([]point{{at, y}, {at, y + length}}, 0.5, text)
	}
	p.stroke([]point{{x, a.top}, {x, a.bottom}}, 0.5, text)
	for _, t := range a.yTicks {
		at := a.at(point{a.xMin, t.value}).Y
		p.stroke([]point{{x - tickLength, at}, {x, at}}, 0.5, text)
		p.text(point{x - tickLength - 2, at + tickSize*0.35}, t.label, tickSize, end, text)
	}
}

// series draws a series with its ranges and labels.
func (p *painter) series(a *axes, s *series) {
	if len(s.points) == 0 {
		return
	}
	colour := palette(s.colour)
	places := make([]point, len(s.points))
	for i, at := range s.points {
		places[i] = a.at(at)
	}
	switch s.style {
	case bars:
		for i := 0; i+1 < len(places); i += 2 {
			p.stroke(places[i:i+2], 1.2, colour)
		}
	case line, joined:
		p.stroke(places, 1.4, colour)
	case dots, marks, hollow:
	}
	for _, at := range places {
		p.mark(at, s, colour)
	}
	for i := range s.low {
		x := s.points[i].X
		p.stroke([]point{a.at(point{x, s.low[i]}), a.at(point{x, s.high[i]})}, 1, colour)
	}
	_, text, _ := p.theme.colours()
	for i, label := range s.labels {
		p.text(point{places[i].X + 5, places[i].Y - 4}, label, labelSize, start, text)
	}
}

// mark draws the mark of a point, if the series has marks.
func (p *painter) mark(at point, s *series, colour color.RGBA) {
	switch s.style {
	case dots:
		radius := 1.0
		if len(s.points) < 1000 {
			radius = 2
		}
		p.disc(at, radius, colour)
	case marks, joined:
		p.disc(at, 3, colour)
	case hollow:
		p.ring(at, 3.5, 1, colour)
	case line, bars:
	}
}

// legend names the series in the upper right corner.
func (p *painter) legend(a *axes, all []series) {
	_, text, _ := p.theme.colours()
	y := a.top + legendSize
	for i := range all {
		s := &all[i]
		if s.name == "" || len(s.points) == 0 {
			continue
		}
		colour := palette(s.colour)
		from, to := point{a.right - legendSample, y - legendSize*0.3}, point{a.right, y - legendSize*0.3}
		switch s.style {
		case bars:
			p.stroke([]point{from, to}, 3, colour)
		case line, joined:
			p.stroke([]point{from, to}, 1.4, colour)
		case dots, marks, hollow:
		}
		p.mark(point{(from.X + to.X) / 2, from.Y}, s, colour)
		p.text(point{from.X - 3, y}, s.name, legendSize, end, text)
		y += legendSize * 1.2
	}
}

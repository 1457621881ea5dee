package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"io"
)

// drawing is a canvas that is written as SVG. Its texts are texts.
type drawing struct{ bytes.Buffer }

var _ canvas = &drawing{}

// newDrawing returns an empty drawing.
func newDrawing(back color.RGBA) *drawing {
	d := &drawing{}
	fmt.Fprintf(d, `<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" width="%[1]gpt" height="%[2]gpt" viewBox="0 0 %[1]g %[2]g"
	font-family="Liberation Sans, Arial, Helvetica, sans-serif">
<rect width="%[1]g" height="%[2]g" fill="%[3]s"/>
`, width, height, hex(back))
	return d
}

// hex returns a colour as SVG has it.
func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

func (d *drawing) stroke(points []point, width float64, c color.RGBA) {
	d.WriteString(`<polyline points="`)
	for i, p := range points {
		if i > 0 {
			d.WriteByte(' ')
		}
		fmt.Fprintf(d, "%.2f,%.2f", p.X, p.Y)
	}
	fmt.Fprintf(d, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%g\" stroke-linejoin=\"round\"/>\n", hex(c), width)
}

func (d *drawing) disc(at point, radius float64, c color.RGBA) {
	fmt.Fprintf(d, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%g\" fill=\"%s\"/>\n", at.X, at.Y, radius, hex(c))
}

func (d *drawing) ring(at point, radius, width float64, c color.RGBA) {
	fmt.Fprintf(d, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%g\" fill=\"none\" stroke=\"%s\" stroke-width=\"%g\"/>\n",
		at.X, at.Y, radius, hex(c), width)
}

func (d *drawing) text(at point, text string, size float64, where anchor, c color.RGBA) {
	turn := ""
	if where == upwards {
		turn = fmt.Sprintf(` transform="rotate(-90 %.2f %.2f)"`, at.X, at.Y)
	}
	names := map[anchor]string{start: "start", middle: "middle", end: "end", upwards: "middle"}
	fmt.Fprintf(d, `<text x="%.2f" y="%.2f" font-size="%g" text-anchor="%s" fill="%s"%s>`,
		at.X, at.Y, size, names[where], hex(c), turn)
	_ = xml.EscapeText(d, []byte(text)) // a buffer never fails
	d.WriteString("</text>\n")
}

func (d *drawing) encode(w io.Writer) error {
	d.WriteString("</svg>\n")
	_, err := d.WriteTo(w)
	return err
}

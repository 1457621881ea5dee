package media

import (
	"io"
	"math"
	"math/rand/v2"
	"strconv"
)

// frames yields the frames of a video as RGB24, one after the other. Equal
// generators give equal frames; others start the movement elsewhere.
type frames struct {
	video  *Video
	random *rand.Rand
	phases [6]float64 // 0 to 1, where each movement starts
	next   int        // number of the next frame
	canvas canvas
	unread []byte // rest of the canvas
}

var _ io.Reader = (*frames)(nil)

func newFrames(v *Video, random *rand.Rand) *frames {
	f := &frames{
		video: v, random: random,
		canvas: canvas{width: v.Width, height: v.Height, pix: make([]byte, 3*v.Width*v.Height)},
	}
	for i := range f.phases {
		f.phases[i] = random.Float64()
	}
	return f
}

// Read implements io.Reader.
func (f *frames) Read(p []byte) (int, error) {
	if len(f.unread) == 0 {
		if f.next == f.video.Frames {
			return 0, io.EOF
		}
		switch f.video.Pattern {
		case "noise":
			fill(f.canvas.pix, f.random)
		case "grid_clock":
			f.gridClock()
		default:
			f.movingShapes()
		}
		f.next++
		f.unread = f.canvas.pix
	}
	n := copy(p, f.unread)
	f.unread = f.unread[n:]
	return n, nil
}

// cycle returns where a movement is that takes place turns times during the video: 0
// to 1.
func (f *frames) cycle(phase int, turns float64) float64 {
	at := f.phases[phase] + turns*float64(f.next)/float64(f.video.Frames)
	return at - math.Floor(at)
}

// movingShapes draws a red disc that moves to the right, a green square that moves
// down, and a blue disc that moves up and to the left. They return at the opposite
// edge.
func (f *frames) movingShapes() {
	c := &f.canvas
	clear(c.pix)
	w, h := float64(c.width), float64(c.height)
	unit := min(5, min(w, h)/24)
	c.disc(f.cycle(0, 2)*w, f.cycle(1, 0)*h, 3*unit, rgb{255, 0, 0})
	c.box(f.cycle(2, 0)*w, f.cycle(3, 2)*h, 2.4*unit, rgb{0, 255, 0})
	c.disc((1-f.cycle(4, 1.5))*w, (1-f.cycle(5, 1.5))*h, 2*unit, rgb{0, 0, 255})
}

// gridClock draws a grid, a clock with two hands, and the number of the frame.
func (f *frames) gridClock() {
	const mesh = 32
	c := &f.canvas
	c.rectangle(0, 0, c.width, c.height, rgb{32, 32, 32})
	for x := 0; x < c.width; x += mesh {
		c.rectangle(x, 0, x+1, c.height, rgb{64, 64, 64})
	}
	for y := 0; y < c.height; y += mesh {
		c.rectangle(0, y, c.width, y+1, rgb{64, 64, 64})
	}
	x, y := float64(c.width)/2, float64(c.height)/2
	radius := min(x, y) / 2
	c.ring(x, y, radius, rgb{128, 128, 128})
	c.hand(x, y, 0.6*radius, f.cycle(0, 1.0/12), rgb{255, 255, 0})
	c.hand(x, y, 0.9*radius, f.cycle(1, 1), rgb{255, 255, 255})
	c.disc(x, y, 3, rgb{255, 0, 0})
	c.number(10, 10, f.next, rgb{255, 255, 255})
}

type rgb [3]byte

// canvas is an image of 3 bytes per pixel, row by row.
type canvas struct {
	width, height int
	pix           []byte
}

// rectangle fills the pixels from (x0, y0) to before (x1, y1).
func (c *canvas) rectangle(x0, y0, x1, y1 int, color rgb) {
	for y := max(y0, 0); y < min(y1, c.height); y++ {
		for x := max(x0, 0); x < min(x1, c.width); x++ {
			copy(c.pix[3*(y*c.width+x):], color[:])
		}
	}
}

// where fills the pixels around (x, y), at most reach away, for which is holds. is
// receives the square of the distance.
func (c *canvas) where(x, y, reach float64, is func(square float64) bool, color rgb) {
	for j := max(int(y-reach), 0); j < min(int(y+reach)+2, c.height); j++ {
		for i := max(int(x-reach), 0); i < min(int(x+reach)+2, c.width); i++ {
			dx, dy := float64(i)-x, float64(j)-y
			if is(float64(dx*dx) + float64(dy*dy)) {
				copy(c.pix[3*(j*c.width+i):], color[:])
			}
		}
	}
}

func (c *canvas) disc(x, y, radius float64, color rgb) {
	c.where(x, y, radius, func(square float64) bool { return square <= radius*radius }, color)
}

func (c *canvas) ring(x, y, radius float64, color rgb) {
	inner := max(radius-2, 0)
	c.where(x, y, radius, func(square float64) bool { return square <= radius*radius && square >= inner*inner }, color)
}

func (c *canvas) box(x, y, half float64, color rgb) {
	c.rectangle(int(x-half), int(y-half), int(x+half)+1, int(y+half)+1, color)
}

// hand draws a line of 3 pixels' width from (x, y); turn is 0 to 1, clockwise from
// the top.
func (c *canvas) hand(x, y, length, turn float64, color rgb) {
	sin, cos := math.Sincos(2 * math.Pi * turn)
	for step := 0.0; step <= length; step += 0.5 {
		px, py := int(x+step*sin), int(y-step*cos)
		c.rectangle(px-1, py-1, px+2, py+2, color)
	}
}

// number writes a number with digits of 6 × 10 pixels.
func (c *canvas) number(x, y, n int, color rgb) {
	const scale = 2
	// Rows of three bits from the top, most significant digits first.
	digits := [10]uint16{
		0b111_101_101_101_111, 0b010_110_010_010_111, 0b111_001_111_100_111, 0b111_001_111_001_111, 0b101_101_111_001_001,
		0b111_100_111_001_111, 0b111_100_111_101_111, 0b111_001_010_010_010, 0b111_101_111_101_111, 0b111_101_111_001_111,
	}
	for _, digit := range strconv.Itoa(n) {
		for bit := range 15 {
			if digits[digit-'0']>>(14-bit)&1 == 1 {
				left, top := x+bit%3*scale, y+bit/3*scale
				c.rectangle(left, top, left+scale, top+scale, color)
			}
		}
		x += 4 * scale
	}
}

package media

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/random"
)

// maxSide is the longest side of an image, in pixels.
const maxSide = 64

// Image is a square of one colour. Its name contains all its properties, so images need
// not be stored.
type Image struct {
	hash          uint32 // determines the colour
	Width, Height int
	stage         int // 0 = finished; previews of larger stages are paler
}

func (p Image) name() string { return fmt.Sprintf("%08x-%dx%d.png", p.hash, p.Width, p.Height) }

// PNG returns the image as a PNG file.
func (p Image) PNG() []byte {
	pale := func(shift int) uint8 {
		level := random.Mix(uint64(p.hash), 0) >> shift & 0xff
		for range p.stage {
			level = (level + 0xff) / 2
		}
		return uint8(level)
	}
	colour := color.NRGBA{R: pale(0), G: pale(8), B: pale(16), A: 0xff}
	var b bytes.Buffer
	// Writing to a buffer cannot fail, and the size is positive.
	_ = png.Encode(&b, image.NewPaletted(image.Rect(0, 0, p.Width, p.Height), color.Palette{colour}))
	return b.Bytes()
}

// imageSize returns the size of a PNG or JPEG file, 0 for other images; ok is false if
// the file is not an image.
func imageSize(data []byte) (width, height int, ok bool) {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		c, err := png.DecodeConfig(bytes.NewReader(data))
		return c.Width, c.Height, err == nil
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		c, err := jpeg.DecodeConfig(bytes.NewReader(data))
		return c.Width, c.Height, err == nil
	case bytes.HasPrefix(data, []byte("GIF8")):
		return 0, 0, true
	}
	return 0, 0, len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// ServeFile serves the images whose URLs answers contain.
func ServeFile(_ *api.Model, w http.ResponseWriter, r *http.Request) {
	var p Image
	name := chi.URLParam(r, "id")
	n, err := fmt.Sscanf(name, "%08x-%dx%d.png", &p.hash, &p.Width, &p.Height)
	if err != nil || n != 3 || p.name() != name || min(p.Width, p.Height) < 1 || max(p.Width, p.Height) > maxSide {
		api.Respond(w, http.StatusNotFound, []byte(`{"detail":"Not Found"}`)) // the client has disconnected
		return
	}
	data := p.PNG()
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // as above
}

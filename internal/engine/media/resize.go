package media

import (
	"bytes"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// Size returns the size of the image in a file. It returns an error if the file is not
// an image, or if the image would take too much memory.
func Size(file []byte) (image.Point, error) {
	var c image.Config
	var err error
	kind, _ := ClassImage.Detect(file)
	switch r := bytes.NewReader(file); kind {
	case "image/png":
		c, err = png.DecodeConfig(r)
	case "image/jpeg":
		c, err = jpeg.DecodeConfig(r)
	case "image/gif":
		c, err = gif.DecodeConfig(r)
	case "image/webp":
		c, err = webp.DecodeConfig(r)
	default:
		return image.Point{}, fmt.Errorf("holds %s, not an image (%s)", kind, ClassImage.Accepted())
	}
	if err != nil {
		return image.Point{}, fmt.Errorf("read head of %s: %w", kind, err)
	}
	return image.Pt(c.Width, c.Height), checkSize(c.Width, c.Height)
}

// Resized scales the image in a file to exactly width × height pixels. It does not
// preserve the aspect ratio.
func Resized(file []byte, width, height int, f ImageFormat) (Object, error) {
	if err := checkSize(width, height); err != nil {
		return Object{}, err
	}
	if _, err := Size(file); err != nil {
		return Object{}, err
	}
	source, err := decode(file)
	if err != nil {
		return Object{}, err
	}
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	draw.ApproxBiLinear.Scale(img, img.Rect, source, source.Bounds(), draw.Src, nil)
	return Encode(img, f)
}

// decode decodes an image, or the first frame of an animation.
func decode(file []byte) (image.Image, error) {
	kind, _ := ClassImage.Detect(file)
	switch r := bytes.NewReader(file); kind {
	case "image/png":
		return png.Decode(r)
	case "image/jpeg":
		return jpeg.Decode(r)
	case "image/gif":
		return gif.Decode(r)
	case "image/webp":
		return webp.Decode(r)
	}
	return nil, fmt.Errorf("holds %s, not an image (%s)", kind, ClassImage.Accepted())
}

// Package media generates images, audio and video for multimodal requests, scales images,
// and detects media types. The program ffmpeg encodes videos. Equal parameters and an
// equal random source give equal bytes.
package media

import "math/rand/v2"

// Object is one encoded image or clip.
type Object struct {
	Type string // media type, for example "image/png"
	Data []byte
}

// fill writes random bytes, eight at a time.
func fill(b []byte, random *rand.Rand) {
	for len(b) >= 8 {
		w := random.Uint64()
		for i := range 8 {
			b[i] = byte(w >> (8 * i))
		}
		b = b[8:]
	}
	if len(b) > 0 {
		w := random.Uint64()
		for i := range b {
			b[i] = byte(w >> (8 * i))
		}
	}
}

package media

import (
	"math/rand/v2"
	"testing"
)

// FuzzResized: no image file crashes, and the result has the requested size.
func FuzzResized(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, format := range []ImageFormat{PNG, JPEG} {
		o, err := Image(9, 7, Noise, format, random)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(o.Data)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		size, err := Size(file)
		if err != nil || size.X*size.Y > 1<<20 {
			return
		}
		o, err := Resized(file, 5, 4, PNG)
		if err != nil {
			return
		}
		if got, err := Size(o.Data); err != nil || got.X != 5 || got.Y != 4 {
			t.Errorf("%v, %v; want 5 x 4", got, err)
		}
	})
}

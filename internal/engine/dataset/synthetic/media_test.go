package synthetic

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/random"
)

// Items are made when they are needed. Those beyond the bound of memory repeat earlier
// ones.
func TestMediaPool(t *testing.T) {
	made := make([]int, 20)
	size := func(int) int { return 100 }
	s := newMediaPool(4, 3, 2, 7*(100+256), size, func(k int) (bench.Media, error) {
		made[k]++
		return bench.Media{Data: fmt.Append(nil, k)}, nil
	})
	take := func(i, k int) (out string) {
		media, err := s.take(i, k)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range media {
			out += string(m.Data) + " "
		}
		return out
	}
	if w := s.warnings("images", ""); len(s.items) != 7 || len(w) != 0 {
		t.Fatalf("%d items, warnings %q; want 7 and none", len(s.items), w)
	}
	for _, tt := range []struct {
		entry, turn int
		want        string
	}{{0, 0, "0 1 "}, {0, 1, "2 3 "}, {0, 0, "0 1 "}, {1, 1, "1 2 "}, {3, 2, "1 2 "}} {
		if got := take(tt.entry, tt.turn); got != tt.want {
			t.Errorf("entry %d, turn %d: items %s, want %s", tt.entry, tt.turn, got, tt.want)
		}
	}
	if diff := cmp.Diff([]int{1, 1, 1, 1, 0, 0, 0}, made[:7]); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
	warnings := s.warnings("images", "")
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "7 distinct generated images are sent in turn, because more do not fit") {
		t.Errorf("warnings = %q", warnings)
	}
	s.bytes.Store(4 << 20)
	if warnings = s.warnings("images", "; advice"); len(warnings) != 2 ||
		warnings[1] != "a request carries 2.0 MiB of generated images on average, a third more in base64: the network may be measured and not the model; advice" {
		t.Errorf("warnings = %q", warnings)
	}
	for _, turns := range []int{0, 1} {
		if one := newMediaPool(1, turns, 1, 1, size, nil); len(one.items) != 1 {
			t.Errorf("%d items, want one at least", len(one.items))
		}
	}
}

// The planned size of an image or clip is at least nearly its real size.
func TestMediaSizes(t *testing.T) {
	images := Images{BatchSize: 1, Width: random.Fixed(300), Height: random.Fixed(200)}
	for _, images.Format = range []string{"png", "jpeg"} {
		for _, images.Source = range []string{"noise", "noise-smooth"} {
			p := &imageGenerator{Images: images, seed: 1}
			m, err := p.produce(0)
			if planned := p.size(0); err != nil || len(m.Data) > planned*105/100 {
				t.Errorf("%s %s: %d bytes, planned %d: %v", images.Source, images.Format, len(m.Data), planned, err)
			}
		}
	}
	length := random.Fixed((300 * time.Millisecond).Seconds())
	c := &audioGenerator{Audio: Audio{BatchSize: 1, Length: length, Depths: []int{16}, SampleRates: []int{16_000}, Channels: 1}, seed: 1}
	m, err := c.produce(0)
	if planned := c.size(0); err != nil || len(m.Data)-planned > 64 || planned > len(m.Data) {
		t.Errorf("audio: %d bytes, planned %d: %v", len(m.Data), planned, err)
	}
}

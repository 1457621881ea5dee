package synthetic

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/media"
)

// maxMadeBytes bounds the memory of all generated images and audio clips of a
// dataset. Datasets that need more repeat them.
const maxMadeBytes = 256 << 20

// manyBytes is the mean number of media bytes per request above which a warning is
// due: the network may be measured and not the model.
const manyBytes = 1 << 20

// Images describes generated images.
type Images struct {
	BatchSize     int         // images of one turn; 0 = none
	Width, Height random.Dist // pixels
	Format        string
	Source        string   // noise, noise-smooth or files
	Files         []string // source files: names for Open, not empty
	Sampling      string   // source files: random-with-replacement, shuffle-cycle or sequential-cycle
	// Open opens one of Files; safe for concurrent use.
	Open func(name string) (io.ReadCloser, error)
}

// Audio describes generated audio clips: noise in WAV files.
type Audio struct {
	BatchSize   int         // clips of one turn; 0 = none
	Length      random.Dist // seconds; shorter than 0.01 is drawn again
	Depths      []int       // bits per sample, one is drawn
	SampleRates []int       // Hz, one is drawn
	Channels    int         // 1 or 2
}

// ImageFormats lists how generated images are encoded.
func ImageFormats() []string { return []string{"jpeg", "png", "random"} }

// check returns all problems of the options.
func (o *Images) check() error {
	if o.BatchSize == 0 {
		return nil
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.BatchSize < 0 || o.BatchSize > maxBatch {
		bad("image batch size %d: must be from 0 to %d", o.BatchSize, maxBatch)
	}
	if !o.Width.Given() || !o.Height.Given() {
		bad("width or height of images is missing")
	}
	if !slices.Contains(ImageFormats(), o.Format) {
		bad("image format %q; accepted: %s", o.Format, strings.Join(ImageFormats(), ", "))
	}
	switch {
	case o.Source == "files" && (len(o.Files) == 0 || o.Open == nil):
		bad("no files to take images from")
	case o.Source == "files" && fileOrder(o.Sampling) == nil:
		bad("image sampling %q; accepted: random-with-replacement, shuffle-cycle, sequential-cycle", o.Sampling)
	case o.Source != "files" && o.Source != "noise" && o.Source != "noise-smooth":
		bad("image source %q; accepted: noise, noise-smooth, files", o.Source)
	}
	return errors.Join(errs...)
}

// check returns all problems of the options.
func (o *Audio) check() error {
	if o.BatchSize == 0 {
		return nil
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.BatchSize < 0 || o.BatchSize > maxBatch {
		bad("audio batch size %d: must be from 0 to %d", o.BatchSize, maxBatch)
	}
	if !o.Length.Given() {
		bad("length of audio is missing")
	}
	if len(o.Depths) == 0 || len(o.SampleRates) == 0 {
		bad("audio needs at least one depth and one sample rate")
	}
	return errors.Join(errs...)
}

// mediaPool generates the images or audio clips of turns when they are needed, and
// keeps them. It is safe for concurrent use.
type mediaPool struct {
	items   []item
	turns   int // of an entry that have items of their own
	batch   int // items of one turn
	produce func(k int) (bench.Media, error)
	limit   string       // why there are not more items
	again   atomic.Bool  // items have been repeated
	made    atomic.Int64 // items
	bytes   atomic.Int64 // of them
}

// item is one image or clip.
type item struct {
	once  sync.Once
	media bench.Media
	err   error
}

// newMediaPool returns a pool of as many items as may be needed and fit into the bound
// of memory, at least one. size returns how many bytes item k will take. turns is the
// number of turns of an entry if it is the same for all, else 0.
func newMediaPool(entries, turns, batch, bound int, size func(k int) int, produce func(k int) (bench.Media, error)) *mediaPool {
	const (
		overhead = 256     // of the object around the bytes
		most     = 1 << 16 // items
	)
	if turns == 0 {
		turns = 16
	}
	n, total := 0, 0
	for n < most && n < entries*turns*batch {
		if total += size(n) + overhead; total > bound && n > 0 {
			break
		}
		n++
	}
	limit := fmt.Sprintf("more do not fit into %d MiB of memory", maxMadeBytes>>20)
	return &mediaPool{items: make([]item, n), turns: turns, batch: batch, produce: produce, limit: limit}
}

// take returns the items of turn k of entry i. If not all fit into memory, items
// repeat.
func (s *mediaPool) take(i, k int) ([]bench.Media, error) {
	if s == nil {
		return nil, nil
	}
	out := make([]bench.Media, s.batch)
	for j := range out {
		at := (i*s.turns+k)*s.batch + j
		if at >= len(s.items) {
			s.again.Store(true)
		}
		var err error
		if out[j], err = s.item(at % len(s.items)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// item returns item k, which is generated if it was not needed before.
func (s *mediaPool) item(k int) (bench.Media, error) {
	it := &s.items[k]
	it.once.Do(func() {
		it.media, it.err = s.produce(k)
		s.made.Add(1)
		s.bytes.Add(int64(len(it.media.Data)))
	})
	return it.media, it.err
}

// warnings returns the warnings about a pool of images or audio clips.
func (s *mediaPool) warnings(things, advice string) []string {
	if s == nil || s.made.Load() == 0 {
		return nil
	}
	var out []string
	if s.again.Load() {
		out = append(out, fmt.Sprintf(
			"%d distinct generated %s are sent in turn, because %s: "+
				"a server that caches them answers faster than it would", len(s.items), things, s.limit))
	}
	if mean := s.bytes.Load() / s.made.Load() * int64(s.batch); mean > manyBytes {
		out = append(out, fmt.Sprintf(
			"a request carries %.1f MiB of generated %s on average, a third more in base64: the network may be measured and not the model%s",
			float64(mean)/(1<<20), things, advice))
	}
	return out
}

// imageSize holds the random properties of an image that is not yet generated.
type imageSize struct {
	width, height int
	format        media.ImageFormat
}

// imageGenerator generates images; image k depends only on the seed and k.
type imageGenerator struct {
	Images
	seed  bench.Seed
	order func(k, n int, seed bench.Seed) int // source files
}

func (p *imageGenerator) draw(k int) imageSize {
	r := p.seed.Index(bench.StreamImageSize, k)
	pic := imageSize{width: p.Width.DrawInt(r), height: p.Height.DrawInt(r)}
	switch p.Format {
	case "jpeg":
		pic.format = media.JPEG
	case "random":
		if bench.Below(p.seed.Index(bench.StreamImageFormat, k), 2) == 1 {
			pic.format = media.JPEG
		}
	}
	return pic
}

func (p *imageGenerator) size(k int) int {
	pic := p.draw(k)
	if pic.width > media.MaxSide || pic.height > media.MaxSide {
		return 0 // produce refuses it
	}
	return media.Bytes(pic.width, pic.height, pic.format)
}

func (p *imageGenerator) produce(k int) (bench.Media, error) {
	pic := p.draw(k)
	var made media.Object
	var err error
	if p.Source == "files" {
		name := p.Files[p.order(k, len(p.Files), p.seed)]
		var data []byte
		if data, err = file.ReadAll(p.Open, name); err == nil {
			made, err = media.Resized(data, pic.width, pic.height, pic.format)
		}
		if err != nil {
			err = fmt.Errorf("image %s: %w", name, err)
		}
	} else {
		pattern := media.Noise
		if p.Source == "noise-smooth" {
			pattern = media.SmoothNoise
		}
		made, err = media.Image(pic.width, pic.height, pattern, pic.format, p.seed.Index(bench.StreamImageNoise, k))
	}
	return bench.Media{MIME: made.Type, Data: made.Data}, err
}

// fileOrder returns the function that chooses one of n files for image k; nil = there
// is no sampling of that name.
func fileOrder(sampling string) func(k, n int, seed bench.Seed) int {
	switch sampling {
	case "random-with-replacement":
		return func(k, n int, seed bench.Seed) int { return bench.Below(seed.Index(bench.StreamImageSource, k), n) }
	case "shuffle-cycle":
		return func(k, n int, seed bench.Seed) int { return seed.Index(bench.StreamImageSource, k/n).Perm(n)[k%n] }
	case "sequential-cycle":
		return func(k, n int, _ bench.Seed) int { return k % n }
	}
	return nil
}

// audioGenerator generates clips; clip k depends only on the seed and k.
type audioGenerator struct {
	Audio
	seed bench.Seed
}

func (s *audioGenerator) draw(k int) media.Clip {
	r := s.seed.Index(bench.StreamAudioFormat, k)
	clip := media.Clip{
		SampleRate: s.SampleRates[bench.Below(r, len(s.SampleRates))], Depth: s.Depths[bench.Below(r, len(s.Depths))], Channels: s.Channels,
	}
	length := s.seed.Index(bench.StreamAudioDuration, k)
	for range random.MaxRejects {
		seconds := min(s.Length.Draw(length), media.MaxClip.Seconds()+1)
		clip.Length = time.Duration(math.Round(seconds * float64(time.Second)))
		if clip.Length >= media.MinClip {
			return clip
		}
	}
	clip.Length = media.MinClip
	return clip
}

func (s *audioGenerator) size(k int) int {
	c := s.draw(k)
	return int(c.Length.Seconds()*float64(c.SampleRate)) * c.Channels * c.Depth / 8
}

func (s *audioGenerator) produce(k int) (bench.Media, error) {
	c := s.draw(k)
	made, err := media.Audio(c, s.seed.Index(bench.StreamAudioData, k))
	return bench.Media{MIME: made.Type, Data: made.Data}, err
}

package dataset

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/dataset/synthetic"
	"aiperfd/internal/engine/tokenizer"
)

// withMedia returns options for small images and clips.
func withMedia(t testing.TB) Options {
	o := basic()
	o.Synthetic.ISL = random.Fixed(5)
	o.Synthetic.Images = synthetic.Images{
		BatchSize: 1, Width: normal(t, 30, 8), Height: random.Fixed(12), Format: "random", Source: "noise",
	}
	o.Synthetic.Audio = synthetic.Audio{
		BatchSize: 1, Length: normal(t, 0.05, 0.02), Depths: []int{8, 16}, SampleRates: []int{8000, 16000}, Channels: 1,
	}
	return o
}

func TestSyntheticMedia(t *testing.T) {
	o := withMedia(t)
	o.Entries = 60
	o.Synthetic.Turns, o.Synthetic.Images.BatchSize = normal(t, 2, 1), 2
	s := mustOpen(t, "synthetic", o)
	formats, widths, seen := map[string]int{}, map[int]int{}, map[string]bool{}
	depths, lengths := map[byte]int{}, 0.0
	audios := 0
	turns(s, func(where string, _ *bench.Conversation, _ int, turn bench.Turn) {
		if len(turn.Images) != 2 || len(turn.Audios) != 1 || len(turn.Texts) != 1 || turn.InputTokens != 5 {
			t.Fatalf("%s: %d images, %d audios, %d texts of %d tokens", where, len(turn.Images), len(turn.Audios), len(turn.Texts), turn.InputTokens)
		}
		for _, m := range turn.Images {
			got, format, err := image.DecodeConfig(bytes.NewReader(m.Data))
			if err != nil || m.MIME != "image/"+format || got.Height != 12 {
				t.Fatalf("%s: %s %s %+v: %v", where, m.MIME, format, got, err)
			}
			formats[format]++
			widths[got.Width]++
			if seen[string(m.Data)] {
				t.Errorf("%s: an image occurs twice", where)
			}
			seen[string(m.Data)] = true
		}
		clip := turn.Audios[0]
		if clip.MIME != "audio/wav" || seen[string(clip.Data)] {
			t.Errorf("%s: audio %s, seen before: %v", where, clip.MIME, seen[string(clip.Data)])
		}
		seen[string(clip.Data)] = true
		depths[clip.Data[34]]++
		little := binary.LittleEndian
		lengths += float64(little.Uint32(clip.Data[40:])) / float64(little.Uint32(clip.Data[28:]))
		audios++
	})
	if formats["png"] < 60 || formats["jpeg"] < 60 || len(widths) < 10 {
		t.Errorf("formats %v and %d widths, want both formats and many widths", formats, len(widths))
	}
	if len(depths) != 2 || depths[8] < 20 || depths[16] < 20 {
		t.Errorf("depths %v, want 8 and 16 about as often", depths)
	}
	if mean := lengths / float64(audios); math.Abs(mean-0.05) > 0.01 {
		t.Errorf("mean length = %v s, want about 0.05", mean)
	}
	if w := s.Describe().Warnings; len(w) != 0 {
		t.Errorf("warnings %q, want none", w)
	}
}

func TestSyntheticMediaSeeds(t *testing.T) {
	o := withMedia(t)
	o.Synthetic.Turns = normal(t, 2, 1)
	a := mustOpen(t, "synthetic", o)
	old := runtime.GOMAXPROCS(1)
	b := mustOpen(t, "synthetic", o)
	runtime.GOMAXPROCS(old)
	if a.Hash() != b.Hash() {
		t.Errorf("one processor gives hash %s, %d give %s", b.Hash(), old, a.Hash())
	}
	more := o
	more.Entries += 5
	if diff := cmp.Diff(a.At(7), mustOpen(t, "synthetic", more).At(7)); diff != "" {
		t.Errorf("another number of entries changes entry 7:\n%s", diff)
	}
	plain := o
	plain.Synthetic.Images.BatchSize, plain.Synthetic.Audio.BatchSize = 0, 0
	if diff := cmp.Diff(a.At(7).Turns[0].Texts, mustOpen(t, "synthetic", plain).At(7).Turns[0].Texts); diff != "" {
		t.Errorf("media change the text:\n%s", diff)
	}
	// Part of what users compare across machines: a change must be deliberate.
	if want := "8d2ec533fbda574f6f371af93ac27b840f13d1165ed49c527c28f04081f73ad5"; a.Hash() != want {
		t.Errorf("hash = %s, want %s", a.Hash(), want)
	}
}

// Each option must change the dataset.
func TestSyntheticMediaOptionsMatter(t *testing.T) {
	set := map[string]func(*synthetic.Spec){
		"no images":    func(s *synthetic.Spec) { s.Images.BatchSize = 0 },
		"more images":  func(s *synthetic.Spec) { s.Images.BatchSize = 2 },
		"width":        func(s *synthetic.Spec) { s.Images.Width = random.Fixed(31) },
		"height":       func(s *synthetic.Spec) { s.Images.Height = random.Fixed(13) },
		"png":          func(s *synthetic.Spec) { s.Images.Format = "png" },
		"jpeg":         func(s *synthetic.Spec) { s.Images.Format = "jpeg" },
		"source":       func(s *synthetic.Spec) { s.Images.Source = "noise-smooth" },
		"no audio":     func(s *synthetic.Spec) { s.Audio.BatchSize = 0 },
		"more audio":   func(s *synthetic.Spec) { s.Audio.BatchSize = 2 },
		"length":       func(s *synthetic.Spec) { s.Audio.Length = random.Fixed(0.02) },
		"depths":       func(s *synthetic.Spec) { s.Audio.Depths = []int{24} },
		"sample rates": func(s *synthetic.Spec) { s.Audio.SampleRates = []int{11025} },
		"channels":     func(s *synthetic.Spec) { s.Audio.Channels = 2 },
		"rankings": func(s *synthetic.Spec) {
			s.Rankings = synthetic.Rankings{Passages: random.Fixed(2), PassageTokens: random.Fixed(4), QueryTokens: random.Fixed(3)}
		},
		"passages": func(s *synthetic.Spec) {
			s.Rankings = synthetic.Rankings{Passages: random.Fixed(3), PassageTokens: random.Fixed(4), QueryTokens: random.Fixed(3)}
		},
		"passage": func(s *synthetic.Spec) {
			s.Rankings = synthetic.Rankings{Passages: random.Fixed(2), PassageTokens: random.Fixed(5), QueryTokens: random.Fixed(3)}
		},
		"query": func(s *synthetic.Spec) {
			s.Rankings = synthetic.Rankings{Passages: random.Fixed(2), PassageTokens: random.Fixed(4), QueryTokens: random.Fixed(4)}
		},
	}
	seen := map[string]string{mustOpen(t, "synthetic", withMedia(t)).Hash(): "nothing"}
	for name, change := range set {
		o := withMedia(t)
		change(&o.Synthetic)
		hash := mustOpen(t, "synthetic", o).Hash()
		if other, ok := seen[hash]; ok {
			t.Errorf("changing %s gives the same dataset as changing %s", name, other)
		}
		seen[hash] = name
	}
}

func TestSyntheticMediaRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*synthetic.Spec)
		want   string
	}{
		{"batch", func(s *synthetic.Spec) { s.Images.BatchSize = -1 }, "image batch size -1: must be from 0 to 10000"},
		{"no width", func(s *synthetic.Spec) { s.Images.Width = random.Dist{} }, "width or height of images is missing"},
		{"format", func(s *synthetic.Spec) { s.Images.Format = "gif" }, `image format "gif"; accepted: jpeg, png, random`},
		{"source", func(s *synthetic.Spec) { s.Images.Source = "x" }, `image source "x"; accepted: noise, noise-smooth, files`},
		{"no files", func(s *synthetic.Spec) { s.Images.Source = "files" }, "no files to take images from"},
		{"sampling", func(s *synthetic.Spec) { s.Images = ofFiles(t, "x", "a.png") }, `image sampling "x"; accepted: random-with-replacement, shuffle-cycle, sequential-cycle`},
		{"no images", func(s *synthetic.Spec) { s.Images = ofFiles(t, "shuffle-cycle", "notes.png", "none.png") },
			"none of 2 files is a readable image: notes.png holds text/plain, not an image (PNG, JPEG, GIF or WebP); none.png open none.png: file does not exist"},
		{"broken image", func(s *synthetic.Spec) { s.Images = ofFiles(t, "shuffle-cycle", "cut.png") }, "make images: image cut.png: "},
		{"huge image", func(s *synthetic.Spec) { s.Images.Width = random.Fixed(20000) }, "make images: image of 20000 × 12 pixels"},
		{"audio batch", func(s *synthetic.Spec) { s.Audio.BatchSize = 10_001 }, "audio batch size 10001: must be from 0 to 10000"},
		{"no length", func(s *synthetic.Spec) { s.Audio.Length = random.Dist{} }, "length of audio is missing"},
		{"no depth", func(s *synthetic.Spec) { s.Audio.Depths = nil }, "audio needs at least one depth and one sample rate"},
		{"depth", func(s *synthetic.Spec) { s.Audio.Depths = []int{12} }, "make audio: clip with 12 bits per sample"},
		{"long clip", func(s *synthetic.Spec) { s.Audio.Length = random.Fixed(1e6) }, "make audio: clip of "},
		{"rankings", func(s *synthetic.Spec) { s.Rankings.Passages = random.Fixed(3) }, "rankings: passage tokens are missing"},
		{"passages", func(s *synthetic.Spec) {
			s.Rankings = synthetic.Rankings{Passages: random.Fixed(20_000), PassageTokens: random.Fixed(1), QueryTokens: random.Fixed(1)}
		}, "turn 0: 20000 passages: at most 10000 are accepted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := withMedia(t)
			tt.change(&o.Synthetic)
			s, err := openAll(t.Context(), "synthetic", o)
			if s != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

// colours returns the source files of images, each of one colour.
func colours(t testing.TB) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{"notes.png": {Data: []byte("not an image")}}
	for i, name := range []string{"a.png", "b.png", "c.png"} {
		img := image.NewGray(image.Rect(0, 0, 40, 20))
		for k := range img.Pix {
			img.Pix[k] = uint8(100 * i)
		}
		var out bytes.Buffer
		if err := png.Encode(&out, img); err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: out.Bytes()}
	}
	files["cut.png"] = &fstest.MapFile{Data: files["a.png"].Data[:60]}
	return files
}

func opener(files fs.FS) func(string) (io.ReadCloser, error) {
	return func(name string) (io.ReadCloser, error) { return files.Open(name) }
}

func ofFiles(t testing.TB, sampling string, names ...string) synthetic.Images {
	return synthetic.Images{
		BatchSize: 1, Width: random.Fixed(7), Height: random.Fixed(9), Format: "png", Source: "files",
		Files: names, Open: opener(colours(t)), Sampling: sampling,
	}
}

func TestImagesOfFiles(t *testing.T) {
	drawn := func(sampling string) string {
		o := basic()
		o.Entries, o.Synthetic.ISL = 12, random.Fixed(3)
		o.Synthetic.Images = ofFiles(t, sampling, "a.png", "notes.png", "b.png", "c.png")
		s := mustOpen(t, "synthetic", o)
		if w := s.Describe().Warnings; len(w) != 1 || !strings.HasPrefix(w[0], "1 of 4 files are ignored because they are not readable images: notes.png holds text/plain") {
			t.Errorf("warnings = %q", w)
		}
		var order strings.Builder
		turns(s, func(where string, _ *bench.Conversation, _ int, turn bench.Turn) {
			img, err := png.Decode(bytes.NewReader(turn.Images[0].Data))
			if err != nil || img.Bounds().Size() != image.Pt(7, 9) {
				t.Fatalf("%s: %v: %v", where, img.Bounds(), err)
			}
			grey := color.GrayModel.Convert(img.At(3, 3)).(color.Gray).Y
			order.WriteByte("abc"[grey/100])
		})
		return order.String()
	}
	if got := drawn("sequential-cycle"); got != "abcabcabcabc" {
		t.Errorf("sequential-cycle = %s", got)
	}
	shuffled := drawn("shuffle-cycle")
	for i := 0; i < 12; i += 3 {
		for _, c := range "abc" {
			if !strings.ContainsRune(shuffled[i:i+3], c) {
				t.Errorf("shuffle-cycle = %s: a cycle without %c", shuffled, c)
			}
		}
	}
	if random := drawn("random-with-replacement"); shuffled == "abcabcabcabc" || random == shuffled {
		t.Errorf("shuffle-cycle = %s, random-with-replacement = %s", shuffled, random)
	}
}

func TestSyntheticRankings(t *testing.T) {
	tok := tokenizer.Builtin()
	o := basic()
	o.Entries = 100
	o.Synthetic.Rankings = synthetic.Rankings{Passages: normal(t, 5, 2), PassageTokens: normal(t, 20, 5), QueryTokens: random.Fixed(8)}
	s := mustOpen(t, "synthetic", o)
	queries, passages, tokens := map[string]bool{}, 0, 0
	turns(s, func(where string, _ *bench.Conversation, _ int, turn bench.Turn) {
		if len(turn.Texts) != 0 || len(turn.Named) != 2 || turn.Named[0].Name != "query" || turn.Named[1].Name != "passages" || len(turn.Named[0].Texts) != 1 {
			t.Fatalf("%s: %+v", where, turn)
		}
		query := turn.Named[0].Texts[0]
		if n := tok.Count(query); n != 8 || queries[query] {
			t.Errorf("%s: query of %d tokens, seen before: %v", where, n, queries[query])
		}
		queries[query] = true
		sum := 8
		for _, p := range turn.Named[1].Texts {
			n := tok.Count(p)
			sum, tokens, passages = sum+n, tokens+n, passages+1
		}
		if int(turn.InputTokens) != sum {
			t.Errorf("%s: InputTokens = %d, want %d", where, turn.InputTokens, sum)
		}
	})
	if mean := float64(passages) / 100; math.Abs(mean-5) > 0.7 {
		t.Errorf("%v passages a request, want about 5", mean)
	}
	if mean := float64(tokens) / float64(passages); math.Abs(mean-20) > 1 {
		t.Errorf("%v tokens a passage, want about 20", mean)
	}
}

func BenchmarkSyntheticImages(b *testing.B) {
	o := basic()
	o.Entries = 100
	o.Synthetic.Images = synthetic.Images{BatchSize: 1, Width: random.Fixed(512), Height: random.Fixed(512), Format: "jpeg", Source: "noise"}
	b.ReportAllocs()
	for b.Loop() {
		mustOpen(b, "synthetic", o)
	}
}

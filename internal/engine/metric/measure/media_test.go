package measure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

// mediaRecord is a success that took 200 ms from its start at 1 s.
func mediaRecord(kinds ...bench.ChunkKind) *bench.Record {
	r := &bench.Record{
		Stamps: bench.Stamps{Due: 1000 * ms, Permit: 1000 * ms, Start: 1000 * ms, Headers: 1010 * ms, End: 1210 * ms},
		Status: 200, Answer: bench.Answer{Streamed: true, FirstEvent: 1020 * ms},
	}
	gap := 100 * ms / time.Duration(len(kinds)-1)
	for i, k := range kinds {
		r.Answer.Chunks = append(r.Answer.Chunks, bench.Chunk{At: 1100*ms + time.Duration(i)*gap, Kind: k, Bytes: 10, Read: int32(i)})
	}
	return r
}

func TestMediaValues(t *testing.T) {
	speech := mediaRecord(bench.Audio, bench.Audio, bench.Audio)
	speech.Answer.AudioLength = 3 * time.Second
	rec := mediaRecord(bench.Text, bench.Text)
	rec.Content.AudioLength, rec.Content.Images = 4*time.Second, 5
	rec.Answer.AudioLength = time.Second
	rec.Answer.Usage = &bench.Usage{AudioIn: new(bench.Tokens(7)), AudioOut: new(bench.Tokens(8)), ImageIn: new(bench.Tokens(9)), AudioSeconds: new(float64)}
	*rec.Answer.Usage.AudioSeconds = 4.5
	failed := mediaRecord(bench.Audio, bench.Audio)
	failed.Content.AudioLength, failed.Content.Images = time.Second, 1
	failed.Answer.Failure = &bench.Failure{Class: bench.StreamTruncated}
	for _, tt := range []struct {
		name string
		r    *bench.Record
		caps bench.Caps
		want map[string]float64
	}{
		{"speech", speech, bench.Caps{TokenizesInput: true, ProducesAudio: true}, map[string]float64{
			"rtfx": 15, "audio_duration": 3, "time_to_first_token": 100, "inter_token_stall": 50,
		}},
		{"images from images", func() *bench.Record {
			r := mediaRecord(bench.ImagePartial, bench.ImagePartial, bench.ImagePartial, bench.Image, bench.Image)
			r.Content.Images = 4
			return r
		}(), bench.Caps{Images: true, ProducesImages: true}, map[string]float64{
			"num_images": 4, "image_throughput": 20, "image_latency": 50,
			"time_to_first_image": 100, "generated_images": 2, "generated_image_latency": 100,
		}},
		{"chat with all of it", rec, bench.Caps{ProducesTokens: true, Images: true, Audio: true}, map[string]float64{
			"rtfx": 20, "audio_duration": 4, "num_images": 5, "image_throughput": 25, "image_latency": 40,
			"time_to_first_token": 100, "inter_token_stall": 100, "usage_prompt_audio_tokens": 7, "usage_completion_audio_tokens": 8,
			"usage_prompt_image_tokens": 9, "usage_prompt_audio_seconds": 4.5,
		}},
		{"nothing of it", rec, bench.Caps{}, map[string]float64{}},
		{"a failure", failed, bench.Caps{Audio: true, ProducesAudio: true}, map[string]float64{}},
		{"no media", mediaRecord(bench.Text, bench.Text), bench.Caps{Images: true, Audio: true, ProducesImages: true}, map[string]float64{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := recordValues(tt.r, Options{Streaming: true, Caps: tt.caps, ServerTokens: true})
			known := make(map[string]float64)
			for _, tag := range []string{
				"rtfx", "image_throughput", "image_latency", "audio_duration", "num_images",
				"time_to_first_image", "generated_images", "generated_image_latency",
				"time_to_first_token", "inter_token_stall", "usage_prompt_audio_tokens", "usage_completion_audio_tokens",
				"usage_prompt_image_tokens", "usage_prompt_audio_seconds",
			} {
				if v, ok := got[tag]; ok {
					known[tag] = v
				}
			}
			if diff := cmp.Diff(tt.want, known, approx); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGeneratedImageThroughput(t *testing.T) {
	s, err := NewSet(Options{Streaming: true, Caps: bench.Caps{ProducesImages: true}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.Observe(mediaRecord(bench.ImagePartial, bench.Image, bench.Image))
	}
	m := s.Final(2*time.Second, bench.PhaseStats{Start: time.Second}).Find("generated_image_throughput")
	if m == nil {
		t.Fatal("no generated_image_throughput")
	}
	if got, _ := m.Get(metric.Avg); got != 3 {
		t.Errorf("6 images in 2 s are %v images/sec, want 3", got)
	}
}

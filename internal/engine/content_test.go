package engine_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/media"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/run"
)

// bodyRecorder records the bodies that a server receives, in order.
type bodyRecorder struct{ bodies []string }

func (h *bodyRecorder) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if r.Method == http.MethodPost { // requests for the list of models have no body
			h.bodies = append(h.bodies, string(body))
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// payloads are the bodies in inputs.json, without blanks.
func (b *bed) payloads(id string) []string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.store.Dir(id), "inputs.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	var file struct {
		Data []struct{ Payloads []json.RawMessage }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, conversation := range file.Data {
		for _, p := range conversation.Payloads {
			var body bytes.Buffer
			if err := json.Compact(&body, p); err != nil {
				b.t.Fatal(err)
			}
			out = append(out, body.String())
		}
	}
	return out
}

// Media of a file are sent as the API documents them, and inputs.json and raw records
// have exactly the bodies that were sent.
func TestMediaOfFiles(t *testing.T) {
	dir := t.TempDir()
	var img bytes.Buffer
	if err := png.Encode(&img, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	clip, err := media.Audio(media.Clip{Length: 10 * time.Millisecond, SampleRate: 8000, Depth: 8, Channels: 1}, bench.Seed(1).Rand("x"))
	if err != nil {
		t.Fatal(err)
	}
	shot, audio := base64.StdEncoding.EncodeToString(img.Bytes()), base64.StdEncoding.EncodeToString(clip.Data)
	records := `{"text": "one", "image": "shots/a.png", "output_length": 3}
{"text": "two", "images": ["https://h/x.png", "data:image/png;base64,` + shot + `"], "audio": "wav,` + audio + `", "video": "https://h/v.mp4", "output_length": 3}
{"audio": "` + filepath.Join(dir, "shots", "b.wav") + `", "output_length": 3}
`
	for name, data := range map[string][]byte{"shots/a.png": img.Bytes(), "shots/b.wav": clip.Data, "in.jsonl": []byte(records)} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	body := func(content string) string {
		return `{"model":"m","messages":[{"role":"user","content":[` + content + `]}],"stream":true,"max_completion_tokens":3,"stream_options":{"include_usage":true}}`
	}
	imagePart := `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + shot + `"}}`
	audioPart := `{"type":"input_audio","input_audio":{"data":"` + audio + `","format":"wav"}}`
	want := []string{
		body(`{"type":"text","text":"one"},` + imagePart),
		body(`{"type":"text","text":"two"},{"type":"image_url","image_url":{"url":"https://h/x.png"}},` + imagePart + "," + audioPart + `,{"type":"video_url","video_url":{"url":"https://h/v.mp4"}}`),
		body(audioPart),
	}
	synctest.Test(t, func(t *testing.T) {
		var h bodyRecorder
		b := newBed(t, timing(t, 100*time.Millisecond, 10*time.Millisecond), h.wrap)
		r := b.run(document("type: concurrency, concurrency: 1, requests: 3",
			fmt.Sprintf("  dataset: {type: file, path: %q}\n  artifacts: {level: raw}", filepath.Join(dir, "in.jsonl"))))
		if r.State != bench.StateCompleted || b.value(r.ID, "request_count", "avg") != 3 {
			t.Errorf("run = %s, %+v", r.State, r.Error)
		}
		if diff := cmp.Diff(want, h.bodies); diff != "" {
			t.Errorf("bodies (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(h.bodies, b.payloads(r.ID)); diff != "" {
			t.Errorf("inputs.json (-sent +shown):\n%s", diff)
		}
		raw, err := os.ReadFile(filepath.Join(b.store.Dir(r.ID), "profile_export_raw.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, sent := range h.bodies {
			if !strings.Contains(string(raw), `"payload":`+sent) {
				t.Errorf("raw records lack %s", sent)
			}
		}
		b.stop()
	})
}

// Generated images and audio: the client counts only the text, the server counts all
// parts, and a repeated seed sends the same bytes.
func TestGeneratedMedia(t *testing.T) {
	run := func(t *testing.T, seed int) (bodies []string) {
		synctest.Test(t, func(t *testing.T) {
			var h bodyRecorder
			b := newBed(t, timing(t, 100*time.Millisecond, 10*time.Millisecond), h.wrap)
			r := b.run(strings.Replace(document("type: concurrency, concurrency: 1, requests: 4", fmt.Sprintf(`
  dataset: {entries: 4, randomSeed: %d, prompts: {isl: 12, osl: 3}, images: {width: 8, height: 6, batchSize: 2}, audio: {length: 0.02}}
  tokenizer: {name: builtin}`, seed)), "useServerTokenCount: true", "useServerTokenCount: false", 1))
			if r.State != bench.StateCompleted || b.value(r.ID, "request_count", "avg") != 4 {
				t.Errorf("run = %s, %+v", r.State, r.Error)
			}
			// The simulated server counts 256 for each of three parts, and text
			// nearly as the client does.
			told := b.value(r.ID, "usage_prompt_tokens", "avg")
			if told < 12+3*256-4 || told > 12+3*256+4 {
				t.Errorf("usage_prompt_tokens = %v, want about %d", told, 12+3*256)
			}
			if got, want := b.value(r.ID, "usage_prompt_tokens_diff_pct", "avg"), (told-12)/12*100; math.Abs(got-want) > 0.01 {
				t.Errorf("usage_prompt_tokens_diff_pct = %v, want %v: the client counts 12 tokens of text", got, want)
			}
			bodies = h.bodies
			b.stop()
		})
		return bodies
	}
	bodies := run(t, 1)
	for i, body := range bodies {
		if n := strings.Count(body, `{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,/9j/`); n != 2 {
			t.Errorf("body %d has %d images, want 2", i, n)
		}
		if n := strings.Count(body, `{"type":"input_audio","input_audio":{"data":"UklGR`); n != 1 || !strings.Contains(body, `"format":"wav"`) {
			t.Errorf("body %d has %d audio clips, want 1", i, n)
		}
	}
	if diff := cmp.Diff(bodies, run(t, 1)); diff != "" || len(bodies) != 4 {
		t.Errorf("the same seed sends %d other bodies:\n%s", len(bodies), diff)
	}
	if other := run(t, 2); len(other) != 4 || other[0] == bodies[0] {
		t.Error("another seed sends the same body")
	}
}

func TestMediaNeedAnEndpointThatTakesThem(t *testing.T) {
	d, _, err := config.Load([]byte(`benchmark: {model: m, endpoint: {type: completions}, dataset: {images: {width: 8}, audio: {length: 1}}, phases: {requests: 200}}`), config.LoadOptions{Choices: plan.Choices()})
	if err != nil {
		t.Fatal(err)
	}
	const want = "benchmark/datasets/0/images: the endpoint type completions takes no images\n" +
		"benchmark/datasets/0/audio: the endpoint type completions takes no audio"
	if _, err = plan.Compile(d); err == nil || err.Error() != want {
		t.Errorf("Compile: %v\nwant:    %s", err, want)
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 100*time.Millisecond, 10*time.Millisecond), nil)
		r := b.run(strings.Replace(document("type: concurrency, concurrency: 1, requests: 2",
			`  dataset: {type: file, records: [{text: one}, {text: two, images: ["http://h/a.png"], image_uuids: [a]}]}`), "type: chat", "type: messages", 1))
		if r.State != bench.StateFailed || r.Error == nil || !strings.Contains(r.Error.Message, "turn 0 of conversation session_000001 has image_uuids; the endpoint type messages takes none") {
			t.Errorf("%s: %+v", r.State, r.Error)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 100*time.Millisecond, 10*time.Millisecond), nil)
		r := b.run(strings.Replace(document("type: concurrency, concurrency: 1, requests: 2",
			`  dataset: {type: file, records: [{text: one}, {text: two, image: "http://h/a.png"}]}`), "type: chat", "type: completions", 1))
		if r.State != bench.StateFailed || r.Error == nil || r.Error.Code != run.DatasetFailed ||
			!strings.Contains(r.Error.Message, "turn 0 of conversation session_000001 has images; the endpoint type completions takes none") {
			t.Errorf("run = %s, %+v", r.State, r.Error)
		}
		b.stop()
	})
}

// In a daemon, records name only files under its data directories.
func TestMediaOfUntrustedDocuments(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	var img bytes.Buffer
	if err := png.Encode(&img, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		filepath.Join(root, "set", "a.png"): img.String(), filepath.Join(outside, "b.png"): img.String(),
		filepath.Join(root, "set", "in.jsonl"): `{"text": "one", "image": "a.png"}`,
	}
	for path, data := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(data), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "b.png"), filepath.Join(root, "set", "link.png")); err != nil {
		t.Fatal(err)
	}
	records := func(path string) string { return fmt.Sprintf(`records: [{text: one, image: %q}]`, path) }
	tests := []struct {
		name, data string
		roots      []string
		want       string // part of the error; empty = it is read
	}{
		{"beside the file", "path: set/in.jsonl", []string{root}, ""},
		{"under the root", records("set/a.png"), []string{root}, ""},
		{"absolute", records(filepath.Join(root, "set", "a.png")), []string{root}, ""},
		{"outside", records(filepath.Join(outside, "b.png")), []string{root}, "permission denied"},
		{"dots", records("../" + filepath.Base(outside) + "/b.png"), []string{root}, "permission denied"},
		{"link", records("set/link.png"), []string{root}, "path escapes from parent"},
		{"folder", records("set"), []string{root}, "not a regular file"},
		{"no roots", records(filepath.Join(outside, "b.png")), nil, "permission denied"},
		{"missing", records("set/none.png"), []string{root}, "nor a file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, _, err := config.Load([]byte("benchmark: {model: m, endpoint: {useServerTokenCount: true}, dataset: {type: file, "+tt.data+"}, phases: {requests: 200}}"),
				config.LoadOptions{Choices: plan.Choices(), Untrusted: true, DataRoots: tt.roots})
			if err != nil {
				t.Fatal(err)
			}
			plan, err := plan.Compile(d)
			if err != nil {
				t.Fatal(err)
			}
			source, err := plan.Dataset.Kind.Open(t.Context(), plan.Dataset.Options)
			switch {
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error = %v, want one with %q", err, tt.want)
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want == "":
				entry, err := source.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				c, err := entry.Make()
				if err != nil {
					t.Fatal(err)
				}
				if got := c.Turns[0].Images; len(got) != 1 || !bytes.Equal(got[0].Data, img.Bytes()) {
					t.Errorf("images = %+v", got)
				}
			}
		})
	}
}

// The options of media reach the dataset in its units.
func TestMediaInThePlan(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.JPG", "a.png", "notes.txt", "c.webp"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan := func(dataset string) (*plan.Plan, error) {
		d, _, err := config.Load([]byte("benchmark: {model: m, dataset: {"+dataset+"}, phases: {requests: 200}}"), config.LoadOptions{Choices: plan.Choices()})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Compile(d)
	}
	p, err := plan(fmt.Sprintf("images: {source: %q, sourceSampling: shuffle-cycle}, audio: {sampleRates: [8, 44.1, 22050], depths: [24]}", dir))
	if err != nil {
		t.Fatal(err)
	}
	images, audio := p.Dataset.Options.Synthetic.Images, p.Dataset.Options.Synthetic.Audio
	if diff := cmp.Diff([]string{filepath.Join(dir, "a.png"), filepath.Join(dir, "b.JPG"), filepath.Join(dir, "c.webp")}, images.Files); diff != "" ||
		images.Source != "files" || images.Sampling != "shuffle-cycle" || images.BatchSize != 1 || images.Format != "jpeg" || images.Width.Draw(nil) != 512 {
		t.Errorf("images = %+v\n%s", images, diff)
	}
	if diff := cmp.Diff([]int{8000, 44100, 22050}, audio.SampleRates); diff != "" || audio.BatchSize != 1 || audio.Length.Draw(nil) != 10 || audio.Channels != 1 {
		t.Errorf("audio = %+v\n%s", audio, diff)
	}
	if p, err = plan("images: {source: assets, batchSize: 3}, audio: {batchSize: 0, length: 4}"); err != nil {
		t.Fatal(err)
	}
	if s := p.Dataset.Options.Synthetic; s.Images.Source != "noise-smooth" || s.Images.BatchSize != 3 || s.Audio.BatchSize != 0 {
		t.Errorf("images = %+v, audio = %+v", s.Images, s.Audio)
	}
	if _, err = plan(fmt.Sprintf("images: {source: %q}", t.TempDir())); err == nil || !strings.Contains(err.Error(), "there is no PNG, JPEG, GIF or WebP file in ") {
		t.Errorf("error = %v", err)
	}
}

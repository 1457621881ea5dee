package dataset

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/media"
)

// some are objects of every class.
type some struct {
	png, jpeg, wav []byte
	mp3, mp4       []byte
}

func objects(t testing.TB) some {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var s some
	for f, to := range map[media.ImageFormat]*[]byte{media.PNG: &s.png, media.JPEG: &s.jpeg} {
		o, err := media.Image(8, 8, media.Noise, f, r)
		if err != nil {
			t.Fatal(err)
		}
		*to = o.Data
	}
	o, err := media.Audio(media.Clip{Length: 20 * time.Millisecond, SampleRate: 8000, Depth: 16, Channels: 1}, r)
	if err != nil {
		t.Fatal(err)
	}
	s.wav = o.Data
	s.mp3 = append([]byte("\xff\xfb\x90\x00"), make([]byte, 64)...)
	s.mp4 = append([]byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"), make([]byte, 32)...)
	return s
}

// folder holds the objects as files.
func folder(s some) func(string) (io.ReadCloser, error) {
	files := fstest.MapFS{
		"shots/a.png": {Data: s.png}, "b.jpg": {Data: s.jpeg}, "c.wav": {Data: s.wav}, "d.mp3": {Data: s.mp3}, "e.mp4": {Data: s.mp4},
		"notes.txt": {Data: []byte("just text")}, "empty.png": {},
	}
	return func(name string) (io.ReadCloser, error) {
		if name == "secret" {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
		}
		return files.Open(name)
	}
}

// lines are records, one per line.
func lines(t testing.TB, records ...any) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, r := range records {
		if err := e.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// With StripImages, an image that an earlier turn of the conversation has sent is sent by its key alone.
func TestStripImages(t *testing.T) {
	type object = map[string]any
	s := objects(t)
	o := fromText(lines(t,
		object{"session_id": "s", "images": []string{"http://h/a.png", "http://h/a.png", "shots/a.png"}, "image_uuids": []string{"a", "a", "file"}},
		object{"session_id": "s", "images": []string{"http://h/a.png", "http://h/b.png", "shots/a.png"}, "image_uuids": []string{"a", "b", "file"}},
		object{"session_id": "other", "images": []string{"http://h/a.png"}, "image_uuids": []string{"a"}},
		object{"session_id": "keyless", "image": "http://h/c.png"},
		object{"session_id": "keyless", "image": "http://h/c.png"},
		object{"image": "http://h/c.png"},
	))
	o.Open, o.StripImages = folder(s), true
	url := func(name string) bench.Media { return bench.Media{URL: "http://h/" + name + ".png", UUID: name} }
	const c = "328c420bbd9685142d1137dea7d6aae3" // of the SHA-256 of the URL
	want := [][]bench.Media{
		{url("a"), url("a"), {MIME: "image/png", Data: s.png, UUID: "file"}},
		{{UUID: "a"}, url("b"), {MIME: "image/png", UUID: "file"}},
		{url("a")}, {{URL: "http://h/c.png", UUID: c}}, {{UUID: c}}, {{URL: "http://h/c.png", UUID: c}},
	}
	var got [][]bench.Media
	turns(mustOpen(t, "single_turn", o), func(_ string, _ *bench.Conversation, _ int, turn bench.Turn) { got = append(got, turn.Images) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
}

func TestSingleTurnMedia(t *testing.T) {
	type object = map[string]any
	s := objects(t)
	b64 := base64.StdEncoding.EncodeToString
	o := fromText(lines(t,
		object{"text": "one", "image": "shots/a.png"},
		object{"text": "two", "images": []any{"https://h.example/x.png?y=1", "data:image/jpeg;base64," + b64(s.jpeg), b64(s.png)}},
		object{"text": "three", "image": object{"name": "mask", "contents": []string{"shots/a.png"}}, "audio": "c.wav", "video": "e.mp4"},
		object{"audios": []string{"wav," + b64(s.wav), "d.mp3", "data:audio/x-odd;base64,AAEC/w=="}},
		// The bytes override the type in the data URI.
		object{"text": "five", "images": []string{"data:image/png;base64," + b64(s.jpeg)}, "videos": "http://h/v.webm"},
		object{"images": []string{"shots/a.png", "http://h/a.png"}, "image_uuids": []string{"k1", "k2"}},
		object{"text": "seven", "image_uuids": []string{"k1"}},
	))
	o.Open = folder(s)
	source := mustOpen(t, "single_turn", o)
	png, jpeg := bench.Media{MIME: "image/png", Data: s.png}, bench.Media{MIME: "image/jpeg", Data: s.jpeg}
	wav := bench.Media{MIME: "audio/wav", Data: s.wav}
	mask := png
	mask.Name = "mask"
	want := []bench.Turn{
		{Texts: []string{"one"}, Images: []bench.Media{png}},
		{Texts: []string{"two"}, Images: []bench.Media{{URL: "https://h.example/x.png?y=1"}, jpeg, png}},
		{Texts: []string{"three"}, Images: []bench.Media{mask}, Audios: []bench.Media{wav}, Videos: []bench.Media{{MIME: "video/mp4", Data: s.mp4}}},
		{Audios: []bench.Media{wav, {MIME: "audio/mpeg", Data: s.mp3}, {MIME: "audio/x-odd", Data: []byte{0, 1, 2, 0xff}}}},
		{Texts: []string{"five"}, Images: []bench.Media{jpeg}, Videos: []bench.Media{{URL: "http://h/v.webm"}}},
		{Images: []bench.Media{{MIME: "image/png", Data: s.png, UUID: "k1"}, {URL: "http://h/a.png", UUID: "k2"}}},
		{Texts: []string{"seven"}, Images: []bench.Media{{UUID: "k1"}}},
	}
	var got []bench.Turn
	turns(source, func(_ string, _ *bench.Conversation, _ int, turn bench.Turn) { got = append(got, turn) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
	if mustOpen(t, "single_turn", fromText(lines(t, object{"text": "one"}))).Hash() == source.Hash() {
		t.Error("the media are not in the hash")
	}
	keyed := func(key string) string {
		return mustOpen(t, "single_turn", fromText(lines(t, object{"text": "one", "image_uuids": []string{key}}))).Hash()
	}
	if keyed("a") == keyed("b") {
		t.Error("the keys of images are not in the hash")
	}
}

func TestSingleTurnMediaProblems(t *testing.T) {
	s := objects(t)
	wav := base64.StdEncoding.EncodeToString(s.wav)
	tests := []struct{ record, want string }{
		{`{"text": "a", "image": ""}`, `image: must not be empty`},
		{`{"text": "a", "image": 3}`, `image: must be a string, {name, contents}, or a list of either, not 3`},
		{`{"text": "a", "images": []}`, `images: the list is empty`},
		{`{"text": "a", "images": [{"contents": "x"}]}`, `images: item 0: contents: must be a list of strings, not "x"`},
		{`{"text": "a", "images": [{"name": "x"}]}`, `images: item 0: contents is missing`},
		{`{"text": "a", "images": [{"name": 1, "contents": ["x"]}]}`, `images: item 0: name: must be a string, not 1`},
		{`{"text": "a", "images": [{"nam": "x", "contents": ["x"]}]}`, `images: item 0: unknown member "nam"; accepted: name, contents`},
		{`{"text": "a", "image": "b.jpg", "images": ["b.jpg"]}`, `images: image and images are both given; use one of them`},
		{`{"text": "a", "image": "none.png"}`, `image: "none.png" is neither a URL, a data URI, base64-encoded image (PNG, JPEG, GIF or WebP) nor a file`},
		{`{"text": "a", "image": "secret"}`, `image: file "secret": permission denied`},
		{`{"text": "a", "image": "notes.txt"}`, `image: file "notes.txt" holds text/plain; accepted for image: PNG, JPEG, GIF or WebP`},
		{`{"text": "a", "image": "c.wav"}`, `image: file "c.wav" holds audio/wav; accepted for image: PNG, JPEG, GIF or WebP`},
		{`{"text": "a", "image": "empty.png"}`, `image: file "empty.png" holds text/plain; accepted for image: PNG, JPEG, GIF or WebP`},
		{`{"text": "a", "images": ["b.jpg", "https://"]}`, `images: item 1: https:// is not a URL that a server can fetch`},
		{`{"text": "a", "audio": "b.jpg"}`, `audio: file "b.jpg" holds image/jpeg; accepted for audio: WAV, MP3, FLAC, Ogg, AAC, MP4 or WebM`},
		{`{"text": "a", "video": "c.wav"}`, `video: file "c.wav" holds audio/wav; accepted for video: MP4, WebM, QuickTime, Matroska, AVI, MPEG or Ogg`},
		{`{"text": "a", "audio": "wav,%%"}`, `audio: %% is not base64: illegal base64 data at input byte 0`},
		{`{"text": "a", "audio": "wav,"}`, `audio: must not be empty`},
		{`{"text": "a", "image": "data:image/png,abc"}`, `image: a data URI must be data:TYPE;base64,DATA`},
		{`{"text": "a", "image": "data:image/png;base64,??"}`, `image: ?? is not base64: illegal base64 data at input byte 0`},
		{`{"text": "a", "image": "data:image/png;base64,` + wav + `"}`, `image: the data URI holds audio/wav; accepted for image: PNG, JPEG, GIF or WebP`},
		{`{"text": "a", "image": "data:audio/x;base64,AAEC/w=="}`, `image: the data URI holds application/octet-stream; accepted for image: PNG, JPEG, GIF or WebP`},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			o := fromText("{\"text\": \"fine\"}\n" + tt.record + "\n")
			o.Open = folder(s)
			_, err := Open(t.Context(), "single_turn", o)
			var wrong *file.Error
			if !errors.As(err, &wrong) {
				t.Fatalf("error = %v, want a file.Error", err)
			}
			if diff := cmp.Diff([]file.Problem{{Where: "chats.jsonl:2", Message: tt.want}}, wrong.Problems); diff != "" {
				t.Errorf("problems of %s (-want +got):\n%s", tt.record, diff)
			}
		})
	}
	_, err := Open(t.Context(), "single_turn", fromText(`{"text": "a", "image": "b.jpg", "audio": "c.wav"}`))
	const want = `open dataset in/chats.jsonl: chats.jsonl:1: image: "b.jpg" is neither a URL, a data URI nor base64-encoded image, and reading files is not allowed here
chats.jsonl:1: audio: "c.wav" is neither a URL, a data URI nor base64-encoded audio, and reading files is not allowed here`
	if err == nil || err.Error() != want {
		t.Errorf("error = %v\nwant    %s", err, want)
	}
}

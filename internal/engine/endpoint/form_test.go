package endpoint

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/codec"
)

// checkForm encodes a request of a kind and checks that it is the form of these
// lines: B stands for the boundary.
func checkForm(t *testing.T, kind string, r Request, lines ...string) {
	t.Helper()
	k, ok := Lookup(kind)
	if !ok {
		t.Fatalf("Lookup(%q) found nothing", kind)
	}
	r.Model = "M"
	got, err := k.Body([]byte("before"), &r)
	if err != nil {
		t.Fatal(err)
	}
	want := "before" + strings.ReplaceAll(strings.Join(lines, "\r\n")+"\r\n", "--B", "--aiperfd-form-5d0c9e3a7b41f286")
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("form (-want +got):\n%s", diff)
	}
	if k.ContentType != "multipart/form-data; boundary=aiperfd-form-5d0c9e3a7b41f286" {
		t.Errorf("content type %q", k.ContentType)
	}
}

func recording(mime, data string) []bench.Media {
	return []bench.Media{{MIME: mime, Data: []byte(data)}}
}

func TestEncodeAudioTranscription(t *testing.T) {
	field := func(name, value string) []string {
		return []string{"--B", `Content-Disposition: form-data; name="` + name + `"`, "", value}
	}
	file := func(filename, mime, data string) []string {
		return []string{"--B", `Content-Disposition: form-data; name="file"; filename="` + filename + `"`, "Content-Type: " + mime, "", data}
	}
	concat := func(parts ...[]string) []string {
		var out []string
		for _, p := range parts {
			out = append(out, p...)
		}
		return append(out, "--B--")
	}
	for _, tt := range []struct {
		name string
		req  Request
		want []string
	}{
		{
			"minimal", Request{Turn: bench.Turn{Texts: []string{"not sent"}, Audios: recording("audio/wav", "RIFF\r\n\x00\xff")}, Settings: &Settings{StreamUsage: true}},
			concat(file("audio.wav", "audio/wav", "RIFF\r\n\x00\xff"), field("model", "M")),
		},
		{
			"streaming", Request{Turn: bench.Turn{Audios: recording("audio/mpeg", "x")}, Settings: streaming()},
			concat(file("audio.mp3", "audio/mpeg", "x"), field("model", "M"), field("stream", "true"), field("stream_include_usage", "true")),
		},
		{
			"usage on every chunk, length, model of the turn",
			Request{
				Turn:     bench.Turn{Model: "T", MaxTokens: 9, Audios: recording("audio/flac", "x")},
				Settings: &Settings{Streaming: true, StreamUsage: true, PerChunkUsage: true},
			},
			concat(file("audio.flac", "audio/flac", "x"), field("model", "T"), field("max_completion_tokens", "9"), field("stream", "true"),
				field("stream_include_usage", "true"), field("stream_continuous_usage_stats", "true")),
		},
		{
			"no usage", Request{Turn: bench.Turn{Audios: recording("audio/ogg", "x")}, Settings: &Settings{Streaming: true}},
			concat(file("audio.ogg", "audio/ogg", "x"), field("model", "M"), field("stream", "true")),
		},
		{
			"every type of extra input",
			Request{
				Turn: bench.Turn{Audios: recording("audio/x-wav", "x"), ExtraBody: []byte(`{"temperature":0.25}`)},
				Settings: withExtra(t, &Settings{}, `{"language":"en","temperature":0,"timestamp_granularities":["word","segment"],"include[]":["logprobs"],`+
					`"chunking_strategy":{"type":"server_vad"},"use_beam_search":false,"seed":12345678901234567890,"prompt":"a \"b\" é\n<c>",`+
					`"nothing":null,"file":"ignored","na\"me\r\n":1}`),
			},
			concat(file("audio.wav", "audio/wav", "x"), field("model", "M"), field("language", "en"), field("temperature", "0.25"),
				field("timestamp_granularities[]", "word"), field("timestamp_granularities[]", "segment"), field("include[]", "logprobs"),
				field("chunking_strategy", `{"type":"server_vad"}`), field("use_beam_search", "false"), field("seed", "12345678901234567890"),
				field("prompt", "a \"b\" é\n<c>"), field("na%22me%0D%0A", "1")),
		},
		{
			"the user decides about the stream",
			Request{Turn: bench.Turn{Audios: recording("audio/wav", "x")}, Settings: withExtra(t, streaming(), `{"stream":false,"model":"X"}`)},
			concat(file("audio.wav", "audio/wav", "x"), field("model", "X"), field("stream", "false")),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkForm(t, "audio_transcription", tt.req, tt.want...)
			checkForm(t, "Audio-Translation", tt.req, tt.want...)
		})
	}
}

const pngStart = "\x89PNG\r\n\x1a\n"

func TestEncodeImageEdit(t *testing.T) {
	png, jpeg := bench.Media{MIME: "image/png", Data: []byte(pngStart)}, bench.Media{Data: []byte("\xff\xd8\xff\xe0")}
	head := []string{
		"--B", `Content-Disposition: form-data; name="prompt"`, "", "make it blue",
		"--B", `Content-Disposition: form-data; name="model"`, "", "M",
		"--B", `Content-Disposition: form-data; name="response_format"`, "", "b64_json",
		"--B", `Content-Disposition: form-data; name="n"`, "",
	}
	t.Run("one image", func(t *testing.T) {
		checkForm(t, "image_edit", Request{
			Turn: bench.Turn{Texts: []string{"make it", "blue"}, Images: []bench.Media{png}}, Settings: &Settings{},
		}, append(head, "1",
			"--B", `Content-Disposition: form-data; name="image"; filename="image.png"`, "Content-Type: image/png", "", pngStart, "--B--")...)
	})
	t.Run("several images, mask, address, stream, reserved fields", func(t *testing.T) {
		mask := png
		mask.Name = "mask"
		checkForm(t, "image_edit", Request{
			Turn: bench.Turn{Texts: []string{"make it blue"}, Images: []bench.Media{mask, png, {URL: "http://h/a.png"}, jpeg}},
			Settings: withExtra(t, streaming(),
				`{"n":2,"size":"64x64","prompt":"x","image":"x","image[]":["x"],"url":"x","mask":"x"}`),
		}, append(head, "2",
			"--B", `Content-Disposition: form-data; name="stream"`, "", "true",
			"--B", `Content-Disposition: form-data; name="size"`, "", "64x64",
			"--B", `Content-Disposition: form-data; name="image[]"; filename="image.png"`, "Content-Type: image/png", "", pngStart,
			"--B", `Content-Disposition: form-data; name="url"`, "", "http://h/a.png",
			"--B", `Content-Disposition: form-data; name="image[]"; filename="image.jpg"`, "Content-Type: image/jpeg", "", "\xff\xd8\xff\xe0",
			"--B", `Content-Disposition: form-data; name="mask"; filename="mask.png"`, "Content-Type: image/png", "", pngStart, "--B--")...)
	})
}

func TestEncodeImageGeneration(t *testing.T) {
	r := Request{Turn: user("a \"cat\"", "<b>"), Settings: &Settings{StreamUsage: true}}
	checkEncode(t, "image_generation", r, `{"model":"M","prompt":"a \"cat\" <b>","n":1,"response_format":"b64_json"}`)
	r = Request{Turn: user("a"), Settings: withExtra(t, streaming(), `{"size":"256x256","n":2,"partial_images":3}`)}
	r.Turn.ExtraBody = []byte(`{"quality":"low"}`)
	checkEncode(t, "image_generation", r,
		`{"model":"M","prompt":"a","n":2,"response_format":"b64_json","stream":true,"size":"256x256","partial_images":3,"quality":"low"}`)
	r = Request{Turn: bench.Turn{Model: "gpt-image-1", Texts: []string{"a"}}, Settings: &Settings{}}
	checkEncode(t, "image_generation", r, `{"model":"gpt-image-1","prompt":"a","n":1}`)
	r.Settings = withExtra(t, &Settings{}, `{"response_format":"b64_json"}`)
	checkEncode(t, "image_generation", r, `{"model":"gpt-image-1","prompt":"a","n":1,"response_format":"b64_json"}`)
}

func TestEncodeAudioSpeech(t *testing.T) {
	r := Request{Turn: user("Hello", "there"), Settings: streaming()}
	checkEncode(t, "audio_speech", r, `{"model":"M","input":"Hello there","voice":"alloy","response_format":"wav"}`)
	r = Request{Turn: user("Hi"), Settings: withExtra(t, streaming(), `{"voice":"nova","stream_format":"sse","speed":1.5}`)}
	checkEncode(t, "TTS", r, `{"model":"M","input":"Hi","voice":"nova","response_format":"wav","stream_format":"sse","speed":1.5}`)
}

func TestFormErrors(t *testing.T) {
	for _, tt := range []struct {
		name, kind string
		turn       bench.Turn
		want       string
	}{
		{"no audio", "audio_transcription", user("x"), "exactly one audio clip, the turn has 0"},
		{"two clips", "audio_transcription", bench.Turn{Audios: append(recording("audio/wav", "a"), recording("audio/wav", "b")...)}, "the turn has 2"},
		{"an address", "audio_translation", bench.Turn{Audios: []bench.Media{{URL: "http://h/a.wav"}}}, "http://h/a.wav"},
		{"an image where audio is required", "audio_transcription", bench.Turn{Images: recording("image/png", "a")}, "takes no images"},
		{"no image", "image_edit", user("x"), "at least one image"},
		{"only a mask", "image_edit", bench.Turn{Images: []bench.Media{{Name: "mask", Data: []byte(pngStart)}}}, "at least one image"},
		{"unknown image", "image_edit", bench.Turn{Images: recording("application/pdf", "%PDF")}, `image of type "application/pdf"`},
		{"the address of a mask", "image_edit", bench.Turn{Images: []bench.Media{
			{MIME: "image/png", Data: []byte("x")}, {Name: "mask", URL: "http://h/m.png"},
		}}, "mask of an edit"},
		{"the formBoundary in a file", "audio_transcription", bench.Turn{Audios: recording("audio/wav", "x--"+formBoundary)}, `part "file"`},
	} {
		k, _ := Lookup(tt.kind)
		_, err := k.Body(nil, &Request{Turn: tt.turn, Settings: &Settings{}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one about %q", tt.name, err, tt.want)
		}
	}
}

// FuzzForm checks that any form can be read back by the standard library.
func FuzzForm(f *testing.F) {
	f.Add("name", "value", []byte("data"))
	f.Add("\x00", "0", []byte("0"))
	f.Add("a\"b\r\n", "--"+formBoundary, []byte("\r\n--"+formBoundary+"--\r\n"))
	f.Fuzz(func(t *testing.T, name, value string, data []byte) {
		w := codec.Form{}
		w.Text(name, value)
		w.File("file", "audio.wav", "audio/wav", data)
		body, err := w.End()
		if err != nil {
			if !strings.Contains(value, formBoundary) && !bytes.Contains(data, []byte(formBoundary)) {
				t.Fatalf("no formBoundary in the parts, yet: %v", err)
			}
			return
		}
		_, params, err := mime.ParseMediaType(codec.FormType)
		if err != nil {
			t.Fatal(err)
		}
		r := multipart.NewReader(bytes.NewReader(body), params["boundary"])
		for _, want := range [][]byte{[]byte(value), data} {
			p, err := r.NextPart()
			if err != nil {
				t.Fatalf("%q: %v", body, err)
			}
			got, err := io.ReadAll(p)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("part = %q, %v; want %q", got, err, want)
			}
		}
		if _, err := r.NextPart(); err != io.EOF {
			t.Errorf("after the last part: %v", err)
		}
	})
}

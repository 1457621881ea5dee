package mock

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/media"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// formOf returns a form and its content type: pairs of field and value; a field
// that begins with @ is a file.
func formOf(t testing.TB, pairs ...string) (body, contentType string) {
	t.Helper()
	var b strings.Builder
	w := multipart.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		var part io.Writer
		var err error
		if name, ok := strings.CutPrefix(pairs[i], "@"); ok {
			part, err = w.CreateFormFile(name, "file.bin")
		} else {
			part, err = w.CreateFormField(pairs[i])
		}
		if err == nil {
			_, err = io.WriteString(part, pairs[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

// wavOf returns a WAV file of 8-bit samples, 1000 per second.
func wavOf(length time.Duration) string {
	samples := int(length / time.Millisecond)
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	b = binary.LittleEndian.AppendUint32(b, 1000)
	b = binary.LittleEndian.AppendUint32(b, 1000)
	b = append(b, "\x01\x00\x08\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(samples))
	return string(append(b, make([]byte, samples)...))
}

const transcriptionPath = "/v1/audio/transcriptions"

func TestTranscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{TTFT: random.ConstDelay(100 * time.Millisecond), ITL: random.ConstDelay(10 * time.Millisecond)})
		// 4.8 s are 12 words.
		ask := func(pairs ...string) reply {
			body, kind := formOf(t, append([]string{"@file", wavOf(4800 * time.Millisecond), "model", "whisper-1"}, pairs...)...)
			return r.post(transcriptionPath, body, "Content-Type", kind)
		}
		var got struct {
			Text     string
			Task     string
			Language string
			Duration float64
			Segments []struct {
				Start, End    float64
				Text, Speaker string
			}
			Words []struct{ Word string }
			Usage map[string]any
		}
		read := func(a reply) {
			t.Helper()
			got.Segments, got.Words, got.Usage, got.Task = nil, nil, nil, ""
			if a.status != 200 || a.header.Get("Content-Type") != "application/json" {
				t.Fatalf("answer %d %s %s", a.status, a.header, a.body)
			}
			if err := json.Unmarshal([]byte(a.body), &got); err != nil {
				t.Fatalf("%s: %v", a.body, err)
			}
		}
		first := ask()
		read(first)
		if first.at != 210*time.Millisecond {
			t.Errorf("answer after %v, want 210ms: 12 tokens", first.at)
		}
		text := got.Text
		if diff := cmp.Diff(map[string]any{"type": "duration", "seconds": 5.0}, got.Usage); diff != "" || text == "" {
			t.Errorf("text %q, usage (-want +got):\n%s", text, diff)
		}
		read(ask("response_format", "verbose_json", "timestamp_granularities[]", "word", "timestamp_granularities[]", "segment"))
		if got.Text != text || got.Task != "transcribe" || got.Language != "english" || got.Duration != 4.8 || len(got.Words) != 12 ||
			len(got.Segments) != 2 || got.Segments[1].Start != 4 || got.Segments[0].Text+got.Segments[1].Text != text {
			t.Errorf("verbose = %+v", got)
		}
		read(ask("response_format", "diarized_json", "model", "gpt-4o-transcribe"))
		if len(got.Segments) != 2 || got.Segments[0].Speaker != "A" || got.Segments[1].Speaker != "B" || got.Usage["output_tokens"] != 12.0 || got.Usage["input_tokens"] != 48.0 {
			t.Errorf("diarised = %+v", got)
		}
		read(ask("max_completion_tokens", "3"))
		if len(got.Text) >= len(text) || !strings.HasPrefix(text, got.Text) || r.lastTruth().FinishReason != "length" {
			t.Errorf("three words = %q, of %q", got.Text, text)
		}
		if a := ask("response_format", "text"); a.body != text+"\n" || a.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("text = %q", a.body)
		}
		srt := ask("response_format", "srt").body
		if !strings.HasPrefix(srt, "1\n00:00:00,000 --> 00:00:04,000\n") || !strings.Contains(srt, "\n\n2\n00:00:04,000 --> 00:00:04,800\n") {
			t.Errorf("srt = %q", srt)
		}
		if vtt := ask("response_format", "vtt").body; !strings.HasPrefix(vtt, "WEBVTT\n\n00:00:00.000 --> 00:00:04.000\n") {
			t.Errorf("vtt = %q", vtt)
		}
		r.stop()
	})
}

func TestTranscriptionStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{TTFT: random.ConstDelay(100 * time.Millisecond), ITL: random.ConstDelay(10 * time.Millisecond), Seed: 1})
		ask := func(path string, pairs ...string) []string {
			body, kind := formOf(t, append([]string{"@file", wavOf(800 * time.Millisecond), "stream", "true"}, pairs...)...)
			a := r.post(path, body, "Content-Type", kind)
			if a.status != 200 || a.header.Get("Content-Type") != api.EventStream {
				t.Fatalf("answer %d %s", a.status, a.body)
			}
			return strings.Split(strings.TrimSuffix(a.body, "\n\n"), "\n\n")
		}
		got := ask("/v1/audio/translations", "model", "m", "stream_include_usage", "true")
		if len(got) != 4 || !strings.Contains(got[0], `"object":"translation.chunk"`) || !strings.Contains(got[0], `"choices":[{"delta":{"content":"`) ||
			strings.Contains(got[0], "finish_reason") || !strings.HasSuffix(got[1], `"},"finish_reason":"stop","stop_reason":null}]}`) ||
			!strings.HasSuffix(got[2], `"choices":[],"usage":{"prompt_tokens":8,"total_tokens":10,"completion_tokens":2}}`) || got[3] != "data: [DONE]" {
			t.Errorf("vLLM's stream:\n%s", strings.Join(got, "\n"))
		}
		if got := ask(transcriptionPath, "model", "m"); len(got) != 3 {
			t.Errorf("without usage:\n%s", strings.Join(got, "\n"))
		}
		got = ask(transcriptionPath, "model", "gpt-4o-transcribe", "response_format", "diarized_json")
		if len(got) != 4 || !strings.HasPrefix(got[0], `data: {"type":"transcript.text.delta","delta":"`) ||
			!strings.HasPrefix(got[2], `data: {"type":"transcript.text.segment","id":"seg_0","start":0.000,"end":0.800,"speaker":"A","text":"`) ||
			!strings.HasPrefix(got[3], `data: {"type":"transcript.text.done","text":"`) || !strings.HasSuffix(got[3], `"output_tokens":2,"total_tokens":10}}`) {
			t.Errorf("OpenAI's stream:\n%s", strings.Join(got, "\n"))
		}
		r.stop()
	})
}

func TestSpeech(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{TTFT: random.ConstDelay(100 * time.Millisecond), ITL: random.ConstDelay(10 * time.Millisecond), Comments: time.Millisecond})
		const path, words = "/v1/audio/speech", `{"model":"tts","input":"one two  three","voice":"alloy"`
		resp, err := r.send(t.Context(), path, words+`}`)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		begin, sizes := time.Now(), []int{}
		var whole []byte
		var at []time.Duration
		for buf := make([]byte, 1<<20); ; {
			n, err := resp.Body.Read(buf)
			if n > 0 {
				whole, sizes, at = append(whole, buf[:n]...), append(sizes, n), append(at, time.Since(begin))
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		total := 0
		for _, n := range sizes {
			total += n
		}
		if sizes[0] != 44 || at[0] != 0 || total != 44+3*media.WordSize || at[len(at)-1] != 120*time.Millisecond {
			t.Errorf("reads of %v bytes at %v", sizes, at)
		}
		if got := media.AudioSeconds(whole); got != 1.2 || resp.Header.Get("Content-Type") != "audio/wav" {
			t.Errorf("sound of %v s, type %s", got, resp.Header)
		}
		a := r.post(path, words+`,"stream":false}`)
		if a.body != string(whole) {
			t.Errorf("in one piece %d bytes, want the same %d", len(a.body), len(whole))
		}
		a = r.post(path, words+`,"response_format":"pcm"}`)
		if a.body != string(whole[44:]) || a.header.Get("Content-Type") != "audio/pcm" {
			t.Errorf("pcm: %d bytes of %s", len(a.body), a.header.Get("Content-Type"))
		}
		r.stop()
	})
}

func TestSpeechEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Fast: true})
		a := r.post("/v1/audio/speech", `{"model":"tts","input":"one two","stream_format":"sse"}`)
		events := strings.Split(strings.TrimSuffix(a.body, "\n\n"), "\n\n")
		if len(events) != 3 || a.header.Get("Content-Type") != api.EventStream {
			t.Fatalf("%d events: %.300s", len(events), a.body)
		}
		var whole []byte
		for _, e := range events[:2] {
			var got struct{ Type, Audio string }
			if err := json.Unmarshal([]byte(strings.TrimPrefix(e, "data: ")), &got); err != nil || got.Type != "speech.audio.delta" {
				t.Fatalf("event %.100s: %v", e, err)
			}
			part, err := base64.StdEncoding.DecodeString(got.Audio)
			if err != nil {
				t.Fatal(err)
			}
			whole = append(whole, part...)
		}
		if len(whole) != 44+2*media.WordSize || media.AudioSeconds(whole) != 0.8 {
			t.Errorf("%d bytes of sound, %v s", len(whole), media.AudioSeconds(whole))
		}
		if !strings.HasPrefix(events[2], `data: {"type":"speech.audio.done","usage":{"input_tokens":`) {
			t.Errorf("last event %s", events[2])
		}
		r.stop()
	})
}

func TestImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{TTFT: random.ConstDelay(100 * time.Millisecond), ITL: random.ConstDelay(10 * time.Millisecond)})
		const path = "/v1/images/generations"
		var got struct {
			Data []struct {
				B64 string `json:"b64_json"`
				URL string
			}
			Size  string
			Usage struct {
				Output int `json:"output_tokens"`
			}
		}
		a := r.post(path, `{"model":"m","prompt":"a cat","n":2,"size":"1024x32","response_format":"b64_json"}`)
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || len(got.Data) != 2 || got.Size != "64x32" || got.Usage.Output != 512 {
			t.Fatalf("%s: %v", a.body, err)
		}
		if a.at != 100*time.Millisecond {
			t.Errorf("answer after %v, want 100ms", a.at)
		}
		first, err := base64.StdEncoding.DecodeString(got.Data[0].B64)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := png.DecodeConfig(bytes.NewReader(first)); err != nil || c.Width != 64 || c.Height != 32 {
			t.Errorf("picture %+v: %v", c, err)
		}
		if got.Data[0].B64 == got.Data[1].B64 {
			t.Error("both pictures are the same")
		}
		got.Data = nil
		a = r.post(path, `{"model":"m","prompt":"a cat","size":"1024x32","response_format":"url"}`)
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || len(got.Data) != 1 {
			t.Fatalf("%s: %v", a.body, err)
		}
		file := r.get(strings.TrimPrefix(got.Data[0].URL, r.base))
		if file.body != string(first) || file.header.Get("Content-Type") != "image/png" {
			t.Errorf("%s is %d %s, not the picture", got.Data[0].URL, file.status, file.header)
		}
		for _, name := range []string{"x", "00000000-0x1.png", "00000000-65x1.png", "00000000-1x1.pngx"} {
			if a := r.get("/mock/files/" + name); a.status != http.StatusNotFound {
				t.Errorf("file %s: %d", name, a.status)
			}
		}
		lines, err := r.stream(path, `{"model":"m","prompt":"a cat","size":"1024x32","stream":true,"partial_images":2}`)
		if err != nil || len(lines) != 6 {
			t.Fatalf("%d lines, %v", len(lines), err)
		}
		for i, want := range []string{"partial_image", "partial_image", "completed"} {
			name, data := lines[2*i], lines[2*i+1]
			if name.text != "event: image_generation."+want || !strings.Contains(data.text, `"type":"image_generation.`+want+`"`) {
				t.Errorf("event %d: %s", i, name.text)
			}
			if at := time.Duration(100+10*i) * time.Millisecond; data.at != at {
				t.Errorf("event %d at %v, want %v", i, data.at, at)
			}
		}
		if last := lines[5].text; !strings.Contains(last, base64.StdEncoding.EncodeToString(first)) || !strings.Contains(last, `"output_tokens":256`) {
			t.Errorf("last event %s", last)
		}
		r.stop()
	})
}

func TestImageEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Fast: true})
		original := string(media.Image{Width: 20, Height: 10}.PNG())
		body, kind := formOf(t, "prompt", "blue", "model", "m", "@image[]", original, "@image[]", original, "stream", "true", "partial_images", "1")
		a := r.post("/v1/images/edits", body, "Content-Type", kind)
		if a.status != 200 || strings.Count(a.body, "event: image_edit.partial_image") != 1 || !strings.Contains(a.body, `"type":"image_edit.completed"`) ||
			!strings.Contains(a.body, `"size":"20x10"`) || !strings.Contains(a.body, `"image_tokens":256`) {
			t.Errorf("answer %d: %s", a.status, a.body)
		}
		body, kind = formOf(t, "prompt", "blue", "url", "http://h/a.png")
		if a := r.post("/v1/images/edits", body, "Content-Type", kind); a.status != 200 {
			t.Errorf("an image by its address: %d %s", a.status, a.body)
		}
		r.stop()
	})
}

func TestMediaRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Fast: true, ServedModels: []string{"m"}})
		form := func(pairs ...string) [2]string {
			body, kind := formOf(t, pairs...)
			return [2]string{body, kind}
		}
		plain := func(body string) [2]string { return [2]string{body, "application/json"} }
		sound := wavOf(time.Second)
		for _, tt := range []struct {
			name, path string
			request    [2]string
			status     int
			want       string
		}{
			{"no form", transcriptionPath, plain(`{}`), 400, "multipart form"},
			{"a broken form", transcriptionPath, [2]string{"--b\r\nContent-Disposition: form-data; name=x\r\n\r\nx", "multipart/form-data; boundary=b"}, 400, "error parsing"},
			{"no file", transcriptionPath, form("model", "m"), 400, "Field required: file"},
			{"no model", transcriptionPath, form("@file", sound), 400, "Field required: model"},
			{"an empty file", transcriptionPath, form("@file", "", "model", "m"), 400, "file is empty"},
			{"an unknown model", transcriptionPath, form("@file", sound, "model", "x"), 404, "does not exist"},
			{"a format", transcriptionPath, form("@file", sound, "model", "m", "response_format", "xml"), 400, "response_format"},
			{"a boolean", transcriptionPath, form("@file", sound, "model", "m", "stream", "perhaps"), 400, "stream"},
			{"a length", transcriptionPath, form("@file", sound, "model", "m", "max_completion_tokens", "0"), 400, "max_completion_tokens"},
			{"no input", "/v1/audio/speech", plain(`{"model":"m"}`), 400, "input"},
			{"a format of sound", "/v1/audio/speech", plain(`{"model":"m","input":"x","response_format":"mp3"}`), 400, "wav or pcm"},
			{"no prompt", "/v1/images/generations", plain(`{"model":"m"}`), 400, "prompt"},
			{"too many pictures", "/v1/images/generations", plain(`{"model":"m","prompt":"x","n":11}`), 400, "n must be between"},
			{"a size", "/v1/images/generations", plain(`{"model":"m","prompt":"x","size":"big"}`), 400, "WIDTHxHEIGHT"},
			{"a format of pictures", "/v1/images/generations", plain(`{"model":"m","prompt":"x","response_format":"png"}`), 400, "b64_json or url"},
			{"no image", "/v1/images/edits", form("model", "m", "prompt", "x"), 400, "Field required: image"},
			{"no image file", "/v1/images/edits", form("model", "m", "prompt", "x", "@image", "text"), 400, "Invalid image file"},
			{"too many previews", "/v1/images/edits", form("model", "m", "prompt", "x", "url", "http://h/", "partial_images", "4"), 400, "partial_images"},
		} {
			a := r.post(tt.path, tt.request[0], "Content-Type", tt.request[1])
			if a.status != tt.status || !strings.Contains(a.body, tt.want) || !strings.Contains(a.body, `{"error":{"message":"`) {
				t.Errorf("%s: %d %s, want %d about %q", tt.name, a.status, a.body, tt.status, tt.want)
			}
		}
		r.stop()
	})
}

// FuzzForm checks that no form makes the routes panic.
func FuzzForm(f *testing.F) {
	body, kind := formOf(f, "@file", wavOf(time.Second), "model", "m", "prompt", "x", "@image", string(media.Image{Width: 1, Height: 1}.PNG()))
	f.Add([]byte(body), kind)
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=x\r\n\r\nRIFF....WAVEdata\xff\xff\xff\xff\r\n--b--"), "multipart/form-data; boundary=b")
	s, err := New(options.Options{Fast: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		r := &http.Request{Header: http.Header{"Content-Type": {kind}}}
		for _, p := range []*api.Protocol{media.NewTranscription("transcribe", "transcription.chunk"), media.NewImages(true)} {
			q, refusal := p.Read(s.model, r, body)
			if refusal == nil && (len(q.Prompts) != 1 || q.N < 1 || q.PromptTokens() < 0) {
				t.Errorf("request %+v", q)
			}
		}
	})
}

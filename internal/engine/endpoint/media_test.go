package endpoint

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/frame"
)

// wavHeader returns the header of a WAV file: 16 bits, one channel, so many samples
// per second; size is the stated size of its samples in bytes.
func wavHeader(rate, size uint32) []byte {
	b := append([]byte("RIFF"), 0xff, 0xff, 0xff, 0xff)
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	b = append(b, 1, 0, 1, 0)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, 2*rate)
	b = append(b, 2, 0, 16, 0)
	b = append(b, "data"...)
	return binary.LittleEndian.AppendUint32(b, size)
}

// Streamed decodes reads that return every 10 ms as a kind's answer.
func streamedAnswer(t testing.TB, kind, contentType string, asked bool, end bench.End, reads ...[]byte) bench.Answer {
	t.Helper()
	k, ok := Lookup(kind)
	if !ok {
		t.Fatalf("Lookup(%q) found nothing", kind)
	}
	var f frame.Framer
	f.Reset(frame.Head{Status: 200, ContentType: contentType, Streaming: asked})
	for i, r := range reads {
		f.Feed(time.Duration(i+1)*10*time.Millisecond, r)
	}
	f.Finish(time.Second, end)
	resp := f.Response()
	resp.Header = http.Header{"Content-Type": {contentType}}
	return k.Decode(resp, asked)
}

// describe shows the content events of an answer.
func describe(a bench.Answer) string {
	var b strings.Builder
	for _, c := range a.Chunks {
		fmt.Fprintf(&b, "%s %d@%d ", c.Kind, c.Bytes, c.At.Milliseconds())
	}
	fmt.Fprintf(&b, "%v", a.AudioLength)
	if a.Streamed {
		b.WriteString(" streamed")
	}
	if a.Failure != nil {
		fmt.Fprintf(&b, " %s", a.Failure.Class)
	}
	for name := range a.Warnings {
		b.WriteString(" !" + name)
	}
	return b.String()
}

func TestDecodeSpeech(t *testing.T) {
	header := wavHeader(1000, 0xffffffff)
	long := append(append(append([]byte{}, header[:36]...), "LIST\x03\x00\x00\x00abc\x00"...), header[36:]...)
	pcm := make([]byte, 500)
	bytewise := func(b []byte) (out [][]byte) {
		for i := range b {
			out = append(out, b[i:i+1])
		}
		return out
	}
	for _, tt := range []struct {
		name, kind string
		asked      bool
		end        bench.End
		reads      [][]byte
		want       string
	}{
		{"the header comes alone", "audio/wav", true, bench.EndEOF, [][]byte{header, pcm, pcm}, "audio 500@20 audio 500@30 500ms streamed"},
		{"the header comes with audio", "audio/wav", true, bench.EndEOF, [][]byte{append(header[:44:44], pcm...), pcm}, "audio 544@10 audio 500@20 500ms streamed"},
		{"the header comes in pieces", "audio/wav", true, bench.EndEOF, [][]byte{header[:3], header[3:40], header[40:], pcm}, "audio 500@40 250ms streamed"},
		{"byte by byte", "audio/wav", true, bench.EndEOF, append(bytewise(header), pcm), "audio 500@450 250ms streamed"},
		{"a long header comes alone", "audio/wav", true, bench.EndEOF, [][]byte{long, pcm}, "audio 500@20 250ms streamed"},
		{"another container", "audio/ogg", true, bench.EndEOF, [][]byte{[]byte("OggS12345678"), pcm}, "audio 500@20 0s streamed"},
		{"no container", "audio/mpeg", true, bench.EndEOF, [][]byte{{0xff, 0xfb}, pcm}, "audio 2@10 audio 500@20 0s streamed"},
		{"a header that cannot be read", "audio/wav", true, bench.EndEOF, [][]byte{append([]byte("RIFF"), make([]byte, 40)...), pcm}, "audio 500@20 0s streamed"},
		{"samples of the speech API", "audio/pcm", true, bench.EndEOF, [][]byte{make([]byte, 24_000), make([]byte, 24_000)}, "audio 24000@10 audio 24000@20 1s streamed"},
		{"samples that say their rate", "audio/L16; rate=1000; channels=2", true, bench.EndEOF, [][]byte{make([]byte, 1000)}, "audio 1000@10 250ms streamed"},
		{"no stream was asked for", "audio/wav", false, bench.EndEOF, [][]byte{header, pcm, pcm}, "audio 1044@30 500ms"},
		{"nothing but a header", "audio/wav", true, bench.EndEOF, [][]byte{header}, "0s streamed empty_output"},
		{"shorter than promised", "audio/wav", true, bench.EndEOF, [][]byte{wavHeader(1000, 1000), pcm}, "audio 500@20 250ms streamed !short_audio"},
		{"as long as promised", "audio/wav", true, bench.EndEOF, [][]byte{wavHeader(1000, 500), pcm}, "audio 500@20 250ms streamed"},
		{"longer than promised", "audio/wav", true, bench.EndEOF, [][]byte{wavHeader(1000, 400), pcm}, "audio 500@20 200ms streamed"},
		{"cut", "audio/wav", true, bench.EndReset, [][]byte{header, pcm}, "audio 500@20 250ms streamed connection_reset"},
		{"nothing", "audio/wav", true, bench.EndEOF, nil, "0s empty_response"},
		{"a document with an error", "application/json", true, bench.EndEOF, [][]byte{[]byte(`{"error":{"message":"no voice","code":400}}`)}, "0s bad_request !not_streamed"},
		{"a document with audio", "application/json", false, bench.EndEOF, [][]byte{[]byte(`{"audio":"` + base64.StdEncoding.EncodeToString(append(header[:44:44], pcm...)) + `"}`)}, "audio 544@10 250ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := describe(streamedAnswer(t, "audio_speech", tt.kind, tt.asked, tt.end, tt.reads...))
			if got != tt.want {
				t.Errorf("answer = %s\nwant     %s", got, tt.want)
			}
		})
	}
}

func TestDecodeSpeechEvents(t *testing.T) {
	header, pcm := wavHeader(1000, 0), make([]byte, 500)
	delta := func(b []byte) []byte {
		return []byte(`data: {"type":"speech.audio.delta","audio":"` + base64.StdEncoding.EncodeToString(b) + "\"}\n\n")
	}
	done := []byte(`data: {"type":"speech.audio.done","usage":{"input_tokens":14,"output_tokens":101,"total_tokens":115}}` + "\n\n")
	const sse = "text/event-stream"
	a := streamedAnswer(t, "audio_speech", sse, true, bench.EndEOF, delta(header), delta(pcm), delta(pcm), done)
	if got, want := describe(a), "audio 500@20 audio 500@30 500ms streamed"; got != want {
		t.Errorf("answer = %s, want %s", got, want)
	}
	if a.Usage == nil || *a.Usage.Output != 101 || a.FirstEvent != 10*time.Millisecond {
		t.Errorf("usage = %+v, first event at %v", a.Usage, a.FirstEvent)
	}
	a = streamedAnswer(t, "audio_speech", sse, true, bench.EndEOF, delta(header), delta(pcm))
	if got, want := describe(a), "audio 500@20 250ms streamed stream_truncated"; got != want {
		t.Errorf("without its last event: %s, want %s", got, want)
	}
	big := make([]byte, 12<<10) // the header of a later delta would be past the bytes that are kept
	a = streamedAnswer(t, "audio_speech", sse, true, bench.EndEOF, delta(append(header, big...)), delta(big), done)
	if got, want := describe(a), "audio 12332@10 audio 12288@20 12.288s streamed"; got != want {
		t.Errorf("large deltas: %s, want %s", got, want)
	}
}

func TestDecodeImages(t *testing.T) {
	const sse = "text/event-stream"
	partial := `data: {"type":"image_generation.partial_image","b64_json":"AAAA","partial_image_index":0}` + "\n\n"
	whole := `data: {"type":"image_generation.completed","b64_json":"AAAAAAAA","usage":{"input_tokens":7,"output_tokens":9,"total_tokens":16,"input_tokens_details":{"text_tokens":3,"image_tokens":4},"output_tokens_details":{"image_tokens":9,"text_tokens":0}}}` + "\n\n"
	edited := strings.ReplaceAll(partial+whole, "generation", "edit")
	untyped := "data: {\"b64_json\":\"AAAA\",\"partial_image_index\":0}\n\ndata: {\"b64_json\":\"AAAAAAAA\"}\n\ndata: [DONE]\n\n"
	document := `{"created":1,"data":[{"b64_json":"AAAA"},{"url":"http://h/1.png","revised_prompt":"x"},{}],"inference_time_s":1.25,"peak_memory_mb":7.5,` +
		`"usage":{"input_tokens":7,"input_tokens_details":{"text_tokens":7,"image_tokens":0},"output_tokens":9,"total_tokens":16}}`
	for _, tt := range []struct {
		name, contentType, body string
		asked                   bool
		want                    string
	}{
		{"stream", sse, partial + whole, true, "image_partial 4@10 image 8@10 0s streamed"},
		{"stream of an edit", sse, edited, true, "image_partial 4@10 image 8@10 0s streamed"},
		{"events are named, not typed", sse, "event: image_generation.completed\ndata: {\"b64_json\":\"AAAA\"}\n\n", true, "image 4@10 0s streamed"},
		{"events without type", sse, untyped, true, "image_partial 4@10 image 8@10 0s streamed"},
		{"two images", sse, whole + whole, true, "image 8@10 image 8@10 0s streamed"},
		{"only a preview", sse, partial, true, "image_partial 4@10 0s streamed stream_truncated"},
		{"an error event", sse, partial + "event: error\ndata: {\"error\":{\"message\":\"m\"}}\n\n", true, "image_partial 4@10 0s streamed stream_error"},
		{"document", "application/json", document, false, "image 4@10 image 14@10 0s"},
		{"document in place of a stream", "application/json", document, true, "image 4@10 image 14@10 0s !not_streamed"},
		{"no image", "application/json", `{"created":1,"data":[]}`, false, "0s empty_output"},
		{"no list", "application/json", `{"created":1}`, false, "0s malformed_response"},
		{"an image itself", "image/png", "\x89PNG", false, "0s unexpected_content"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := streamedAnswer(t, "image_edit", tt.contentType, tt.asked, bench.EndEOF, []byte(tt.body))
			if got := describe(a); got != tt.want {
				t.Errorf("answer = %s\nwant     %s", got, tt.want)
			}
		})
	}
	a := streamedAnswer(t, "image_generation", sse, true, bench.EndEOF, []byte(whole))
	if u := a.Usage; u == nil || *u.Input != 7 || *u.ImageIn != 4 || *u.ImageOut != 9 || *u.Total != 16 {
		t.Errorf("usage = %+v", a.Usage)
	}
	a = streamedAnswer(t, "image_generation", "application/json", false, bench.EndEOF, []byte(document))
	if diff := cmp.Diff(map[string]time.Duration{"inference_time_s": 1250 * time.Millisecond}, a.ServerTimes); diff != "" {
		t.Errorf("server times (-want +got):\n%s", diff)
	}
}

func TestUsageOfSound(t *testing.T) {
	for _, tt := range []struct{ usage, want string }{
		{`{"type":"duration","seconds":9}`, "9 - -"},
		{`{"seconds":9.5,"type":"duration"}`, "9.5 - -"},
		{`{"seconds":9,"input_tokens":3}`, "- - 3"},
		{`{"prompt_audio_seconds":2,"prompt_tokens":3}`, "2 - 3"},
		{`{"prompt_audio_seconds":{},"prompt_tokens":3}`, "- - 3"},
		{`{"type":"duration","seconds":-1,"input_tokens":3}`, "- - 3"},
		{`{"type":"tokens","input_tokens":14,"input_token_details":{"text_tokens":0,"audio_tokens":12}}`, "- 12 14"},
		{`{"prompt_tokens":14,"prompt_tokens_details":{"multimodal_tokens":{"audio":11,"image":2}}}`, "- 11 14"},
	} {
		a := streamedAnswer(t, "audio_transcription", "application/json", false, bench.EndEOF, []byte(`{"text":"x","usage":`+tt.usage+`}`))
		show := func(n *bench.Tokens) any {
			if n == nil {
				return "-"
			}
			return *n
		}
		seconds := any("-")
		if a.Usage.AudioSeconds != nil {
			seconds = *a.Usage.AudioSeconds
		}
		if got := fmt.Sprintf("%v %v %v", seconds, show(a.Usage.AudioIn), show(a.Usage.Input)); got != tt.want {
			t.Errorf("%s: seconds, audio, input = %s, want %s", tt.usage, got, tt.want)
		}
	}
}

func TestContents(t *testing.T) {
	second := bench.Media{MIME: "audio/wav", Data: append(wavHeader(1000, 2000), make([]byte, 2000)...)}
	shown := bench.Turn{Images: make([]bench.Media, 2), Audios: []bench.Media{second}}
	for _, tt := range []struct {
		name   string
		r      Request
		images int
		audio  time.Duration
	}{
		{"nothing", Request{Turn: user("x")}, 0, 0},
		{"history counts", Request{History: []bench.Exchange{{Turn: shown}}, Turn: shown}, 4, 2 * time.Second},
		{"one clip of unknown length", Request{Turn: bench.Turn{Audios: []bench.Media{second, {MIME: "audio/mpeg", Data: []byte{0xff}}}}}, 0, 0},
	} {
		images, audio := tt.r.Contents()
		if images != tt.images || audio != tt.audio {
			t.Errorf("%s: %d images, %v of audio; want %d, %v", tt.name, images, audio, tt.images, tt.audio)
		}
	}
}

// FuzzMedia feeds the decoders of audio clips, transcripts and images with arbitrary bytes.
func FuzzMedia(f *testing.F) {
	types := []string{"text/event-stream", "application/json", "audio/wav", "text/plain", "audio/L16;rate=1"}
	kinds := []string{"audio_transcription", "audio_speech", "image_generation"}
	for i := range types {
		f.Add([]byte("data: {\"type\":\"speech.audio.delta\",\"audio\":\"UklGRg==\"}\n\n"), uint8(i), uint8(i))
		f.Add([]byte(`{"data":[{"b64_json":"AAAA"}],"text":"x","usage":{"type":"duration","seconds":1e308},"inference_time_s":1e308}`), uint8(i), uint8(i))
		f.Add(wavHeader(0, 0), uint8(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType, kind uint8) {
		half := len(body) / 2
		a := streamedAnswer(t, kinds[int(kind)%len(kinds)], types[int(contentType)%len(types)], true, bench.EndEOF, body[:half], body[half:])
		for _, c := range a.Chunks {
			if c.Bytes <= 0 {
				t.Errorf("a content event without content: %+v", c)
			}
		}
		if a.AudioLength < 0 {
			t.Errorf("audio plays for %v", a.AudioLength)
		}
		if len(a.Chunks) == 0 && a.Failure == nil && a.Usage == nil {
			t.Error("an empty answer is a success")
		}
	})
}

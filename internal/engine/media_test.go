package engine_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// wav is a file of 8-bit samples, 1000 per second.
func wav(length time.Duration) bench.Media {
	samples := int(length / time.Millisecond)
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	b = binary.LittleEndian.AppendUint32(b, 1000)
	b = binary.LittleEndian.AppendUint32(b, 1000)
	b = append(b, "\x01\x00\x08\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(samples))
	return bench.Media{MIME: "audio/wav", Data: append(b, make([]byte, samples)...)}
}

// gif is an image whose size the simulated server does not read.
func gif() bench.Media { return bench.Media{MIME: "image/gif", Data: []byte("GIF89a")} }

// mediaRun sends turns to an endpoint and waits for the end.
func (b *bed) mediaRun(endpoint, rest string, list ...bench.Turn) *run.Run {
	b.t.Helper()
	document := `
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://mem", useServerTokenCount: true, ` + endpoint + `}
` + fileData + `
  artifacts: {level: raw}
  phases: [{name: profiling, kind: profiling, type: concurrency, concurrency: 1, requests: 3}]
` + rest
	return b.submitTurns(document, list...)
}

// submitTurns performs a run with these turns in place of the document's dataset.
func (b *bed) submitTurns(document string, list ...bench.Turn) *run.Run {
	b.t.Helper()
	r, err := b.engine.SubmitTurns(b.t.Context(), parsed(b.t, document), run.Submission{Via: "api"}, list...)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.wait(r.ID)
}

func (b *bed) file(id, name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.store.Dir(id), name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// TestMediaEndpoints measures the simulated server through every endpoint type
// for audio and images, to the nanosecond.
func TestMediaEndpoints(t *testing.T) {
	const streamed = ", streaming: true"
	speak := bench.Turn{Texts: []string{"one two three"}}
	audio := bench.Turn{Audios: []bench.Media{wav(800 * time.Millisecond)}} // 2 words
	draw := bench.Turn{Texts: []string{"a cat"}}
	edit := bench.Turn{Texts: []string{"blue"}, Images: []bench.Media{gif(), gif()}}
	for _, tt := range []struct {
		endpoint string
		turn     bench.Turn
		tags     []string
		want     string // of the first request
		shown    []string
		hidden   []string
	}{
		{
			"type: audio_transcription", audio,
			[]string{"request_latency", "audio_duration", "rtfx", "usage_prompt_audio_seconds"}, "0s-110ms 110 0.8 7.2727272727 1",
			[]string{"rtfx"}, []string{"time_to_first_token", "num_images", "input_sequence_length", "generated_images"},
		},
		{
			"type: audio_transcription" + streamed, audio,
			[]string{"time_to_first_token", "request_latency", "output_sequence_length", "inter_token_latency", "usage_prompt_tokens"}, "0s-110ms 100 110 2 10 -",
			[]string{"time_to_first_token", "rtfx", "output_token_throughput"}, []string{"num_images", "input_sequence_length"},
		},
		{
			"type: transcriptions" + streamed + `, extra: {model: gpt-4o-transcribe, response_format: diarized_json}`, audio,
			[]string{"time_to_first_token", "request_latency", "usage_prompt_audio_tokens", "output_sequence_length"}, "0s-110ms 100 110 8 2", nil, nil,
		},
		{
			"type: audio_translation, extra: {response_format: srt}", audio,
			[]string{"request_latency", "rtfx"}, "0s-110ms 110 7.2727272727", nil, []string{"usage_prompt_audio_seconds"},
		},
		{
			"type: audio_speech" + streamed, speak,
			[]string{"time_to_first_token", "request_latency", "audio_duration", "rtfx", "inter_token_stall", "time_to_first_event"}, "0s-120ms 100 120 1.2 10 10 0",
			[]string{"time_to_first_token", "inter_chunk_latency", "rtfx"}, []string{"inter_token_latency", "output_sequence_length", "num_images"},
		},
		{
			"type: tts" + streamed + ", extra: {stream_format: sse}", speak,
			[]string{"time_to_first_token", "request_latency", "audio_duration"}, "0s-120ms 100 120 1.2", nil, nil,
		},
		{
			"type: audio_speech", speak,
			[]string{"request_latency", "audio_duration"}, "0s-120ms 120 1.2", nil, []string{"time_to_first_token"},
		},
		{
			"type: image_generation, extra: {n: 2}", draw,
			[]string{"request_latency", "generated_images", "generated_image_latency"}, "0s-100ms 100 2 50",
			[]string{"generated_image_throughput"}, []string{"time_to_first_image", "num_images", "rtfx", "output_sequence_length"},
		},
		{
			"type: image_generation" + streamed + ", extra: {partial_images: 2}", draw,
			[]string{"time_to_first_image", "request_latency", "generated_images"}, "0s-120ms 100 120 1",
			[]string{"time_to_first_image"}, []string{"time_to_first_token", "image_latency"},
		},
		{
			"type: image_edit" + streamed + ", extra: {partial_images: 1}", edit,
			[]string{"time_to_first_image", "request_latency", "num_images", "image_latency", "usage_prompt_image_tokens"}, "0s-110ms 100 110 2 55 256",
			[]string{"image_throughput", "generated_images"}, []string{"rtfx"},
		},
		{
			"type: image_edit", edit, []string{"request_latency", "num_images", "image_throughput"}, "0s-100ms 100 2 20", nil, nil,
		},
	} {
		t.Run(tt.endpoint, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, timing(t, 100*time.Millisecond, 10*time.Millisecond), nil)
				r := b.mediaRun(tt.endpoint, "", tt.turn)
				if r.State != bench.StateCompleted || r.Summary.Requests != 3 {
					t.Fatalf("run is %s with %+v: %+v", r.State, r.Summary, r.Error)
				}
				for _, w := range r.Warnings {
					t.Logf("warning %s: %s", w.Code, w.Detail)
				}
				got, _, _ := strings.Cut(b.transcript(r.ID, tt.tags...), "\n")
				if want := "profiling s0.0 " + tt.want; shorten(got) != want {
					t.Errorf("first request\n%s\nwant\n%s", shorten(got), want)
				}
				summary, table, console := b.file(r.ID, "profile_export_aiperf.json"), b.file(r.ID, "profile_export_aiperf.csv"), b.file(r.ID, "profile_export_console.txt")
				for _, tag := range tt.shown {
					if !strings.Contains(summary, `"`+tag+`"`) {
						t.Errorf("%s is missing in the summary", tag)
					}
				}
				for _, tag := range tt.hidden {
					if strings.Contains(summary, `"`+tag+`"`) {
						t.Errorf("the summary has %s", tag)
					}
				}
				if !strings.Contains(table, "Request Latency (ms)") || !strings.Contains(console, "Request Latency") {
					t.Errorf("CSV and console:\n%s\n%s", table, console)
				}
				for _, name := range []string{"profile_export_raw.jsonl", "profile_export.jsonl"} {
					for line := range strings.Lines(b.file(r.ID, name)) {
						if !json.Valid([]byte(line)) || len(line) > 100_000 {
							t.Errorf("%s has a line of %d bytes: %.300s", name, len(line), line)
						}
					}
				}
				if in := b.file(r.ID, "inputs.json"); !json.Valid([]byte(in)) {
					t.Errorf("inputs.json is no JSON: %s", in)
				}
				b.stop()
			})
		})
	}
}

// shorten cuts numbers after ten decimals.
func shorten(line string) string {
	words := strings.Fields(line)
	for i, w := range words {
		if whole, fraction, ok := strings.Cut(w, "."); ok && len(fraction) > 10 {
			words[i] = whole + "." + fraction[:10]
		}
	}
	return strings.Join(words, " ")
}

// TestFormsInFiles: files show the fields of a form without the bytes of its files, and
// list the extra inputs that were not sent.
func TestFormsInFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 100*time.Millisecond, 10*time.Millisecond), nil)
		r := b.mediaRun("type: audio_transcription, extra: {language: en, file: x}", "", bench.Turn{Audios: []bench.Media{wav(time.Second)}})
		var in struct {
			Data []struct {
				Payloads []json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(b.file(r.ID, "inputs.json")), &in); err != nil {
			t.Fatal(err)
		}
		var got struct {
			ContentType string `json:"content_type"`
			Parts       []map[string]any
		}
		if err := json.Unmarshal(in.Data[0].Payloads[0], &got); err != nil {
			t.Fatal(err)
		}
		if got.ContentType != "multipart/form-data; boundary=aiperfd-form-5d0c9e3a7b41f286" || len(got.Parts) != 3 ||
			fmt.Sprint(got.Parts[1:]) != "[map[name:model value:m] map[name:language value:en]]" {
			t.Errorf("payload = %s", in.Data[0].Payloads[0])
		}
		if p := got.Parts[0]; p["name"] != "file" || p["filename"] != "audio.wav" || p["content_type"] != "audio/wav" || p["size"] != 1044.0 || len(p["sha256"].(string)) != 64 {
			t.Errorf("file = %v", p)
		}
		warned := false
		for _, w := range r.Warnings {
			warned = warned || w.Code == "extra-input-ignored" && strings.Contains(w.Detail, `"file"`)
		}
		if !warned {
			t.Errorf("nobody says that the field is not sent: %+v", r.Warnings)
		}
		b.stop()
	})
}

// TestMediaThatCannotBeSent: input that an API does not accept fails each request with
// the reason; the failure is not attributed to the server.
func TestMediaThatCannotBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Millisecond, 0), nil)
		r := b.mediaRun("type: audio_transcription", "", bench.Turn{Texts: []string{"no audio"}})
		if r.State != bench.StateFailed || r.Error == nil || !strings.Contains(r.Error.Message, "exactly one audio clip") {
			t.Errorf("run is %s: %+v", r.State, r.Error)
		}
		b.stop()
	})
}

// TestMediaFaults: truncated responses are failures, never short successes.
func TestMediaFaults(t *testing.T) {
	speak := bench.Turn{Texts: []string{"one two three"}}
	audio := bench.Turn{Audios: []bench.Media{wav(2 * time.Second)}}
	for _, tt := range []struct {
		endpoint, fault string
		turn            bench.Turn
		want            string
	}{
		{"type: audio_speech, streaming: true", "reset:after_tokens:2,requests=2", speak, "connection_reset"},
		{"type: audio_speech", "reset:after_tokens:2,requests=2", speak, "connection_reset"},
		{"type: audio_transcription, streaming: true", "close:after_tokens:2,requests=2", audio, "connection_reset"},
		{"type: audio_transcription, streaming: true", "stream_error:after_tokens:2,requests=2", audio, "stream_error"},
		{"type: image_generation, streaming: true, extra: {partial_images: 2}", "stream_error:after_tokens:1,requests=2", speak, "stream_error"},
		{"type: image_generation", "status:503,requests=2", speak, "overloaded"},
	} {
		t.Run(tt.endpoint+" "+tt.fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := timing(t, 100*time.Millisecond, 10*time.Millisecond)
				fault, err := mock.ParseFault(tt.fault)
				if err != nil {
					t.Fatal(err)
				}
				o.Faults = []mock.Fault{fault}
				b := newBed(t, o, nil)
				r := b.mediaRun(tt.endpoint, "", tt.turn)
				if r.Summary == nil || r.Summary.Requests != 2 {
					t.Fatalf("run is %s: %+v, %+v", r.State, r.Summary, r.Error)
				}
				if lines := strings.Split(b.file(r.ID, "profile_export.jsonl"), "\n"); !strings.Contains(lines[1], `"class":"`+tt.want+`"`) {
					t.Errorf("the second record: %s", lines[1])
				}
				b.stop()
			})
		})
	}
}

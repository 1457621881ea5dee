package openai

import (
	"bytes"
	"encoding/base64"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

// AudioSpeech is OpenAI's API that speaks a text. The answer is the bytes of an audio
// file, whose first reads show how soon it can be played; no member of the request
// selects that. Servers send events instead if an extra input requests them:
// stream_format:sse (OpenAI) or stream:true (SGLang, vLLM-Omni).
func AudioSpeech() codec.Kind {
	return codec.Kind{
		Name: "audio_speech", Aliases: []string{"tts"},
		Path: "/v1/audio/speech", Title: "Audio Speech Metrics",
		Accept: "*/*", StreamAccept: "*/*",
		Caps:   bench.Caps{Streams: true, TokenizesInput: true, ProducesAudio: true},
		Encode: encodeSpeech,
		Decode: answer.Decode(&answer.Grammar{Dialect: newSpeech, End: answer.EndTerminal}),
	}
}

// encodeSpeech writes a body for POST /v1/audio/speech (OpenAI API reference,
// "Create speech"). WAV has a known playing time, so it is the requested format.
func encodeSpeech(dst []byte, r *codec.Request) ([]byte, error) {
	return codec.AppendMerged(dst, []codec.Field{
		codec.ModelField(r), codec.TextField("input", codec.JoinTexts(r)), codec.TextField("voice", "alloy"), codec.TextField("response_format", "wav"),
	}, r)
}

// speechDialect reads events with a piece of the audio, all of it in one document, or
// the audio itself.
type speechDialect struct {
	Dialect

	start []byte // first bytes of the audio
	size  int64  // bytes received
}

func newSpeech(b *answer.Builder) answer.Dialect { return &speechDialect{Dialect: Dialect{b}} }

func (d *speechDialect) Reset() { d.start, d.size = d.start[:0], 0 }

func (d *speechDialect) Document(doc *answer.Document) bool {
	d.Dialect.Document(doc)
	if audio := answer.Str(doc.Value.Get("audio")); len(audio) > 0 {
		d.Answered = true
		d.piece(audio)
	}
	if doc.Kind() == "speech.audio.done" {
		d.Answered, d.Terminal = true, true
	}
	return true
}

// maxAudioStart is how much of an audio clip is kept to read its header, in bytes.
const maxAudioStart = 4 << 10

// warnShortAudio counts audio clips that are shorter than in their header.
const warnShortAudio = "short_audio"

// unknownSize is the least number that servers write into a header when they do
// not know yet how much will follow.
const unknownSize = 0x7fff0000

// piece records audio in base64. The header of its container is no content.
func (d *speechDialect) piece(data []byte) {
	plain := bytes.TrimRight(data, "=")
	size := base64.RawStdEncoding.DecodedLen(len(plain))
	if room := maxAudioStart - len(d.start); room > 0 {
		whole := min(len(plain), (room+2)/3*4)
		decoded, _ := base64.RawStdEncoding.AppendDecode(nil, plain[:whole]) // errors in it do not change its size
		d.start = append(d.start, decoded...)
	}
	d.size += int64(size)
	if size == 0 || d.size <= int64(codec.AudioHeaderSize(d.start)) {
		return
	}
	d.Item(bench.Audio, size)
	if w, ok := codec.ReadWAV(d.start); ok {
		d.Answer.AudioLength = w.Length(d.size)
	}
}

// Binary reads an answer that is an audio clip itself. If a stream was requested,
// each read is a chunk, except those that end within the header.
func (d *speechDialect) Binary(resp *bench.Response) {
	header, total := int64(codec.AudioHeaderSize(resp.Start)), int64(0)
	d.Answer.Streamed = d.Asked
	if d.Asked && len(resp.Pieces) > 0 {
		d.Answer.FirstEvent = resp.Pieces[0].At
	}
	for _, p := range resp.Pieces {
		total += int64(p.Size)
		if d.Asked && total > header {
			d.At, d.Read = p.At, p.Read
			d.Item(bench.Audio, int(p.Size))
		}
	}
	if !d.Asked && total > header {
		d.At = resp.BodyAt
		d.Item(bench.Audio, int(total))
	}
	if w, ok := codec.ReadWAV(resp.Start); ok {
		d.Answer.AudioLength = w.Length(total)
		if w.Size < unknownSize && int64(w.Data)+int64(w.Size) > total {
			d.Warn(warnShortAudio)
		}
	} else if rate := codec.PCMRate(resp.Header.Get("Content-Type")); rate > 0 {
		d.Answer.AudioLength = codec.Playing(total, rate)
	}
}

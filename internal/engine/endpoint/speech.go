package endpoint

import (
	"bytes"
	"encoding/base64"

	"aiperfd/internal/engine/bench"
)

// audioSpeech is OpenAI's API that speaks a text. The answer is the bytes of a
// sound, of which the first reads tell how soon it can be heard; nothing in the
// request asks for that. Servers that send events instead are asked by an extra
// input: stream_format:sse (OpenAI) or stream:true (SGLang, vLLM-Omni).
func audioSpeech() Kind {
	return Kind{
		Name: "audio_speech", Aliases: []string{"tts"},
		Path: "/v1/audio/speech", Title: "Audio Speech Metrics",
		Accept: "*/*", StreamAccept: "*/*",
		Caps:   bench.Caps{Streams: true, TokenizesInput: true, ProducesAudio: true},
		Encode: encodeSpeech,
		Decode: decodeWith(&grammar{dialect: newSpeech, end: endTerminal}),
	}
}

// encodeSpeech writes a body for POST /v1/audio/speech (OpenAI API reference,
// "Create speech"). WAV says how long it plays, so it is the format asked for.
func encodeSpeech(dst []byte, r *Request) ([]byte, error) {
	fields, err := mergeExtra([]Field{
		modelField(r), textField("input", joinTexts(r)), textField("voice", "alloy"), textField("response_format", "wav"),
	}, r)
	if err != nil {
		return dst, err
	}
	return appendObject(dst, fields), nil
}

// speechDialect reads events with a piece of the audio, all of it in one document, or
// the audio itself.
type speechDialect struct {
	openAIDialect

	start []byte // first bytes of the audio
	size  int64  // of what was received
}

func newSpeech(b *builder) dialect { return &speechDialect{openAIDialect: openAIDialect{b}} }

func (d *speechDialect) reset() { d.start, d.size = d.start[:0], 0 }

func (d *speechDialect) document(doc *document) bool {
	d.openAIDialect.document(doc)
	if audio := str(doc.value.Get("audio")); len(audio) > 0 {
		d.answered = true
		d.piece(audio)
	}
	if doc.kind() == "speech.audio.done" {
		d.answered, d.terminal = true, true
	}
	return true
}

// maxAudioStart is how much of an audio clip is kept to read its header, in bytes.
const maxAudioStart = 4 << 10

// warnShortAudio says that an audio clip is shorter than its header promises.
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
		decoded, _ := base64.RawStdEncoding.AppendDecode(nil, plain[:whole]) // what is wrong with it does not change its size
		d.start = append(d.start, decoded...)
	}
	d.size += int64(size)
	if size == 0 || d.size <= int64(headerSize(d.start)) {
		return
	}
	d.item(bench.Audio, size)
	if w, ok := readWAV(d.start); ok {
		d.answer.AudioLength = w.length(d.size)
	}
}

// binary reads an answer that is an audio clip itself. If a stream was requested,
// each read is a chunk, except those that end within the header.
func (d *speechDialect) binary(resp *bench.Response) {
	header, total := int64(headerSize(resp.Start)), int64(0)
	d.answer.Streamed = d.asked
	if d.asked && len(resp.Pieces) > 0 {
		d.answer.FirstEvent = resp.Pieces[0].At
	}
	for _, p := range resp.Pieces {
		total += int64(p.Size)
		if d.asked && total > header {
			d.at, d.read = p.At, p.Read
			d.item(bench.Audio, int(p.Size))
		}
	}
	if !d.asked && total > header {
		d.at = resp.BodyAt
		d.item(bench.Audio, int(total))
	}
	if w, ok := readWAV(resp.Start); ok {
		d.answer.AudioLength = w.length(total)
		if w.size < unknownSize && int64(w.data)+int64(w.size) > total {
			d.warn(warnShortAudio)
		}
	} else if rate := pcmRate(resp.Header.Get("Content-Type")); rate > 0 {
		d.answer.AudioLength = playing(total, rate)
	}
}

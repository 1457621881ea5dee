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
		Caps:   Caps{Streams: true, TokenizesInput: true, ProducesAudio: true},
		Encode: encodeSpeech,
		Decode: decodeWith(&grammar{read: readSpeech, binary: countSpeech, end: endTerminal}),
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

// readSpeech takes an event with a piece of the audio, or all of it in one
// document.
func readSpeech(d *decoder, doc *document) bool {
	readOpenAI(d, doc)
	if sound := str(doc.value.Get("audio")); len(sound) > 0 {
		d.answers = true
		d.sounds(sound)
	}
	kind := string(str(doc.value.Get("type")))
	if kind == "speech.audio.done" || kind == "" && doc.event == "speech.audio.done" {
		d.answers, d.terminal = true, true
	}
	return true
}

// maxSoundStart is how much of an audio clip is kept to read its header, in bytes.
const maxSoundStart = 4 << 10

// warnShortAudio says that an audio clip is shorter than its header promises.
const warnShortAudio = "short_audio"

// unknownSize is the least number that servers write into a header when they do
// not know yet how much will follow.
const unknownSize = 0x7fff0000

// sound is what was received of an answer's sound.
type sound struct {
	start []byte // its first bytes
	size  int64
}

// sounds records sound in base64. What belongs to the header of its container is
// no content.
func (d *decoder) sounds(data []byte) {
	plain := bytes.TrimRight(data, "=")
	size := base64.RawStdEncoding.DecodedLen(len(plain))
	if room := maxSoundStart - len(d.sound.start); room > 0 {
		whole := min(len(plain), (room+2)/3*4)
		decoded, _ := base64.RawStdEncoding.AppendDecode(nil, plain[:whole]) // what is wrong with it does not change its size
		d.sound.start = append(d.sound.start, decoded...)
	}
	d.sound.size += int64(size)
	if size == 0 || d.sound.size <= int64(headerSize(d.sound.start)) {
		return
	}
	d.item(bench.Audio, size)
	if w, ok := readWAV(d.sound.start); ok {
		d.a.AudioLength = w.length(d.sound.size)
	}
}

// countSpeech takes an answer that is an audio clip itself. Where a stream was asked for
// each read is a content event, but for those that end within the header.
func countSpeech(d *decoder, resp *bench.Response) {
	header, total := int64(headerSize(resp.Start)), int64(0)
	d.a.Streamed = d.asked
	if d.asked && len(resp.Pieces) > 0 {
		d.a.FirstEvent = resp.Pieces[0].At
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
		d.a.AudioLength = w.length(total)
		if w.size < unknownSize && int64(w.data)+int64(w.size) > total {
			d.warn(warnShortAudio)
		}
	} else if rate := pcmRate(resp.Header.Get("Content-Type")); rate > 0 {
		d.a.AudioLength = playing(total, rate)
	}
}

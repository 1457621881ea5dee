package endpoint

import (
	"fmt"
	"slices"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// audioTranscription is OpenAI's API that turns speech into text, as vLLM and
// others serve it too. A request is a form. The text of a turn is not sent; a
// prompt comes from the extra inputs.
func audioTranscription() Kind {
	k := overAudio("/v1/audio/transcriptions", "Audio Transcription Metrics")
	k.Name, k.Aliases = "audio_transcription", []string{"transcriptions"}
	return k
}

// audioTranslation is the same with English text as its answer.
func audioTranslation() Kind {
	k := overAudio("/v1/audio/translations", "Audio Translation Metrics")
	k.Name = "audio_translation"
	return k
}

func overAudio(path, title string) Kind {
	return Kind{
		Path: path, Title: title, ContentType: formType, Reserved: []string{"file"},
		Caps:   bench.Caps{Streams: true, ProducesTokens: true, Audio: true},
		Encode: encodeAudio,
		Decode: decodeWith(&grammar{dialect: newTranscripts, strings: true, end: endMarker}),
	}
}

// encodeAudio writes the form: the file, the model, the user's fields, and what
// streams need (OpenAI API reference, "Create transcription"; the names of the
// length and of the usage in streams are vLLM's).
func encodeAudio(dst []byte, r *Request) ([]byte, error) {
	fields := []Field{modelField(r)}
	if n := appendMax(r.Turn.MaxTokens); n != nil {
		fields = append(fields, Field{fieldMaxCompletion, n})
	}
	fields, err := mergeExtra(fields, r, "file")
	if err != nil {
		return dst, err
	}
	if n := len(r.Turn.Audios); n != 1 {
		return dst, fmt.Errorf("a request takes exactly one audio clip, the turn has %d", n)
	}
	clip := &r.Turn.Audios[0]
	if clip.URL != "" {
		return dst, fmt.Errorf("audio at %s: the API takes the bytes of a file, not its address", clip.URL)
	}
	add := func(name string) {
		if fieldValue(fields, name) == nil {
			fields = append(fields, trueField(name))
		}
	}
	if r.Settings.Streaming {
		add(fieldStream)
	}
	if isTrue(fields, fieldStream) && r.Settings.StreamUsage {
		add("stream_include_usage")
		if r.Settings.PerChunkUsage {
			add("stream_continuous_usage_stats")
		}
	}
	const head = 1 << 10 // for what is around the file
	f := form{dst: slices.Grow(dst, len(clip.Data)+head)}
	filename, mime := audioFile(clip)
	f.file("file", filename, mime, clip.Data)
	f.fields(fields)
	return f.end()
}

// transcriptDialect reads documents of either kind of server: vLLM's chunks, which are
// those of chat without an index, OpenAI's events, or answers in one piece.
type transcriptDialect struct {
	openAIDialect

	deltas bool // a delta was received, so that segments repeat it
}

func newTranscripts(b *builder) dialect { return &transcriptDialect{openAIDialect: openAIDialect{b}} }

func (d *transcriptDialect) reset() { d.deltas = false }

func (d *transcriptDialect) document(doc *document) bool {
	if doc.value.Type() == fastjson.TypeString {
		if d.streamed {
			return false
		}
		d.text(trimSpace(str(doc.value)))
		return true
	}
	d.openAIDialect.document(doc)
	text := doc.value.Get("text")
	switch doc.kind() {
	case "transcript.text.delta":
		d.deltas = true
		d.add(str(doc.value.Get("delta")))
	case "transcript.text.segment":
		if !d.deltas {
			d.add(str(text))
		}
	case "transcript.text.done":
		if len(d.answer.Chunks) == 0 {
			d.add(str(text))
		}
		d.answered, d.terminal = true, true
	default:
		if text != nil && text.Type() == fastjson.TypeString {
			d.add(str(text))
		}
	}
	return true
}

// text reads a transcript in plain text, or as subtitles.
func (d *transcriptDialect) text(body []byte) {
	if d.asked && !d.streamed && len(d.answer.Chunks) == 0 && d.valid == 0 {
		d.warn(warnNotStreamed)
	}
	d.add(body)
}

// add records text of the only choice.
func (d *transcriptDialect) add(text []byte) {
	d.answered = true
	if c := d.only(); c != nil {
		d.emit(c, bench.Text, text)
	}
}

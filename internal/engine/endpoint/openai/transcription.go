package openai

import (
	"fmt"
	"slices"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

// AudioTranscription is OpenAI's API that turns speech into text, as vLLM and
// others serve it too. A request is a form. The text of a turn is not sent; a
// prompt comes from the extra inputs.
func AudioTranscription() codec.Kind {
	k := overAudio("/v1/audio/transcriptions", "Audio Transcription Metrics")
	k.Name, k.Aliases = "audio_transcription", []string{"transcriptions"}
	return k
}

// AudioTranslation is the same with English text as its answer.
func AudioTranslation() codec.Kind {
	k := overAudio("/v1/audio/translations", "Audio Translation Metrics")
	k.Name = "audio_translation"
	return k
}

func overAudio(path, title string) codec.Kind {
	return codec.Kind{
		Path: path, Title: title, ContentType: codec.FormType, Reserved: []string{"file"},
		Caps:   bench.Caps{Streams: true, ProducesTokens: true, Audio: true, Needs: bench.Needs{Audio: true}},
		Encode: encodeAudio,
		Decode: answer.Decode(&answer.Grammar{Dialect: newTranscripts, Strings: true, End: answer.EndMarker}),
	}
}

// encodeAudio writes the form: the file, the model, the user's fields, and what
// streams need (OpenAI API reference, "Create transcription"; the names of the
// length and of the usage in streams are vLLM's).
func encodeAudio(dst []byte, r *codec.Request) ([]byte, error) {
	fields := []codec.Field{codec.ModelField(r)}
	if n := codec.AppendMax(r.Turn.MaxTokens); n != nil {
		fields = append(fields, codec.RawField(codec.FieldMaxCompletion, n))
	}
	fields, err := codec.MergeExtra(fields, r, "file")
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
		if codec.FieldValue(fields, name) == nil {
			fields = append(fields, codec.TrueField(name))
		}
	}
	if r.Settings.Streaming {
		add(codec.FieldStream)
	}
	if codec.IsTrue(fields, codec.FieldStream) && r.Settings.StreamUsage {
		add("stream_include_usage")
		if r.Settings.PerChunkUsage {
			add("stream_continuous_usage_stats")
		}
	}
	const head = 1 << 10 // for the text around the file
	f := codec.Form{Dst: slices.Grow(dst, len(clip.Data)+head)}
	filename, mime := codec.AudioFile(clip)
	f.File("file", filename, mime, clip.Data)
	f.Fields(fields)
	return f.End()
}

// transcriptDialect reads documents of either kind of server: vLLM's chunks, which are
// those of chat without an index, OpenAI's events, or answers in one piece.
type transcriptDialect struct {
	Dialect

	deltas bool // a delta was received, so that segments repeat it
}

func newTranscripts(b *answer.Builder) answer.Dialect { return &transcriptDialect{Dialect: Dialect{b}} }

func (d *transcriptDialect) Reset() { d.deltas = false }

func (d *transcriptDialect) Document(doc *answer.Document) bool {
	if doc.Value.Type() == fastjson.TypeString {
		if d.Streamed {
			return false
		}
		d.Text(answer.TrimSpace(answer.Str(doc.Value)))
		return true
	}
	d.Dialect.Document(doc)
	text := doc.Value.Get("text")
	switch doc.Kind() {
	case "transcript.text.delta":
		d.deltas = true
		d.add(answer.Str(doc.Value.Get("delta")))
	case "transcript.text.segment":
		if !d.deltas {
			d.add(answer.Str(text))
		}
	case "transcript.text.done":
		if len(d.Answer.Chunks) == 0 {
			d.add(answer.Str(text))
		}
		d.Answered, d.Terminal = true, true
	default:
		if text != nil && text.Type() == fastjson.TypeString {
			d.add(answer.Str(text))
		}
	}
	return true
}

// Text reads a transcript in plain text, or as subtitles.
func (d *transcriptDialect) Text(body []byte) {
	if d.Asked && !d.Streamed && len(d.Answer.Chunks) == 0 && d.Valid == 0 {
		d.Warn(answer.WarnNotStreamed)
	}
	d.add(body)
}

// add records text of the only choice.
func (d *transcriptDialect) add(text []byte) {
	d.Answered = true
	if c := d.OnlyChoice(); c != nil {
		d.Emit(c, bench.Text, text)
	}
}

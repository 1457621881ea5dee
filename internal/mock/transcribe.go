package mock

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/seed"
)

// What a transcript is made of: a token stands for a word.
const (
	wordsPerSecond       = 2.5
	audioTokensPerSecond = 10       // of the prompt
	maxUpload            = 25 << 20 // bytes of a file, as vLLM limits it
	segmentWords         = 10
)

// transcription is POST /v1/audio/transcriptions and /v1/audio/translations.
// Streams are vLLM's, unless the model is one of OpenAI's own, whose names begin
// with "gpt-": these have other events and count tokens, not seconds.
type transcription struct {
	task   string // "transcribe" or "translate"
	object string // of vLLM's events
	vllm   script
	openai script
}

// dictation is what a transcription keeps of its request.
type dictation struct {
	seconds float64
	format  string // of the answer
	words   bool   // timestamps for each word
}

var _ protocol = (*transcription)(nil)

func newTranscription(task, object string) *transcription {
	t := &transcription{task: task, object: object}
	t.vllm = script{
		contentType: eventStream, open: t.open, content: t.chunk, close: t.closeChunks, fail: (*openAI)(nil).fail,
	}
	t.openai = script{contentType: eventStream, content: t.delta, close: t.done, fail: (*openAI)(nil).fail}
	return t
}

func (t *transcription) read(m *model, r *http.Request, body []byte) (*textRequest, *apierror.Error) {
	f := readForm(r, body)
	q := &textRequest{n: 1, model: f.need("model"), stream: f.boolean("stream")}
	q.includeUsage, q.continuousUsage = f.boolean("stream_include_usage"), f.boolean("stream_continuous_usage_stats")
	q.maxTokens = f.integer("max_completion_tokens", 1, math.MaxInt32, 0)
	sound := &dictation{format: f.text("response_format")}
	if sound.format == "" {
		sound.format = "json"
	}
	if !slices.Contains([]string{"json", "text", "srt", "verbose_json", "vtt", "diarized_json"}, sound.format) {
		f.fail("response_format", "response_format must be json, text, srt, verbose_json, vtt or diarized_json, got "+sound.format[:min(len(sound.format), 100)]+".")
	}
	sound.words = slices.Contains(f.values["timestamp_granularities[]"], "word")
	files := f.needFiles("file")
	if f.err != nil {
		return q, f.err
	}
	if len(files[0]) == 0 || len(files[0]) > maxUpload {
		return q, apierror.BadRequest("file", "Maximum file size exceeded or the file is empty: "+strconv.Itoa(len(files[0]))+" bytes.")
	}
	if refusal := m.checkRequest(q); refusal != nil {
		return q, refusal
	}
	sound.seconds = soundSeconds(files[0])
	p := prompt{tokens: int(math.Ceil(sound.seconds * audioTokensPerSecond)), hash: seed.Hash(0, files[0])}
	if said := f.text("prompt"); said != "" {
		p.tokens += m.opt.Tokenizer.Count(said)
	}
	q.prompts, q.payload = []prompt{p}, sound
	q.length = max(1, int(math.Ceil(sound.seconds*wordsPerSecond)))
	return q, nil
}

func (*transcription) reasons() bool { return false }

func (*transcription) refusal(dst []byte, e *apierror.Error) []byte { return apierror.Append(dst, e) }

func (t *transcription) script() *script { return &t.vllm }

// ownModel reports whether a model is one of OpenAI's.
func ownModel(q *textRequest) bool { return strings.HasPrefix(q.model, "gpt-") }

// open chooses the dialect.
func (t *transcription) open(e *events) {
	if ownModel(e.x.q) {
		e.script = &t.openai
		return
	}
	e.frame.b = e.x.appendHead(append(e.frame.b[:0], "data: "...), "trsc-", t.object)
	e.head = e.frame.b
	e.b = e.frame.b[len(e.frame.b):]
	e.finalUsage = e.x.q.includeUsage && e.x.opt.Usage != UsageNever
	e.chunkUsage = e.finalUsage && e.x.q.continuousUsage
}

// chunk adds vLLM's event.
func (t *transcription) chunk(e *events, c *choice, from, to int, last bool) error {
	e.b = append(append(e.b, e.head...), `{"delta":{"content":"`...)
	e.b = append(c.appendTokens(e.b, from, to), `"}`...)
	if last {
		e.b = append(e.b, `,"finish_reason":`...)
		e.b = append(e.x.appendFinish(e.b, c), `,"stop_reason":null`...)
	}
	e.b = append(e.b, `}]`...)
	if e.chunkUsage {
		e.b = e.x.appendUsage(append(e.b, ','), e.x.truth.OutputTokens, 0)
	}
	e.b = append(e.b, '}')
	return e.end(true)
}

func (*transcription) closeChunks(e *events) error { return (*openAI)(nil).close(e) }

// delta adds OpenAI's event.
func (*transcription) delta(e *events, c *choice, from, to int, _ bool) error {
	e.b = append(e.b, `data: {"type":"transcript.text.delta","delta":"`...)
	e.b = append(c.appendTokens(e.b, from, to), `"}`...)
	return e.end(true)
}

// done adds OpenAI's last events: the segments of a diarised transcript, and the
// whole text.
func (t *transcription) done(e *events) error {
	c := &e.x.choices[0]
	if dictationIn(e.x).format == "diarized_json" {
		for i := range segments(c) {
			e.b = t.appendSpeech(append(e.b, "data: "...), e.x, i)
			if err := e.end(false); err != nil {
				return err
			}
		}
	}
	e.b = append(e.b, `data: {"type":"transcript.text.done","text":"`...)
	e.b = append(c.appendTokens(e.b, 0, c.total), `",`...)
	e.b = append(appendAudioUsage(e.b, e.x), '}')
	return e.end(false)
}

func dictationIn(x *answer) *dictation {
	sound, _ := x.q.payload.(*dictation)
	return sound
}

// appendAudioUsage appends the member "usage": seconds, or tokens for OpenAI's own
// models.
func appendAudioUsage(dst []byte, x *answer) []byte {
	if !ownModel(x.q) {
		dst = append(dst, `"usage":{"type":"duration","seconds":`...)
		return append(strconv.AppendInt(dst, int64(math.Ceil(dictationIn(x).seconds)), 10), '}')
	}
	in, out := x.truth.PromptTokens, longestChoice(x.choices)
	dst = append(dst, `"usage":{"type":"tokens","input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(in), 10)
	dst = append(dst, `,"input_token_details":{"text_tokens":0,"audio_tokens":`...)
	dst = strconv.AppendInt(dst, int64(in), 10)
	dst = append(dst, `},"output_tokens":`...)
	dst = strconv.AppendInt(dst, int64(out), 10)
	dst = append(dst, `,"total_tokens":`...)
	return append(strconv.AppendInt(dst, int64(in+out), 10), '}')
}

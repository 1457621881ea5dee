package media

import (
	"encoding/binary"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/openai"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/seed"
)

// The parameters of transcripts, in which a token represents a word.
const (
	wordsPerSecond       = 2.5
	audioTokensPerSecond = 10       // of the prompt
	maxUpload            = 25 << 20 // bytes of a file, as vLLM limits it
	segmentWords         = 10
)

// transcription is POST /v1/audio/transcriptions and /v1/audio/translations.
// Streams have vLLM's events, unless the model is one of OpenAI's, whose names begin
// with "gpt-": these have other events and count tokens, not seconds.
type transcription struct {
	task   string // "transcribe" or "translate"
	object string // of vLLM's events
	vllm   api.Script
	openai api.Script
}

// audioRequest has the parameters of a request for a transcription.
type audioRequest struct {
	seconds float64
	format  string // of the answer
	words   bool   // timestamps for each word
}

var _ api.Protocol = (*transcription)(nil)

// NewTranscription returns the protocol of POST /v1/audio/transcriptions or
// /v1/audio/translations. task and object are the names in documents and in events.
func NewTranscription(task, object string) *transcription {
	t := &transcription{task: task, object: object}
	t.vllm = api.Script{
		ContentType: api.EventStream, Open: t.open, Content: t.chunk, Close: t.closeChunks, Fail: openai.FailStream,
	}
	t.openai = api.Script{ContentType: api.EventStream, Content: t.delta, Close: t.done, Fail: openai.FailStream}
	return t
}

func (t *transcription) Read(m *api.Model, r *http.Request, body []byte) (*api.Request, *apierror.Error) {
	f := api.ReadForm(r, body)
	q := &api.Request{N: 1, Model: f.Need("model"), Stream: f.Boolean("stream")}
	q.IncludeUsage, q.ContinuousUsage = f.Boolean("stream_include_usage"), f.Boolean("stream_continuous_usage_stats")
	q.MaxTokens = f.Integer("max_completion_tokens", 1, math.MaxInt32, 0)
	audio := &audioRequest{format: f.Text("response_format")}
	if audio.format == "" {
		audio.format = "json"
	}
	if !slices.Contains([]string{"json", "text", "srt", "verbose_json", "vtt", "diarized_json"}, audio.format) {
		f.Fail("response_format", "response_format must be json, text, srt, verbose_json, vtt or diarized_json, got "+audio.format[:min(len(audio.format), 100)]+".")
	}
	audio.words = slices.Contains(f.Values["timestamp_granularities[]"], "word")
	files := f.NeedFiles("file")
	if f.Err != nil {
		return q, f.Err
	}
	if len(files[0]) == 0 || len(files[0]) > maxUpload {
		return q, apierror.BadRequest("file", "Maximum file size exceeded or the file is empty: "+strconv.Itoa(len(files[0]))+" bytes.")
	}
	if refusal := m.CheckRequest(q); refusal != nil {
		return q, refusal
	}
	audio.seconds = AudioSeconds(files[0])
	p := api.Prompt{Tokens: int(math.Ceil(audio.seconds * audioTokensPerSecond)), Hash: seed.Hash(0, files[0])}
	if text := f.Text("prompt"); text != "" {
		p.Tokens += m.Options.Tokenizer.Count(text)
	}
	q.Prompts, q.Payload = []api.Prompt{p}, audio
	q.Length = max(1, int(math.Ceil(audio.seconds*wordsPerSecond)))
	return q, nil
}

func (*transcription) Reasons() bool { return false }

func (*transcription) Refusal(dst []byte, e *apierror.Error) []byte { return apierror.Append(dst, e) }

func (t *transcription) Script() *api.Script { return &t.vllm }

// ownModel reports whether a model is one of OpenAI's.
func ownModel(q *api.Request) bool { return strings.HasPrefix(q.Model, "gpt-") }

// open selects the dialect.
func (t *transcription) open(e *api.Events) {
	if ownModel(e.Answer.Request) {
		e.Script = &t.openai
		return
	}
	e.Buffer.B = openai.AppendHead(append(e.Buffer.B[:0], "data: "...), e.Answer, "trsc-", t.object)
	e.Head = e.Buffer.B
	e.B = e.Buffer.B[len(e.Buffer.B):]
	e.FinalUsage = e.Answer.Request.IncludeUsage && e.Answer.Options.Usage != options.UsageNever
	e.ChunkUsage = e.FinalUsage && e.Answer.Request.ContinuousUsage
}

// chunk adds vLLM's event.
func (t *transcription) chunk(e *api.Events, c *api.Choice, from, to int, last bool) error {
	e.B = append(append(e.B, e.Head...), `{"delta":{"content":"`...)
	e.B = append(c.AppendTokens(e.B, from, to), `"}`...)
	if last {
		e.B = append(e.B, `,"finish_reason":`...)
		e.B = append(openai.AppendFinish(e.B, e.Answer, c), `,"stop_reason":null`...)
	}
	e.B = append(e.B, `}]`...)
	if e.ChunkUsage {
		e.B = openai.AppendUsage(append(e.B, ','), e.Answer, e.Answer.Truth.OutputTokens, 0)
	}
	e.B = append(e.B, '}')
	return e.End(true)
}

func (*transcription) closeChunks(e *api.Events) error { return openai.CloseStream(e) }

// delta adds OpenAI's event.
func (*transcription) delta(e *api.Events, c *api.Choice, from, to int, _ bool) error {
	e.B = append(e.B, `data: {"type":"transcript.text.delta","delta":"`...)
	e.B = append(c.AppendTokens(e.B, from, to), `"}`...)
	return e.End(true)
}

// done adds OpenAI's last events: the segments of a diarised transcript, and the
// whole text.
func (t *transcription) done(e *api.Events) error {
	c := &e.Answer.Choices[0]
	if audioRequestOf(e.Answer).format == "diarized_json" {
		for i := range segments(c) {
			e.B = t.appendSpeech(append(e.B, "data: "...), e.Answer, i)
			if err := e.End(false); err != nil {
				return err
			}
		}
	}
	e.B = append(e.B, `data: {"type":"transcript.text.done","text":"`...)
	e.B = append(c.AppendTokens(e.B, 0, c.Total), `",`...)
	e.B = append(appendAudioUsage(e.B, e.Answer), '}')
	return e.End(false)
}

func audioRequestOf(x *api.Answer) *audioRequest {
	audio, _ := x.Request.Payload.(*audioRequest)
	return audio
}

// appendAudioUsage appends the member "usage": seconds, or tokens for OpenAI's own
// models.
func appendAudioUsage(dst []byte, x *api.Answer) []byte {
	if !ownModel(x.Request) {
		dst = append(dst, `"usage":{"type":"duration","seconds":`...)
		return append(strconv.AppendInt(dst, int64(math.Ceil(audioRequestOf(x).seconds)), 10), '}')
	}
	in, out := x.Truth.PromptTokens, api.LongestChoice(x.Choices)
	dst = append(dst, `"usage":{"type":"tokens","input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(in), 10)
	dst = append(dst, `,"input_token_details":{"text_tokens":0,"audio_tokens":`...)
	dst = strconv.AppendInt(dst, int64(in), 10)
	dst = append(dst, `},"output_tokens":`...)
	dst = strconv.AppendInt(dst, int64(out), 10)
	dst = append(dst, `,"total_tokens":`...)
	return append(strconv.AppendInt(dst, int64(in+out), 10), '}')
}

// AudioSeconds returns the duration of a file: from its header if it is a WAV file, else
// assuming 128 kbit/s.
func AudioSeconds(b []byte) float64 {
	const compressed = 16_000 // bytes per second
	rate, size := uint32(compressed), len(b)
	if len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WAVE" {
		for at := 12; at+8 <= len(b); {
			n := binary.LittleEndian.Uint32(b[at+4:])
			switch string(b[at : at+4]) {
			case "fmt ":
				if at+20 <= len(b) {
					rate = max(1, binary.LittleEndian.Uint32(b[at+16:]))
				}
			case "data":
				return float64(min(int64(n), int64(len(b)-at-8))) / float64(rate)
			}
			if int64(n) > int64(len(b)-at-8) {
				break
			}
			at += 8 + int(n) + int(n&1)
		}
	}
	return float64(size) / float64(rate)
}

package media

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/text"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
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
	openai *api.Script
}

// audioRequest has the parameters of a request for a transcription.
type audioRequest struct {
	seconds float64
	format  string // of the answer
	words   bool   // timestamps for each word
}

// NewTranscription returns the protocol of POST /v1/audio/transcriptions or
// /v1/audio/translations. task and object are the names in documents and in events.
func NewTranscription(task, object string) *api.Protocol {
	t := &transcription{task: task, object: object}
	t.openai = &api.Script{ContentType: api.EventStream, Content: t.delta, Close: t.done, Fail: text.FailStream}
	return &api.Protocol{
		Read: readTranscription, Document: t.document,
		Script: &api.Script{
			ContentType: api.EventStream, Open: t.open, Content: t.chunk, Close: text.CloseStream, Fail: text.FailStream,
		},
	}
}

func readTranscription(m *api.Model, r *http.Request, body []byte) (*api.Request, *api.Error) {
	f := api.ReadForm(r, body)
	q := &api.Request{N: 1, Model: f.Need("model"), Stream: f.Boolean("stream")}
	q.IncludeUsage, q.ContinuousUsage = f.Boolean("stream_include_usage"), f.Boolean("stream_continuous_usage_stats")
	q.MaxTokens = f.Integer("max_completion_tokens", 1, math.MaxInt32, 0)
	audio := &audioRequest{format: cmp.Or(f.Text("response_format"), "json")}
	if !slices.Contains([]string{"json", "text", "srt", "verbose_json", "vtt", "diarized_json"}, audio.format) {
		f.Fail("response_format", "response_format must be json, text, srt, verbose_json, vtt or diarized_json, got "+
			api.Shorten(audio.format)+".")
	}
	audio.words = slices.Contains(f.Values["timestamp_granularities[]"], "word")
	files := f.NeedFiles("file")
	if f.Err != nil {
		return q, f.Err
	}
	if len(files[0]) == 0 || len(files[0]) > maxUpload {
		text := "Maximum file size exceeded or the file is empty: " + strconv.Itoa(len(files[0])) + " bytes."
		return q, api.BadRequest("file", text)
	}
	if refusal := m.CheckRequest(q); refusal != nil {
		return q, refusal
	}
	audio.seconds = AudioSeconds(files[0])
	p := api.Prompt{Tokens: int(math.Ceil(audio.seconds * audioTokensPerSecond)), Hash: random.Hash(0, files[0])}
	if text := f.Text("prompt"); text != "" {
		p.Tokens += m.Options.Tokenizer.Count(text)
	}
	q.Prompts, q.Payload = []api.Prompt{p}, audio
	q.Length = max(1, int(math.Ceil(audio.seconds*wordsPerSecond)))
	return q, nil
}

// ownModel reports whether a model is one of OpenAI's.
func ownModel(q *api.Request) bool { return strings.HasPrefix(q.Model, "gpt-") }

// open selects the dialect.
func (t *transcription) open(e *api.Events) {
	if ownModel(e.Answer.Request) {
		e.Script = t.openai
		return
	}
	e.Buffer.B = text.AppendHead(append(e.Buffer.B[:0], "data: "...), e.Answer, "trsc-", t.object)
	e.Head = e.Buffer.B
	e.B = e.Buffer.B[len(e.Buffer.B):]
	e.FinalUsage = e.Answer.Request.IncludeUsage && e.Answer.Options.Usage != options.UsageNever
	e.ChunkUsage = e.FinalUsage && e.Answer.Request.ContinuousUsage
}

// chunk adds vLLM's event.
func (t *transcription) chunk(e *api.Events, c *api.Choice, from, to int, last bool) {
	e.B = append(append(e.B, e.Head...), `{"delta":{"content":"`...)
	e.B = append(c.AppendTokens(e.B, from, to), `"}`...)
	if last {
		e.B = append(e.B, `,"finish_reason":`...)
		e.B = append(text.AppendFinish(e.B, e.Answer, c), `,"stop_reason":null`...)
	}
	e.B = append(e.B, `}]`...)
	if e.ChunkUsage {
		e.B = text.AppendUsage(append(e.B, ','), e.Answer, e.Answer.Truth.OutputTokens, 0)
	}
	e.B = append(e.B, '}')
	e.End(true)
}

// delta adds OpenAI's event.
func (*transcription) delta(e *api.Events, c *api.Choice, from, to int, _ bool) {
	e.JSON("data: ", struct {
		Type  string `json:"type"`
		Delta string `json:"delta"`
	}{"transcript.text.delta", c.Text(from, to)}, true)
}

// done adds OpenAI's last events: the segments of a diarised transcript, and the
// whole text.
func (t *transcription) done(e *api.Events) {
	c := &e.Answer.Choices[0]
	if api.PayloadOf[*audioRequest](e.Answer).format == "diarized_json" {
		for i := range segments(c) {
			e.JSON("data: ", newSpokenSegment(e.Answer, i), false)
		}
	}
	e.JSON("data: ", struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Usage any    `json:"usage"`
	}{"transcript.text.done", c.Text(0, c.Total), audioUsage(e.Answer)}, false)
}

// tokenUsage is the usage of speech, and of the transcripts of OpenAI's own models.
type tokenUsage struct {
	Type    string      `json:"type,omitempty"`
	Input   int         `json:"input_tokens"`
	Details *heardUsage `json:"input_token_details,omitempty"`
	Output  int         `json:"output_tokens"`
	Total   int         `json:"total_tokens"`
}

type heardUsage struct {
	Text  int `json:"text_tokens"`
	Audio int `json:"audio_tokens"`
}

// audioUsage returns the usage of a transcript: seconds, or tokens for OpenAI's own models.
func audioUsage(x *api.Answer) any {
	if !ownModel(x.Request) {
		return struct {
			Type    string `json:"type"`
			Seconds int    `json:"seconds"`
		}{"duration", int(math.Ceil(api.PayloadOf[*audioRequest](x).seconds))}
	}
	in, out := x.Truth.PromptTokens, api.LongestChoice(x.Choices)
	return tokenUsage{Type: "tokens", Input: in, Details: &heardUsage{Audio: in}, Output: out, Total: in + out}
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

// document appends a transcript in the requested format.
func (t *transcription) document(dst []byte, x *api.Answer) ([]byte, string) {
	const plain = "text/plain; charset=utf-8"
	c := &x.Choices[0]
	switch api.PayloadOf[*audioRequest](x).format {
	case "text":
		return append(append(dst, c.Text(0, c.Total)...), '\n'), plain
	case "srt":
		return appendSubtitles(dst, x, ","), plain
	case "vtt":
		return appendSubtitles(append(dst, "WEBVTT\n\n"...), x, "."), plain
	}
	return api.AppendJSON(dst, t.transcript(x)), api.JSON
}

// transcript is a transcript in one of the formats that are JSON.
type transcript struct {
	Task     string  `json:"task,omitempty"`
	Language string  `json:"language,omitempty"`
	Duration *moment `json:"duration,omitempty"`
	Text     string  `json:"text"`
	Segments []any   `json:"segments,omitzero"` // whisperSegment or spokenSegment
	Words    []word  `json:"words,omitzero"`
	Usage    any     `json:"usage,omitempty"`
}

// moment is a time in the audio, in seconds, which is sent with three decimals.
type moment float64

// MarshalJSON implements json.Marshaler.
func (m moment) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(m), 'f', 3, 64), nil
}

func (t *transcription) transcript(x *api.Answer) *transcript {
	c, audio := &x.Choices[0], api.PayloadOf[*audioRequest](x)
	out := &transcript{Text: c.Text(0, c.Total)}
	if audio.format != "json" {
		out.Task, out.Duration, out.Segments = t.task, (*moment)(&audio.seconds), []any{}
		for i := range segments(c) {
			if audio.format == "diarized_json" {
				out.Segments = append(out.Segments, newSpokenSegment(x, i))
			} else {
				out.Segments = append(out.Segments, newWhisperSegment(x, i))
			}
		}
	}
	if audio.format == "verbose_json" {
		out.Language = "english"
		if audio.words {
			out.Words = words(x)
		}
	}
	if x.Options.Usage != options.UsageNever {
		out.Usage = audioUsage(x)
	}
	return out
}

// segments returns the number of segments of a transcript.
func segments(c *api.Choice) int { return (c.Total + segmentWords - 1) / segmentWords }

// bounds returns the range of the words of a segment.
func bounds(c *api.Choice, segment int) (from, to int) {
	return segment * segmentWords, min((segment+1)*segmentWords, c.Total)
}

// wordAt returns the time of a word in the audio.
func wordAt(x *api.Answer, word int) moment {
	return moment(api.PayloadOf[*audioRequest](x).seconds * float64(word) / float64(max(1, x.Choices[0].Total)))
}

// whisperSegment is a segment in Whisper's form.
type whisperSegment struct {
	ID           int         `json:"id"`
	Seek         int         `json:"seek"`
	Start        moment      `json:"start"`
	End          moment      `json:"end"`
	Text         string      `json:"text"`
	Tokens       []int       `json:"tokens"`
	Temperature  json.Number `json:"temperature"`
	AvgLogprob   float64     `json:"avg_logprob"`
	Compression  float64     `json:"compression_ratio"`
	NoSpeechProb float64     `json:"no_speech_prob"`
}

func newWhisperSegment(x *api.Answer, i int) whisperSegment {
	c := &x.Choices[0]
	from, to := bounds(c, i)
	return whisperSegment{
		ID: i, Start: wordAt(x, from), End: wordAt(x, to), Text: c.Text(from, to), Tokens: []int{},
		Temperature: "0.0", AvgLogprob: -0.2, Compression: 1.5, NoSpeechProb: 0.01,
	}
}

// spokenSegment is a segment with its speaker.
type spokenSegment struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Start   moment `json:"start"`
	End     moment `json:"end"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
}

// newSpokenSegment returns a segment of one of two speakers, who alternate.
func newSpokenSegment(x *api.Answer, i int) spokenSegment {
	c := &x.Choices[0]
	from, to := bounds(c, i)
	return spokenSegment{
		Type: "transcript.text.segment", ID: "seg_" + strconv.Itoa(i), Start: wordAt(x, from), End: wordAt(x, to),
		Speaker: "AB"[i%2 : i%2+1], Text: c.Text(from, to),
	}
}

// word is a word with its times.
type word struct {
	Word  string `json:"word"`
	Start moment `json:"start"`
	End   moment `json:"end"`
}

func words(x *api.Answer) []word {
	c := &x.Choices[0]
	all := make([]word, c.Total)
	for i := range all {
		all[i] = word{c.Text(i, i+1), wordAt(x, i), wordAt(x, i+1)}
	}
	return all
}

// appendSubtitles appends numbered (SRT) or plain (WebVTT) subtitles; point separates
// seconds and milliseconds.
func appendSubtitles(dst []byte, x *api.Answer, point string) []byte {
	c := &x.Choices[0]
	stamp := func(seconds moment) string {
		ms := int64(seconds*1000 + 0.5)
		return fmt.Sprintf("%02d:%02d:%02d%s%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, point, ms%1000)
	}
	for i := range segments(c) {
		from, to := bounds(c, i)
		if point == "," {
			dst = append(strconv.AppendInt(dst, int64(i+1), 10), '\n')
		}
		dst = append(dst, stamp(wordAt(x, from))+" --> "+stamp(wordAt(x, to))+"\n"+c.Text(from, to)+"\n\n"...)
	}
	return dst
}

package media

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/openai"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/seed"
)

// The audio format of speech: 16 bits, one channel.
const (
	sampleRate = 24_000
	WordSize   = sampleRate * 2 * 10 / 25 // bytes of a word, which takes 0.4 s
)

// speech is POST /v1/audio/speech. The answer is a tone with the duration of the spoken
// text, sent word by word at the rate of tokens: as bytes, or as OpenAI's events if
// stream_format is "sse". With "stream": false it is sent in one piece.
type speech struct {
	word  []byte // samples of one word: whole periods, so that words join without a click
	bytes api.Script
	sse   api.Script
}

// speechRequest has the parameters of a request for speech.
type speechRequest struct {
	format string // "wav" or "pcm"
	events bool   // server-sent events
}

var _ api.Protocol = (*speech)(nil)

// NewSpeech returns the protocol of POST /v1/audio/speech.
func NewSpeech() *speech {
	const pitch, loudness = 440, 0.3 // Hz; 176 periods in a word
	p := &speech{word: make([]byte, 0, WordSize)}
	for i := range WordSize / 2 {
		level := loudness * math.MaxInt16 * math.Sin(2*math.Pi*pitch*float64(i)/sampleRate)
		p.word = binary.LittleEndian.AppendUint16(p.word, uint16(int16(level)))
	}
	p.bytes = api.Script{ContentType: "audio/wav", Unframed: true, Open: p.open, Begin: p.begin, Content: p.samples}
	p.sse = api.Script{ContentType: api.EventStream, Content: p.delta, Close: p.done, Fail: openai.FailStream}
	return p
}

func (*speech) Read(m *api.Model, _ *http.Request, body []byte) (*api.Request, *apierror.Error) {
	q := &api.Request{N: 1, Stream: true}
	refusal := m.ParseJSON(body, func(f *api.Fields) {
		q.Model = f.Text("model")
		if v, ok := f.Get("stream"); ok && v.Type() == fastjson.TypeFalse {
			q.Stream = false
		}
		if v, ok := f.Get("input"); !ok || v.Type() != fastjson.TypeString {
			f.Fail("input", "string")
		}
		input := f.Text("input")
		v := &speechRequest{format: f.Text("response_format"), events: f.Text("stream_format") == "sse"}
		if v.format == "" {
			v.format = "wav"
		}
		if f.Err == nil && v.format != "wav" && v.format != "pcm" {
			f.Err = apierror.BadRequest("response_format", "response_format must be wav or pcm on this server, got "+v.format[:min(len(v.format), 100)]+".")
		}
		if f.Err == nil {
			f.Err = m.CheckRequest(q)
		}
		q.Prompts = []api.Prompt{{Tokens: m.Options.Tokenizer.Count(input), Hash: seed.Hash(0, []byte(input))}}
		q.Payload, q.Length = v, max(1, len(strings.Fields(input)))
	})
	return q, refusal
}

func (*speech) Reasons() bool { return false }

func (*speech) Refusal(dst []byte, e *apierror.Error) []byte { return apierror.Append(dst, e) }

func (p *speech) Script() *api.Script { return &p.bytes }

func speechRequestOf(x *api.Answer) *speechRequest {
	v, _ := x.Request.Payload.(*speechRequest)
	return v
}

// Document appends the whole file.
func (p *speech) Document(dst []byte, x *api.Answer) ([]byte, string) {
	dst = p.appendHeader(dst, x)
	for range x.Choices[0].Total {
		dst = append(dst, p.word...)
	}
	return dst, "audio/" + speechRequestOf(x).format
}

// open selects how the audio is sent.
func (p *speech) open(e *api.Events) {
	switch v := speechRequestOf(e.Answer); {
	case v.events:
		e.Script = &p.sse
	case v.format == "pcm":
		raw := p.bytes
		raw.ContentType, e.EOL = "audio/pcm", ""
		e.Script = &raw
	default:
		e.EOL = ""
	}
}

// begin sends the header of a WAV file before the first audio, as servers do.
func (p *speech) begin(e *api.Events) error {
	if speechRequestOf(e.Answer).format != "wav" {
		return nil
	}
	e.B = p.appendHeader(e.B, e.Answer)
	if err := e.End(false); err != nil {
		return err
	}
	return e.Flush()
}

func (p *speech) samples(e *api.Events, _ *api.Choice, from, to int, _ bool) error {
	for range to - from {
		e.B = append(e.B, p.word...)
	}
	return e.End(true)
}

// delta adds an event with audio; the first one includes the header of the file.
func (p *speech) delta(e *api.Events, _ *api.Choice, from, to int, _ bool) error {
	var sound []byte
	if from == 0 {
		sound = p.appendHeader(sound, e.Answer)
	}
	for range to - from {
		sound = append(sound, p.word...)
	}
	e.B = append(e.B, `data: {"type":"speech.audio.delta","audio":"`...)
	e.B = append(base64.StdEncoding.AppendEncode(e.B, sound), `"}`...)
	return e.End(true)
}

func (*speech) done(e *api.Events) error {
	in, out := e.Answer.Truth.PromptTokens, e.Answer.Truth.OutputTokens
	e.B = append(e.B, `data: {"type":"speech.audio.done","usage":{"input_tokens":`...)
	e.B = strconv.AppendInt(e.B, int64(in), 10)
	e.B = append(e.B, `,"output_tokens":`...)
	e.B = strconv.AppendInt(e.B, int64(out), 10)
	e.B = append(e.B, `,"total_tokens":`...)
	e.B = append(strconv.AppendInt(e.B, int64(in+out), 10), `}}`...)
	return e.End(false)
}

// appendHeader appends the header of the file, if it has one.
func (*speech) appendHeader(dst []byte, x *api.Answer) []byte {
	if speechRequestOf(x).format != "wav" {
		return dst
	}
	little, size := binary.LittleEndian, uint32(x.Choices[0].Total*WordSize)
	dst = little.AppendUint32(append(dst, "RIFF"...), 36+size)
	dst = little.AppendUint32(append(dst, "WAVEfmt "...), 16)
	dst = little.AppendUint16(dst, 1) // PCM
	dst = little.AppendUint16(dst, 1) // channels
	dst = little.AppendUint32(dst, sampleRate)
	dst = little.AppendUint32(dst, sampleRate*2)
	dst = little.AppendUint16(dst, 2)
	dst = little.AppendUint16(dst, 16)
	return little.AppendUint32(append(dst, "data"...), size)
}

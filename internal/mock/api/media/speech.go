package media

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"net/http"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/text"
	"aiperfd/internal/mock/random"
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
	word []byte // samples of one word: whole periods, so that words join without a click
	wav  *api.Script
	pcm  *api.Script
	sse  *api.Script
}

// speechRequest has the parameters of a request for speech.
type speechRequest struct {
	format string // "wav" or "pcm"
	events bool   // server-sent events
}

// NewSpeech returns the protocol of POST /v1/audio/speech.
func NewSpeech() *api.Protocol {
	const pitch, loudness = 440, 0.3 // Hz; 176 periods in a word
	p := &speech{word: make([]byte, 0, WordSize)}
	for i := range WordSize / 2 {
		level := loudness * math.MaxInt16 * math.Sin(2*math.Pi*pitch*float64(i)/sampleRate)
		p.word = binary.LittleEndian.AppendUint16(p.word, uint16(int16(level)))
	}
	p.wav = &api.Script{ContentType: "audio/wav", Unframed: true, Open: p.open, Begin: p.begin, Content: p.samples}
	p.pcm = &api.Script{ContentType: "audio/pcm", Unframed: true, Content: p.samples}
	p.sse = &api.Script{ContentType: api.EventStream, Content: p.delta, Close: p.done, Fail: text.FailStream}
	return &api.Protocol{Read: readSpeech, Document: p.document, Script: p.wav}
}

func readSpeech(m *api.Model, _ *http.Request, body []byte) (*api.Request, *api.Error) {
	q := &api.Request{N: 1, Stream: true}
	refusal := m.ParseJSON(body, func(f *api.Fields) {
		q.Model = f.Text("model")
		if v, ok := f.Get("stream"); ok && v.Type() == fastjson.TypeFalse {
			q.Stream = false
		}
		if v, ok := f.Get("input"); !ok || v.Type() != fastjson.TypeString {
			f.Fail("input", "string")
		}
		input := f.Value.GetStringBytes("input")
		v := &speechRequest{format: cmp.Or(f.Text("response_format"), "wav"), events: f.Text("stream_format") == "sse"}
		if v.format != "wav" && v.format != "pcm" {
			f.Refuse("response_format", "response_format must be wav or pcm on this server, got "+api.Shorten(v.format)+".")
		}
		if !f.Failed() {
			f.Err = m.CheckRequest(q)
		}
		q.Prompts = []api.Prompt{{Tokens: m.Options.Tokenizer.Count(string(input)), Hash: random.Hash(0, input)}}
		q.Payload, q.Length = v, max(1, len(bytes.Fields(input)))
	})
	return q, refusal
}

// document appends the whole file.
func (p *speech) document(dst []byte, x *api.Answer) ([]byte, string) {
	dst = p.appendHeader(dst, x)
	for range x.Choices[0].Total {
		dst = append(dst, p.word...)
	}
	return dst, "audio/" + api.PayloadOf[*speechRequest](x).format
}

// open selects how the audio is sent.
func (p *speech) open(e *api.Events) {
	switch v := api.PayloadOf[*speechRequest](e.Answer); {
	case v.events:
		e.Script = p.sse
		return
	case v.format == "pcm":
		e.Script = p.pcm
	}
	e.EOL = ""
}

// begin sends the header of a WAV file before the first audio, as servers do.
func (p *speech) begin(e *api.Events) {
	e.B = p.appendHeader(e.B, e.Answer)
	e.End(false)
	e.Flush()
}

func (p *speech) samples(e *api.Events, _ *api.Choice, from, to int, _ bool) {
	for range to - from {
		e.B = append(e.B, p.word...)
	}
	e.End(true)
}

// delta adds an event with audio; the first one includes the header of the file.
func (p *speech) delta(e *api.Events, _ *api.Choice, from, to int, _ bool) {
	var sound []byte
	if from == 0 {
		sound = p.appendHeader(sound, e.Answer)
	}
	for range to - from {
		sound = append(sound, p.word...)
	}
	e.JSON("data: ", struct {
		Type  string `json:"type"`
		Audio []byte `json:"audio"`
	}{"speech.audio.delta", sound}, true)
}

func (*speech) done(e *api.Events) {
	in, out := e.Answer.Truth.PromptTokens, e.Answer.Truth.OutputTokens
	e.JSON("data: ", struct {
		Type  string     `json:"type"`
		Usage tokenUsage `json:"usage"`
	}{"speech.audio.done", tokenUsage{Input: in, Output: out, Total: in + out}}, false)
}

// appendHeader appends the header of the file, if it has one.
func (*speech) appendHeader(dst []byte, x *api.Answer) []byte {
	if api.PayloadOf[*speechRequest](x).format != "wav" {
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

package mock

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/seed"
)

// The sound of speech: 16 bits, one channel.
const (
	sampleRate = 24_000
	wordSize   = sampleRate * 2 * 10 / 25 // bytes of a word, which takes 0.4 s
)

// speech is POST /v1/audio/speech. The answer is a tone as long as its text takes
// to be spoken, sent word by word at the pace of tokens: bytes, or OpenAI's events
// where stream_format asks for them. Only with "stream": false does it come whole.
type speech struct {
	word  []byte // samples of one word: whole periods, so that words follow each other without a click
	bytes script
	sse   script
}

// voice is what a speech keeps of its request.
type voice struct {
	format string // "wav" or "pcm"
	events bool   // server-sent events
}

var _ protocol = (*speech)(nil)

func newSpeech() *speech {
	const pitch, loudness = 440, 0.3 // Hz; 176 periods in a word
	p := &speech{word: make([]byte, 0, wordSize)}
	for i := range wordSize / 2 {
		level := loudness * math.MaxInt16 * math.Sin(2*math.Pi*pitch*float64(i)/sampleRate)
		p.word = binary.LittleEndian.AppendUint16(p.word, uint16(int16(level)))
	}
	p.bytes = script{contentType: "audio/wav", unframed: true, open: p.open, begin: p.begin, content: p.samples}
	p.sse = script{contentType: eventStream, content: p.delta, close: p.done, fail: (*openAI)(nil).fail}
	return p
}

func (*speech) read(m *model, _ *http.Request, body []byte) (*textRequest, *apierror.Error) {
	q := &textRequest{n: 1, stream: true}
	refusal := m.parseJSON(body, func(f *fields) {
		q.model = f.text("model")
		if v, ok := f.get("stream"); ok && v.Type() == fastjson.TypeFalse {
			q.stream = false
		}
		if v, ok := f.get("input"); !ok || v.Type() != fastjson.TypeString {
			f.fail("input", "string")
		}
		input := f.text("input")
		v := &voice{format: f.text("response_format"), events: f.text("stream_format") == "sse"}
		if v.format == "" {
			v.format = "wav"
		}
		if f.err == nil && v.format != "wav" && v.format != "pcm" {
			f.err = apierror.BadRequest("response_format", "response_format must be wav or pcm on this server, got "+v.format[:min(len(v.format), 100)]+".")
		}
		if f.err == nil {
			f.err = m.checkRequest(q)
		}
		q.prompts = []prompt{{tokens: m.opt.Tokenizer.Count(input), hash: seed.Hash(0, []byte(input))}}
		q.payload, q.length = v, max(1, len(strings.Fields(input)))
	})
	return q, refusal
}

func (*speech) reasons() bool { return false }

func (*speech) refusal(dst []byte, e *apierror.Error) []byte { return apierror.Append(dst, e) }

func (p *speech) script() *script { return &p.bytes }

func voiceIn(x *answer) *voice {
	v, _ := x.q.payload.(*voice)
	return v
}

// document is the whole file.
func (p *speech) document(dst []byte, x *answer) ([]byte, string) {
	dst = p.appendHeader(dst, x)
	for range x.choices[0].total {
		dst = append(dst, p.word...)
	}
	return dst, "audio/" + voiceIn(x).format
}

// open chooses how the audio is sent.
func (p *speech) open(e *events) {
	switch v := voiceIn(e.x); {
	case v.events:
		e.script = &p.sse
	case v.format == "pcm":
		raw := p.bytes
		raw.contentType, e.eol = "audio/pcm", ""
		e.script = &raw
	default:
		e.eol = ""
	}
}

// begin sends the header of a WAV file long before there is sound, as servers do.
func (p *speech) begin(e *events) error {
	if voiceIn(e.x).format != "wav" {
		return nil
	}
	e.b = p.appendHeader(e.b, e.x)
	if err := e.end(false); err != nil {
		return err
	}
	return e.flush()
}

func (p *speech) samples(e *events, _ *choice, from, to int, _ bool) error {
	for range to - from {
		e.b = append(e.b, p.word...)
	}
	return e.end(true)
}

// delta adds an event with sound, the first one with the file's header.
func (p *speech) delta(e *events, _ *choice, from, to int, _ bool) error {
	var sound []byte
	if from == 0 {
		sound = p.appendHeader(sound, e.x)
	}
	for range to - from {
		sound = append(sound, p.word...)
	}
	e.b = append(e.b, `data: {"type":"speech.audio.delta","audio":"`...)
	e.b = append(base64.StdEncoding.AppendEncode(e.b, sound), `"}`...)
	return e.end(true)
}

func (*speech) done(e *events) error {
	in, out := e.x.truth.PromptTokens, e.x.truth.OutputTokens
	e.b = append(e.b, `data: {"type":"speech.audio.done","usage":{"input_tokens":`...)
	e.b = strconv.AppendInt(e.b, int64(in), 10)
	e.b = append(e.b, `,"output_tokens":`...)
	e.b = strconv.AppendInt(e.b, int64(out), 10)
	e.b = append(e.b, `,"total_tokens":`...)
	e.b = append(strconv.AppendInt(e.b, int64(in+out), 10), `}}`...)
	return e.end(false)
}

// appendHeader appends the header of the file, if it has one.
func (*speech) appendHeader(dst []byte, x *answer) []byte {
	if voiceIn(x).format != "wav" {
		return dst
	}
	little, size := binary.LittleEndian, uint32(x.choices[0].total*wordSize)
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

package media

import (
	"encoding/json"
	"fmt"
	"strconv"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

// Document appends a transcript in the requested format.
func (t *transcription) Document(dst []byte, x *api.Answer) ([]byte, string) {
	const plain = "text/plain; charset=utf-8"
	c := &x.Choices[0]
	switch audioRequestOf(x).format {
	case "text":
		return append(append(dst, plainText(c, 0, c.Total)...), '\n'), plain
	case "srt":
		return t.appendSubtitles(dst, x, ","), plain
	case "vtt":
		return t.appendSubtitles(append(dst, "WEBVTT\n\n"...), x, "."), plain
	}
	return t.appendJSON(dst, x), "application/json"
}

// appendJSON appends the formats that are JSON.
func (t *transcription) appendJSON(dst []byte, x *api.Answer) []byte {
	c, audio := &x.Choices[0], audioRequestOf(x)
	dst = append(dst, '{')
	if audio.format != "json" {
		dst = append(dst, `"task":"`+t.task+`",`...)
		if audio.format == "verbose_json" {
			dst = append(dst, `"language":"english",`...)
		}
		dst = append(appendMoment(append(dst, `"duration":`...), audio.seconds), ',')
	}
	dst = append(c.AppendTokens(append(dst, `"text":"`...), 0, c.Total), '"')
	switch audio.format {
	case "verbose_json":
		dst = t.appendSegments(append(dst, `,"segments":[`...), x, t.appendSegment)
		if audio.words {
			dst = t.appendWords(append(dst, `,"words":[`...), x)
		}
	case "diarized_json":
		dst = t.appendSegments(append(dst, `,"segments":[`...), x, t.appendSpeech)
	}
	if x.Options.Usage != options.UsageNever {
		dst = appendAudioUsage(append(dst, ','), x)
	}
	return append(dst, '}')
}

func (*transcription) appendSegments(dst []byte, x *api.Answer, one func([]byte, *api.Answer, int) []byte) []byte {
	for i := range segments(&x.Choices[0]) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, x, i)
	}
	return append(dst, ']')
}

// segments returns the number of segments of a transcript.
func segments(c *api.Choice) int { return (c.Total + segmentWords - 1) / segmentWords }

// bounds returns the range of the words of a segment.
func bounds(c *api.Choice, segment int) (from, to int) {
	return segment * segmentWords, min((segment+1)*segmentWords, c.Total)
}

// wordAt returns the time of a word in the audio.
func wordAt(x *api.Answer, word int) float64 {
	return audioRequestOf(x).seconds * float64(word) / float64(max(1, x.Choices[0].Total))
}

// appendSegment appends a segment in Whisper's form.
func (*transcription) appendSegment(dst []byte, x *api.Answer, i int) []byte {
	c := &x.Choices[0]
	from, to := bounds(c, i)
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, int64(i), 10)
	dst = append(dst, `,"seek":0,"start":`...)
	dst = appendMoment(dst, wordAt(x, from))
	dst = append(dst, `,"end":`...)
	dst = appendMoment(dst, wordAt(x, to))
	dst = append(dst, `,"text":"`...)
	dst = c.AppendTokens(dst, from, to)
	return append(dst, `","tokens":[],"temperature":0.0,"avg_logprob":-0.2,"compression_ratio":1.5,"no_speech_prob":0.01}`...)
}

// appendSpeech appends a segment with its speaker, one of two who alternate.
func (*transcription) appendSpeech(dst []byte, x *api.Answer, i int) []byte {
	c := &x.Choices[0]
	from, to := bounds(c, i)
	dst = append(dst, `{"type":"transcript.text.segment","id":"seg_`...)
	dst = strconv.AppendInt(dst, int64(i), 10)
	dst = append(dst, `","start":`...)
	dst = appendMoment(dst, wordAt(x, from))
	dst = append(dst, `,"end":`...)
	dst = appendMoment(dst, wordAt(x, to))
	dst = append(dst, `,"speaker":"`...)
	dst = append(dst, "AB"[i%2])
	dst = append(dst, `","text":"`...)
	return append(c.AppendTokens(dst, from, to), `"}`...)
}

func (*transcription) appendWords(dst []byte, x *api.Answer) []byte {
	c := &x.Choices[0]
	for i := range c.Total {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"word":"`...)
		dst = c.AppendTokens(dst, i, i+1)
		dst = append(dst, `","start":`...)
		dst = appendMoment(dst, wordAt(x, i))
		dst = append(dst, `,"end":`...)
		dst = append(appendMoment(dst, wordAt(x, i+1)), '}')
	}
	return append(dst, ']')
}

// appendSubtitles appends numbered (SRT) or plain (WebVTT) subtitles; point separates
// seconds and milliseconds.
func (*transcription) appendSubtitles(dst []byte, x *api.Answer, point string) []byte {
	c := &x.Choices[0]
	stamp := func(seconds float64) string {
		ms := int64(seconds*1000 + 0.5)
		return fmt.Sprintf("%02d:%02d:%02d%s%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, point, ms%1000)
	}
	for i := range segments(c) {
		from, to := bounds(c, i)
		if point == "," {
			dst = append(strconv.AppendInt(dst, int64(i+1), 10), '\n')
		}
		dst = append(dst, stamp(wordAt(x, from))+" --> "+stamp(wordAt(x, to))+"\n"+plainText(c, from, to)+"\n\n"...)
	}
	return dst
}

// plainText returns words of a choice as plain text.
func plainText(c *api.Choice, from, to int) string {
	var text string
	inside := append(c.AppendTokens([]byte{'"'}, from, to), '"')
	if json.Unmarshal(inside, &text) != nil {
		return string(inside) // the tokens of a choice are always valid JSON
	}
	return text
}

func appendMoment(dst []byte, seconds float64) []byte {
	return strconv.AppendFloat(dst, seconds, 'f', 3, 64)
}

package mock

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// document writes a transcript in the format that was asked for.
func (t *transcription) document(dst []byte, x *answer) ([]byte, string) {
	const plain = "text/plain; charset=utf-8"
	c := &x.choices[0]
	switch dictationIn(x).format {
	case "text":
		return append(append(dst, said(c, 0, c.total)...), '\n'), plain
	case "srt":
		return t.appendSubtitles(dst, x, ","), plain
	case "vtt":
		return t.appendSubtitles(append(dst, "WEBVTT\n\n"...), x, "."), plain
	}
	return t.appendJSON(dst, x), "application/json"
}

// appendJSON appends the formats that are JSON.
func (t *transcription) appendJSON(dst []byte, x *answer) []byte {
	c, sound := &x.choices[0], dictationIn(x)
	dst = append(dst, '{')
	if sound.format != "json" {
		dst = append(dst, `"task":"`+t.task+`",`...)
		if sound.format == "verbose_json" {
			dst = append(dst, `"language":"english",`...)
		}
		dst = append(appendMoment(append(dst, `"duration":`...), sound.seconds), ',')
	}
	dst = append(c.appendTokens(append(dst, `"text":"`...), 0, c.total), '"')
	switch sound.format {
	case "verbose_json":
		dst = t.appendSegments(append(dst, `,"segments":[`...), x, t.appendSegment)
		if sound.words {
			dst = t.appendWords(append(dst, `,"words":[`...), x)
		}
	case "diarized_json":
		dst = t.appendSegments(append(dst, `,"segments":[`...), x, t.appendSpeech)
	}
	if x.opt.Usage != UsageNever {
		dst = appendAudioUsage(append(dst, ','), x)
	}
	return append(dst, '}')
}

func (*transcription) appendSegments(dst []byte, x *answer, one func([]byte, *answer, int) []byte) []byte {
	for i := range segments(&x.choices[0]) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, x, i)
	}
	return append(dst, ']')
}

// segments is the number of segments of a transcript.
func segments(c *choice) int { return (c.total + segmentWords - 1) / segmentWords }

// bounds returns the words of a segment.
func bounds(c *choice, segment int) (from, to int) {
	return segment * segmentWords, min((segment+1)*segmentWords, c.total)
}

// wordAt returns when a word is said.
func wordAt(x *answer, word int) float64 {
	return dictationIn(x).seconds * float64(word) / float64(max(1, x.choices[0].total))
}

// appendSegment appends a segment as Whisper has them.
func (*transcription) appendSegment(dst []byte, x *answer, i int) []byte {
	c := &x.choices[0]
	from, to := bounds(c, i)
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, int64(i), 10)
	dst = append(dst, `,"seek":0,"start":`...)
	dst = appendMoment(dst, wordAt(x, from))
	dst = append(dst, `,"end":`...)
	dst = appendMoment(dst, wordAt(x, to))
	dst = append(dst, `,"text":"`...)
	dst = c.appendTokens(dst, from, to)
	return append(dst, `","tokens":[],"temperature":0.0,"avg_logprob":-0.2,"compression_ratio":1.5,"no_speech_prob":0.01}`...)
}

// appendSpeech appends a segment with its speaker; two take turns.
func (*transcription) appendSpeech(dst []byte, x *answer, i int) []byte {
	c := &x.choices[0]
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
	return append(c.appendTokens(dst, from, to), `"}`...)
}

func (*transcription) appendWords(dst []byte, x *answer) []byte {
	c := &x.choices[0]
	for i := range c.total {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"word":"`...)
		dst = c.appendTokens(dst, i, i+1)
		dst = append(dst, `","start":`...)
		dst = appendMoment(dst, wordAt(x, i))
		dst = append(dst, `,"end":`...)
		dst = append(appendMoment(dst, wordAt(x, i+1)), '}')
	}
	return append(dst, ']')
}

// appendSubtitles appends numbered (SRT) or plain (WebVTT) subtitles; point is what
// stands before the milliseconds.
func (*transcription) appendSubtitles(dst []byte, x *answer, point string) []byte {
	c := &x.choices[0]
	stamp := func(seconds float64) string {
		ms := int64(seconds*1000 + 0.5)
		return fmt.Sprintf("%02d:%02d:%02d%s%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, point, ms%1000)
	}
	for i := range segments(c) {
		from, to := bounds(c, i)
		if point == "," {
			dst = append(strconv.AppendInt(dst, int64(i+1), 10), '\n')
		}
		dst = append(dst, stamp(wordAt(x, from))+" --> "+stamp(wordAt(x, to))+"\n"+said(c, from, to)+"\n\n"...)
	}
	return dst
}

// said returns words of a choice as plain text.
func said(c *choice, from, to int) string {
	var text string
	inside := append(c.appendTokens([]byte{'"'}, from, to), '"')
	if json.Unmarshal(inside, &text) != nil {
		return string(inside) // the tokens of a choice are always good JSON
	}
	return text
}

func appendMoment(dst []byte, seconds float64) []byte {
	return strconv.AppendFloat(dst, seconds, 'f', 3, 64)
}

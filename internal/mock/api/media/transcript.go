package media

import (
	"encoding/json"
	"fmt"
	"strconv"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

// document appends a transcript in the requested format.
func (t *transcription) document(dst []byte, x *api.Answer) ([]byte, string) {
	const plain = "text/plain; charset=utf-8"
	c := &x.Choices[0]
	switch audioRequestOf(x).format {
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
	c, audio := &x.Choices[0], audioRequestOf(x)
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
	return moment(audioRequestOf(x).seconds * float64(word) / float64(max(1, x.Choices[0].Total)))
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

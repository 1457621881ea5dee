package api

import (
	"bytes"
	"strconv"

	"aiperfd/internal/mock/options"
)

// decorate changes the form of the event that is being rendered, according to the
// options. Its meaning stays the same.
func (e *Events) decorate() {
	opt := e.Answer.Options
	event := bytes.Clone(e.B[e.start:])
	if !bytes.HasPrefix(event, []byte("data: ")) && !bytes.Contains(event, []byte("\ndata: ")) {
		return // a comment
	}
	e.B = e.B[:e.start]
	if opt.ExtraFields {
		e.serial++
		e.B = append(e.B, "id: "...)
		e.B = strconv.AppendInt(e.B, int64(e.serial), 10)
		e.B = append(e.B, e.EOL...)
		e.B = append(append(e.B, "retry: 3000"...), e.EOL...)
		e.B = append(append(e.B, "x-unknown: 1"...), e.EOL...)
	}
	if opt.MultiLine {
		// The first comma between two members is outside of all strings.
		event = bytes.Replace(event, []byte(`,"`), []byte(`,`+e.EOL+`data: "`), 1)
	}
	if opt.NoSpace {
		event = bytes.ReplaceAll(event, []byte(e.EOL+"data: "), []byte(e.EOL+"data:"))
		if rest, ok := bytes.CutPrefix(event, []byte("data: ")); ok {
			event = append([]byte("data:"), rest...)
		}
	}
	e.B = append(e.B, event...)
}

// nextLineEnd changes the line ends after every event if they are mixed.
func (e *Events) nextLineEnd() {
	if e.Answer.Options.LineEnd == options.LineMixed {
		e.EOL = map[string]string{"\n": "\r\n", "\r\n": "\r", "\r": "\n"}[e.EOL]
	}
}

// Done writes [DONE] in the form of the option.
func (e *Events) Done() {
	const marker = "data: [DONE]"
	switch e.Answer.Options.Done {
	case options.DoneTwice:
		e.B = append(e.B, marker...)
		e.End(false)
	case options.DoneNoNewline:
		e.B = append(e.B, marker...)
		e.Gathered++
		e.Flush()
		return
	case options.DoneNamed:
		e.B = append(append(e.B, "event: done"...), e.EOL...)
	}
	e.B = append(e.B, marker...)
	e.End(false)
}

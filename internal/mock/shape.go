package mock

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// splitSize reads bytes:N.
func splitSize(split string) (int, error) {
	text, ok := strings.CutPrefix(split, "bytes:")
	n, err := strconv.Atoi(text)
	if !ok || err != nil || n < 1 {
		return 0, fmt.Errorf("split is %q, want bytes:N with N ≥ 1 or one of %s", split, strings.Join(Choices("split"), ", "))
	}
	return n, nil
}

// shaped says whether events change before they are written.
func (o *Options) shaped() bool {
	return o.NoSpace || o.ExtraFields || o.MultiLine || o.LineEnd == LineMixed
}

// decorate changes the event that is being rendered, as the options say; its
// meaning stays.
func (e *events) decorate() {
	opt := e.x.opt
	event := bytes.Clone(e.b[e.start:])
	if !bytes.HasPrefix(event, []byte("data: ")) && !bytes.Contains(event, []byte("\ndata: ")) {
		return // a comment
	}
	e.b = e.b[:e.start]
	if opt.ExtraFields {
		e.serial++
		e.b = append(e.b, "id: "...)
		e.b = strconv.AppendInt(e.b, int64(e.serial), 10)
		e.b = append(e.b, e.eol...)
		e.b = append(append(e.b, "retry: 3000"...), e.eol...)
		e.b = append(append(e.b, "x-unknown: 1"...), e.eol...)
	}
	if opt.MultiLine {
		// The first comma between two members lies outside of all texts.
		event = bytes.Replace(event, []byte(`,"`), []byte(`,`+e.eol+`data: "`), 1)
	}
	if opt.NoSpace {
		event = bytes.ReplaceAll(event, []byte(e.eol+"data: "), []byte(e.eol+"data:"))
		if rest, ok := bytes.CutPrefix(event, []byte("data: ")); ok {
			event = append([]byte("data:"), rest...)
		}
	}
	e.b = append(e.b, event...)
}

// nextLineEnd changes line ends from event to event when they are mixed.
func (e *events) nextLineEnd() {
	if e.x.opt.LineEnd == LineMixed {
		e.eol = map[string]string{"\n": "\r\n", "\r\n": "\r", "\r": "\n"}[e.eol]
	}
}

// streamType returns the content type of streams and whether to name it.
func (o *Options) streamType(right string) (kind string, named bool) {
	switch o.StreamType {
	case StreamTypePlain:
		return "text/plain", true
	case StreamTypeJSON:
		return "application/json", true
	case StreamTypeMissing:
		return "", false
	}
	return right, true
}

// done writes [DONE] as the option says.
func (e *events) done() error {
	const marker = "data: [DONE]"
	switch e.x.opt.Done {
	case DoneTwice:
		e.b = append(e.b, marker...)
		if err := e.end(false); err != nil {
			return err
		}
	case DoneNoNewline:
		e.b = append(e.b, marker...)
		e.gathered++
		return e.flush()
	case DoneNamed:
		e.b = append(append(e.b, "event: done"...), e.eol...)
	}
	e.b = append(e.b, marker...)
	return e.end(false)
}

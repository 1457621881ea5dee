package runpod

import (
	"bytes"
	"encoding/json"
	"time"

	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/eventlog"
)

// sseReassembly puts server-sent events together of texts that were cut anywhere, or
// finds that they are none. An event has the time of the text that completed it.
// The zero value is ready.
type sseReassembly struct {
	kind  reassemblyMode
	held  []byte // not handed on yet
	at    time.Duration
	read  int32 // of the buffered text
	event eventlog.Event
	lines int // of the event
	cr    bool
}

type reassemblyMode uint8

const (
	reassemblyUnknown reassemblyMode = iota
	reassemblyText                   // each one is text, as it is
	reassemblyEvents
)

// started reports whether any text has come.
func (f *sseReassembly) started() bool { return f.kind != reassemblyUnknown || len(f.held) > 0 }

// add takes the next text and hands on its complete parts: events, or the text
// itself. What put gets is valid during the call.
func (f *sseReassembly) add(at time.Duration, read int32, text []byte, put func(e *eventlog.Event, isEvent bool)) {
	if f.kind == reassemblyText {
		put(&eventlog.Event{At: at, Read: read, Data: text}, false)
		return
	}
	earlier := len(f.held)
	f.held = append(f.held, text...)
	if f.kind == reassemblyUnknown {
		f.kind = modeOf(f.held)
		if f.kind == reassemblyText && earlier > 0 {
			put(&eventlog.Event{At: f.at, Read: f.read, Data: f.held[:earlier]}, false)
			f.held = f.held[earlier:]
		}
	}
	f.at, f.read = at, read
	switch f.kind {
	case reassemblyUnknown:
	case reassemblyText:
		put(&eventlog.Event{At: at, Read: read, Data: f.held}, false)
		f.held = nil
	case reassemblyEvents:
		f.cut(put)
	}
}

// modeOf distinguishes a stream of events from text by its start.
func modeOf(start []byte) reassemblyMode {
	start = bytes.TrimLeft(start, " \t\r\n\ufeff")
	if len(start) == 0 {
		return reassemblyUnknown
	}
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		n := min(len(field), len(start))
		if string(start[:n]) == field[:n] {
			if n == len(field) {
				return reassemblyEvents
			}
			return reassemblyUnknown
		}
	}
	return reassemblyText
}

// cut removes the complete lines from the buffered text.
func (f *sseReassembly) cut(put func(e *eventlog.Event, isEvent bool)) {
	for {
		end := bytes.IndexAny(f.held, "\r\n")
		if end < 0 {
			return
		}
		if f.cr && end == 0 && f.held[0] == '\n' { // the second half of a line end
			f.cr, f.held = false, f.held[1:]
			continue
		}
		line := f.held[:end]
		f.cr = f.held[end] == '\r'
		f.held = f.held[end+1:]
		f.line(line, put)
	}
}

// line takes one line of a stream (WHATWG HTML, "Interpreting an event stream").
func (f *sseReassembly) line(line []byte, put func(e *eventlog.Event, isEvent bool)) {
	if len(line) == 0 {
		f.dispatch(put)
		return
	}
	line = bytes.TrimPrefix(line, []byte("\ufeff"))
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "":
		f.event.Comment = string(value)
	case "event":
		f.event.Name = string(value)
	case "data":
		if f.lines++; f.lines > 1 {
			f.event.Data = append(f.event.Data, '\n')
		}
		f.event.Data = append(f.event.Data, value...)
	}
}

// dispatch hands on an event that is complete.
func (f *sseReassembly) dispatch(put func(e *eventlog.Event, isEvent bool)) {
	if f.lines > 0 || f.event.Name == "error" {
		f.event.At, f.event.Read = f.at, f.read
		put(&f.event, true)
	}
	f.event, f.lines = eventlog.Event{Data: f.event.Data[:0]}, 0
}

// end hands on the rest at the end of the stream: text that could have become a
// stream, or a last event without its blank line, if it is whole.
func (f *sseReassembly) end(put func(e *eventlog.Event, isEvent bool)) {
	switch f.kind {
	case reassemblyUnknown:
		if len(f.held) > 0 {
			put(&eventlog.Event{At: f.at, Read: f.read, Data: f.held}, false)
		}
	case reassemblyText:
	case reassemblyEvents:
		if len(f.held) > 0 {
			f.line(f.held, put)
		}
		if data := answer.TrimSpace(f.event.Data); json.Valid(data) || string(data) == "[DONE]" {
			f.dispatch(put)
		}
	}
	f.held = nil
}

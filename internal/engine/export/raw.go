package export

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/redact"
)

// Raw is one request with the bytes of both directions. It owns everything in
// it.
type Raw struct {
	Record    *bench.Record
	Header    map[string]string // of the request, without secret values
	Body      []byte            // of the request, as [Payload] shows it
	Responses []RawResponse     // in order of arrival
	CacheBust string            // target of the marker in the request; empty = it has none
}

// RawResponse is one event of a response, a whole body, or one read of a body that
// is no text.
type RawResponse struct {
	PerfNs      int64       `json:"perf_ns"` // on the clock of start_perf_ns
	Packets     []RawPacket `json:"packets,omitempty"`
	Text        *string     `json:"text,omitempty"`  // a body that was not streamed
	Bytes       int32       `json:"bytes,omitempty"` // size of a read of a body that is no text
	ContentType string      `json:"content_type,omitempty"`
}

// RawPacket is one line of a server-sent event.
type RawPacket struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// NewRaw copies what is needed of a request and its response, which may be
// released afterwards.
func NewRaw(rec *bench.Record, sent http.Header, body []byte, resp *bench.Response) *Raw {
	raw := &Raw{Record: rec, Header: map[string]string{}, Body: bytes.Clone(Payload(sent.Get("Content-Type"), body)), Responses: []RawResponse{}}
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		value := sent.Get(name)
		if redact.SensitiveHeader(name) {
			value = redact.Placeholder
		}
		raw.Header[name] = value
	}
	if resp.Status >= 300 || resp.Status == 0 {
		return raw // AIPerf lists no responses of failed requests; the error has the message
	}
	for e := range resp.Events.All() {
		r := RawResponse{PerfNs: int64(e.At)}
		if e.Name != "" {
			r.Packets = append(r.Packets, RawPacket{Name: "event", Value: e.Name})
		}
		if e.Comment != "" {
			r.Packets = append(r.Packets, RawPacket{Name: "comment", Value: e.Comment})
		}
		r.Packets = append(r.Packets, RawPacket{Name: "data", Value: string(e.Data)})
		raw.Responses = append(raw.Responses, r)
	}
	if resp.Done {
		raw.Responses = append(raw.Responses, RawResponse{
			PerfNs: int64(resp.EndAt), Packets: []RawPacket{{Name: "data", Value: "[DONE]"}},
		})
	}
	if resp.Events.Len() == 0 && len(resp.Body) > 0 {
		text := string(resp.Body)
		raw.Responses = append(raw.Responses, RawResponse{
			PerfNs: int64(resp.BodyAt), Text: &text, ContentType: resp.Header.Get("Content-Type"),
		})
	}
	for _, p := range resp.Pieces {
		raw.Responses = append(raw.Responses, RawResponse{
			PerfNs: int64(p.At), Bytes: p.Size, ContentType: resp.Header.Get("Content-Type"),
		})
	}
	return raw
}

// Bytes returns about how much memory the texts take.
func (r *Raw) Bytes() int {
	n := len(r.Body)
	for i := range r.Responses {
		for _, p := range r.Responses[i].Packets {
			n += len(p.Value)
		}
		if text := r.Responses[i].Text; text != nil {
			n += len(*text)
		}
	}
	return n
}

// WriteRaw appends a line of profile_export_raw.jsonl. Exact secrets are taken
// out of all of it.
func (w *RecordWriter) WriteRaw(raw *Raw) error {
	line, err := w.rawLine(raw)
	if err != nil {
		return err
	}
	w.buf = append(append(w.buf, line...), '\n')
	if len(w.buf) >= recordBuffer {
		return w.Flush()
	}
	return w.err
}

// rawLine encodes one line without its line end.
func (w *RecordWriter) rawLine(raw *Raw) ([]byte, error) {
	r := raw.Record
	out := struct {
		Metadata json.RawMessage   `json:"metadata"`
		Start    int64             `json:"start_perf_ns"`
		Header   map[string]string `json:"request_headers"`
		Status   int               `json:"status,omitempty"`
		Response []RawResponse     `json:"responses"`
		Payload  json.RawMessage   `json:"payload,omitempty"`
		Error    *errorDetails     `json:"error,omitempty"`
		Marker   string            `json:"cache_bust_marker,omitempty"`
		Target   string            `json:"cache_bust_target,omitempty"`
	}{
		Metadata: append(w.metadata([]byte{'{'}, r), '}'), Start: int64(r.Stamps.Start),
		Header: raw.Header, Status: r.Status, Response: w.cleanResponses(raw.Responses),
		Marker: r.Content.Marker, Target: raw.CacheBust,
	}
	if json.Valid(raw.Body) {
		out.Payload = raw.Body
	}
	if f := r.Answer.Failure; f != nil {
		d := describeError(f.Class, f.Status, f.Message)
		out.Error = &d
	}
	line, err := plainjson.Marshal(out)
	if err != nil {
		return nil, err
	}
	if w.opts.Secrets != nil {
		line = []byte(w.opts.Secrets.Exact(string(line)))
	}
	return line, nil
}

// cleanResponses returns responses without secrets. A body may have been cut
// within a secret, which can be seen only before it becomes a part of a line.
func (w *RecordWriter) cleanResponses(list []RawResponse) []RawResponse {
	if w.opts.Secrets == nil {
		return list
	}
	out := slices.Clone(list)
	var events []string // of all responses: a secret may be in several of them
	for i := range out {
		r := &out[i]
		r.ContentType = w.opts.Secrets.Exact(r.ContentType)
		if r.Text != nil {
			clean := w.opts.Secrets.Lines(*r.Text) // it may be a stream that the server did not declare
			r.Text = &clean
		}
		r.Packets = slices.Clone(r.Packets)
		for j := range r.Packets {
			if p := &r.Packets[j]; p.Name == "data" {
				events = append(events, p.Value)
			} else {
				p.Value = w.opts.Secrets.Exact(p.Value)
			}
		}
	}
	w.opts.Secrets.Pieces(events)
	for i := range out {
		for j := range out[i].Packets {
			if p := &out[i].Packets[j]; p.Name == "data" {
				p.Value, events = events[0], events[1:]
			}
		}
	}
	return out
}

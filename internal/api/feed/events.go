package feed

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plainjson"
)

// The types of server-sent events.
const (
	eventSnapshot = "snapshot"
	eventState    = "state"
	eventPhase    = "phase"
	eventProgress = "progress"
	eventMetrics  = "metrics"
	eventErrors   = "errors"
	eventFinished = "finished"
	eventRun      = "run"    // a change of any run
	eventWorker   = "worker" // a load generator has joined or is gone
)

// keepAliveEvery is the time between comments that keep a stream of events open.
const keepAliveEvery = 15 * time.Second

// eventRow describes the event that is made of a message.
type eventRow struct {
	kind, event string
	change      string // value of the member change; empty = there is none
	member      string // the only member of the message, whose value is the data; empty = all of it is
}

// eventsOfRun are the events of the messages of a run.
func eventsOfRun() []eventRow {
	return []eventRow{
		{kind: kindQueued, event: eventState},
		{kind: kindRunState, event: eventState},
		{kind: kindUpdated, event: eventState},
		{kind: kindPhaseStart, event: eventPhase, change: "start"},
		{kind: kindPhaseSent, event: eventPhase, change: "sending_complete"},
		{kind: kindPhaseComplete, event: eventPhase, change: "complete"},
		{kind: kindPhaseProgress, event: eventProgress, member: "stats"},
		{kind: kindMetrics, event: eventMetrics},
		{kind: kindErrors, event: eventErrors},
		{kind: kindExperiment, event: kindExperiment},
		{kind: kindPlanned, event: kindPlanned},
		{kind: kindMeasured, event: kindMeasured},
		{kind: kindAnswerSoFar, event: kindAnswerSoFar},
		{kind: kindAnswer, event: kindAnswer},
	}
}

// eventsOfChanges are the events of the changes of all runs.
func eventsOfChanges() []eventRow {
	return []eventRow{
		{kind: kindQueued, event: eventRun, change: "created"},
		{kind: kindRunState, event: eventRun, change: "changed"},
		{kind: kindUpdated, event: eventRun, change: "changed"},
		{kind: kindDeleted, event: eventRun, change: "deleted"},
		{kind: kindStartup, event: eventWorker},
	}
}

// eventTypes lists the types of events of a run. Clients get snapshot and finished
// whatever they choose.
func eventTypes() []string {
	out := []string{eventSnapshot}
	for _, row := range eventsOfRun() {
		if !slices.Contains(out, row.event) {
			out = append(out, row.event)
		}
	}
	return append(out, eventFinished)
}

// eventID is the position of an event in its stream. The zero value is the position
// before the first event.
type eventID struct {
	seq   uint64
	epoch string // of the stream; empty = of any
}

// parseEventID parses the id of an event, or the number of a message of the WebSocket.
func parseEventID(text string) (eventID, error) {
	number, epoch, marked := strings.Cut(text, "-")
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil || marked && epoch == "" {
		return eventID{}, fmt.Errorf("%q is not the id of an event", text)
	}
	return eventID{seq, epoch}, nil
}

// complete reports whether the id says of which stream it is: a number alone does not.
func (id eventID) complete() bool { return id.epoch != "" }

// append appends the id as clients see it. The number is first, so that programs that
// read a number at the start of a text find it.
func (id eventID) append(out []byte) []byte {
	out = strconv.AppendUint(out, id.seq, 10)
	if id.epoch != "" {
		out = append(out, '-')
		out = append(out, id.epoch...)
	}
	return out
}

// eventRequest is what a client of server-sent events wants.
type eventRequest struct {
	run   string   // id; empty = the changes of all runs
	types []string // of [eventTypes]; empty = all of them
	since *eventID // the last event that the client has; nil = none
}

// eventStream sends server-sent events to one client.
type eventStream struct {
	eventRequest
	handler *Handler
	sub     *subscription
	rows    map[string]eventRow // by the kind of the message
	last    eventID             // of what was sent
	w       http.ResponseWriter
	buf     []byte
}

// serveEvents sends events until the run ends, the client disconnects or ctx ends. An
// error means that nothing was sent. The header must be set, its status not sent.
func (h *Handler) serveEvents(ctx context.Context, w http.ResponseWriter, q eventRequest) error {
	e := &eventStream{eventRequest: q, handler: h, w: w, rows: map[string]eventRow{}}
	rows := eventsOfRun()
	if q.run == allChanges {
		rows = eventsOfChanges()
	}
	e.sub = &subscription{hub: h.Hub, events: true, run: q.run, wake: make(chan struct{}, 1), kinds: map[string]bool{}}
	for _, row := range rows {
		if len(q.types) == 0 || slices.Contains(q.types, row.event) {
			e.rows[row.kind], e.sub.kinds[row.kind] = row, true
		}
	}
	resumed := e.follow()
	defer h.Hub.remove(e.sub)
	e.buf = append(e.buf, "retry: 2000\n\n"...)
	if !resumed {
		if err := e.snapshot(ctx); err != nil {
			return err
		}
	}
	if e.flush() == nil {
		e.send(ctx)
	}
	return nil
}

// follow registers the subscription and starts the replay that the client wants. It
// returns false if the client needs a snapshot instead.
func (e *eventStream) follow() (resumed bool) {
	h := e.sub.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(e.sub)
	kept := h.kept(e.run)
	if kept == nil {
		return false
	}
	if kept.done {
		e.sub.finish(e.run, "run finished")
	}
	e.last = eventID{kept.seq, kept.epoch}
	since := e.since
	if since == nil || since.epoch != "" && since.epoch != kept.epoch || since.seq > kept.seq {
		return false
	}
	e.sub.mu.Lock()
	defer e.sub.mu.Unlock()
	if !e.sub.replayFrom(e.run, since.seq) {
		return false
	}
	e.last.seq = since.seq
	return true
}

// snapshot adds the event of the current state. Events that follow may be older than it.
func (e *eventStream) snapshot(ctx context.Context) error {
	if e.run == allChanges {
		data, err := plainjson.Marshal(wire.NewQueue(e.handler.Find.Live.Queue()))
		if err != nil {
			return err
		}
		e.add(eventSnapshot, data)
		return nil
	}
	d, r, err := e.handler.newSnapshot(ctx, e.run)
	if err != nil {
		return err
	}
	e.add(eventSnapshot, slices.Concat([]byte("{"), d.body, []byte("}")))
	if r.State.Terminal() {
		e.sub.finish(e.run, "run finished")
	}
	return nil
}

// send sends events and comments until the stream ends.
func (e *eventStream) send(ctx context.Context) {
	beat := time.NewTicker(keepAliveEvery)
	defer beat.Stop()
	for {
		batch, end := e.sub.take()
		for i := range batch {
			e.message(&batch[i])
		}
		if len(batch) == 0 && end != nil {
			e.end(ctx, end)
		}
		if e.flush() != nil || len(batch) == 0 && end != nil {
			return
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-e.sub.wake:
		case <-beat.C:
			e.buf = append(e.buf, ": keep-alive\n\n"...)
		}
	}
}

// message adds the event of a message. It is the encoded message, without its envelope.
func (e *eventStream) message(m *message) {
	row, ok := e.rows[m.kind]
	if !ok {
		return // the error message of a WebSocket
	}
	e.last = m.id
	e.begin(row.event)
	body := m.body
	if row.member != "" {
		e.buf = append(e.buf, bytes.TrimPrefix(body, []byte(`"`+row.member+`":`))...)
		e.buf = append(e.buf, "\n\n"...)
		return
	}
	e.buf = append(e.buf, '{')
	if row.change != "" {
		e.buf = append(e.buf, `"change":"`...)
		e.buf = append(e.buf, row.change...)
		e.buf = append(e.buf, `",`...)
	}
	if m.kind == kindDeleted {
		e.buf = append(e.buf, `"run":{"id":"`...)
		e.buf = append(e.buf, m.run...)
		e.buf = append(e.buf, `"}`...)
	}
	e.buf = append(e.buf, body...)
	e.buf = append(e.buf, "}\n\n"...)
}

// end adds the last event or, if the client should connect again, a comment.
func (e *eventStream) end(ctx context.Context, why *closing) {
	if why.code == closeNormal && e.run != allChanges {
		if r, err := e.handler.run(ctx, e.run); err == nil && r.State.Terminal() {
			state := wire.NewRun(r, nil, 0, wire.Artifacts{}).RunState
			data, err := plainjson.Marshal(finishedPayload{state.State, state.Verdict, "/api/runs/" + e.run + "/results"})
			if err == nil {
				e.add(eventFinished, data)
			}
			return
		}
	}
	e.buf = append(e.buf, ": "...)
	e.buf = append(e.buf, why.text...)
	e.buf = append(e.buf, "\n\n"...)
}

// finishedPayload is the data of the last event of a run.
type finishedPayload struct {
	State   bench.State `json:"state"`
	Verdict *string     `json:"verdict"` // whether the objectives were met; null without objectives
	Results string      `json:"results"` // path
}

// add adds an event.
func (e *eventStream) add(event string, data []byte) {
	e.begin(event)
	e.buf = append(e.buf, data...)
	e.buf = append(e.buf, "\n\n"...)
}

// begin adds the lines before the data of an event. JSON has no line breaks.
func (e *eventStream) begin(event string) {
	e.buf = append(e.buf, "id: "...)
	e.buf = e.last.append(e.buf)
	e.buf = append(e.buf, "\nevent: "...)
	e.buf = append(e.buf, event...)
	e.buf = append(e.buf, "\ndata: "...)
}

// flush sends what was added. An error means that the client has disconnected or does not
// read.
func (e *eventStream) flush() error {
	if len(e.buf) == 0 {
		return nil
	}
	// Errors of deadlines are those of the ResponseWriters of tests, which have none. On a
	// stream of HTTP/2, a deadline that passes resets the stream even if nothing is written.
	control := http.NewResponseController(e.w)
	_ = control.SetWriteDeadline(time.Now().Add(writeLimit))
	_, err := e.w.Write(e.buf)
	if err == nil {
		err = control.Flush()
	}
	_ = control.SetWriteDeadline(time.Time{})
	e.buf = e.buf[:0]
	return err
}

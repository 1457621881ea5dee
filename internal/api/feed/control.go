package feed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/plainjson"
)

// request is a message from a client.
type request struct {
	Type     string          `json:"type"`
	Kinds    json.RawMessage `json:"message_types"`
	Run      *string         `json:"run"`
	Snapshot bool            `json:"snapshot"`
	SinceSeq *uint64         `json:"since_seq"`

	kinds []string // decoded Kinds
}

// answer is the reply to a subscribe or unsubscribe.
type answer struct {
	Type    string   `json:"type"`
	Kinds   []string `json:"message_types"`
	Unknown []string `json:"unknown,omitempty"`
	Run     string   `json:"run,omitempty"`
}

// errorReply is the reply to a message that cannot be followed.
func errorReply(code, text string) []byte {
	type failure struct {
		Type    string `json:"type"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	return encode(failure{"error", code, text})
}

// encode is for the structs of this file, which always encode.
func encode(v any) []byte {
	b, err := plainjson.Marshal(v)
	if err != nil {
		return []byte(`{"type":"error","code":"internal","message":"Internal error"}`)
	}
	return b
}

// handle answers one message of the client.
func (c *client) handle(ctx context.Context, data []byte) {
	q, failure := parse(data)
	if failure != nil {
		c.reply(failure)
		return
	}
	switch q.Type {
	case "ping":
		c.reply([]byte(`{"type":"pong"}`))
	case "subscribe":
		c.subscribe(ctx, q)
	case "unsubscribe":
		c.unsubscribe(q)
	default:
		c.reply(errorReply("unknown_type", fmt.Sprintf("Unknown type %q; accepted are subscribe, unsubscribe and ping", q.Type)))
	}
}

// parse reads a message; the second result is the error to send.
func parse(data []byte) (request, []byte) {
	var q request
	var syntax any
	if err := json.Unmarshal(data, &syntax); err != nil {
		return q, errorReply("bad_json", "Invalid JSON: "+err.Error())
	}
	if b := bytes.TrimLeft(data, " \t\r\n"); b[0] != '{' {
		return q, errorReply("bad_message", "Payload must be a JSON object")
	}
	if err := json.Unmarshal(data, &q); err != nil {
		return q, errorReply("bad_message", "Payload has a member of the wrong type: "+err.Error())
	}
	if len(q.Kinds) > 0 {
		if err := json.Unmarshal(q.Kinds, &q.kinds); err != nil || hasNull(q.Kinds) {
			return q, errorReply("bad_message", "message_types must be a list of strings")
		}
	}
	return q, nil
}

// hasNull reports whether a list of strings, or the list itself, is null.
func hasNull(raw json.RawMessage) bool {
	var list []*string
	return json.Unmarshal(raw, &list) != nil || list == nil || slices.Contains(list, nil)
}

// split separates the types that exist from those that do not.
func split(kinds []string) (known, unknown []string) {
	all := Kinds()
	known = []string{}
	for _, k := range kinds {
		if k == everyRun || slices.Contains(all, k) {
			known = append(known, k)
		} else {
			unknown = append(unknown, k)
		}
	}
	return known, unknown
}

// subscribe adds types, and sends what the client missed if it asks for it.
func (c *client) subscribe(ctx context.Context, q request) {
	known, unknown := split(q.kinds)
	follow := currentRun
	if q.Run != nil {
		follow = cmp.Or(*q.Run, currentRun)
	}
	id, ok := c.resolve(ctx, follow)
	if !ok {
		c.reply(errorReply("bad_message", fmt.Sprintf("No such run: %q", follow)))
		return
	}
	if q.SinceSeq != nil && follow == everyRun {
		c.reply(errorReply("bad_message", "since_seq requires a single run"))
		return
	}
	full := c.fullSnapshot(ctx, q, id)

	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run = follow
	for _, k := range known {
		if k == everyRun {
			c.all = true
		} else {
			c.kinds[k] = true
		}
	}
	shown := id
	if follow == everyRun {
		shown = everyRun
	}
	c.enqueue(message{data: encode(answer{Type: "subscribed", Kinds: known, Unknown: unknown, Run: shown})})
	gap := q.SinceSeq != nil && !c.replayFrom(id, *q.SinceSeq)
	if gap {
		c.enqueue(message{data: errorReply("gap", fmt.Sprintf("Messages after %d are no longer available", *q.SinceSeq))})
	}
	// A replay holds the latest messages too; sending both would break the order.
	if gap || q.Snapshot && c.replay == nil {
		c.enqueueSnapshot(id, follow, full)
	}
}

func (c *client) unsubscribe(q request) {
	known, unknown := split(q.kinds)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range known {
		if k == everyRun {
			c.all = false
		} else {
			delete(c.kinds, k)
		}
	}
	c.enqueue(message{data: encode(answer{Type: "unsubscribed", Kinds: known, Unknown: unknown})})
}

// resolve turns what a client follows into the id of a run of this moment,
// which is empty for every run and when there is none.
func (c *client) resolve(ctx context.Context, follow string) (id string, ok bool) {
	h := c.hub
	h.mu.Lock()
	current, known := h.current(), h.streams[follow] != nil
	h.mu.Unlock()
	switch {
	case follow == everyRun:
		return "", true
	case follow == currentRun && current != "":
		return current, true
	case follow == currentRun:
		id, _ = c.source.Selected(ctx)
		return id, true
	case known:
		return follow, true
	}
	_, err := c.source.Get(ctx, follow)
	return follow, err == nil
}

// replayFrom starts a replay of what came after a number; false if that is not
// available. Both locks must be held.
func (c *client) replayFrom(id string, seq uint64) bool {
	s := c.hub.streams[id]
	if s == nil || seq > s.seq {
		return seq == 0
	}
	if len(s.ring) > 0 && seq+1 < s.ring[0].seq {
		return false
	}
	c.replay = &replay{run: id, next: seq + 1}
	c.signal()
	return true
}

// fullSnapshot makes the message of type snapshot if the request asks for it.
// It is complete but for the number, and asks the source, so that it also works
// for runs of which the hub has heard nothing.
func (c *client) fullSnapshot(ctx context.Context, q request, id string) *draft {
	c.mu.Lock()
	wanted := c.wants(kindSnapshot) || slices.Contains(q.kinds, kindSnapshot) || slices.Contains(q.kinds, everyRun)
	c.mu.Unlock()
	if id == "" || !wanted || !q.Snapshot && q.SinceSeq == nil {
		return nil
	}
	r, err := c.source.Get(ctx, id)
	if err != nil {
		return nil
	}
	s, err := c.source.Snapshot(ctx, id)
	if err != nil {
		s = nil // nothing was measured, or it cannot be read any more
	}
	d := &draft{kind: kindSnapshot, service: fromSystem, payload: snapshotPayload{
		Run:      briefRun(engine.Event{RunID: id, Run: r, Snapshot: s}),
		Progress: wire.NewProgress(r, s), Metrics: wire.NewMetrics(c.version, r, s),
	}}
	d.encode()
	return d
}

// enqueueSnapshot sends the latest message of each type that only its newest
// matters of. Both locks must be held.
func (c *client) enqueueSnapshot(id, follow string, full *draft) {
	for run, s := range c.hub.streams {
		if run != id && follow != everyRun {
			continue
		}
		latest := make([]message, 0, len(s.latest))
		for _, m := range s.latest {
			if c.wants(m.kind) {
				latest = append(latest, m)
			}
		}
		slices.SortFunc(latest, func(a, b message) int { return cmp.Compare(a.seq, b.seq) })
		for _, m := range latest {
			c.enqueue(m)
		}
	}
	if full != nil {
		var seq uint64
		if s := c.hub.streams[id]; s != nil {
			seq = s.seq
		}
		c.enqueue(message{kind: kindSnapshot, run: id, seq: seq, data: full.finish(engine.Event{RunID: id, At: time.Now()}, seq)})
	}
}

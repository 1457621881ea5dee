package feed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

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

// errorReply returns the reply to a message that is not valid.
func errorReply(code, text string) []byte {
	type failure struct {
		Type    string `json:"type"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	return encode(failure{"error", code, text})
}

// encode encodes a reply. Its types always encode.
func encode(v any) []byte {
	b, err := plainjson.Marshal(v)
	if err != nil {
		return []byte(`{"type":"error","code":"internal","message":"Internal error"}`)
	}
	return b
}

// handle handles one message of the client.
func (c *connection) handle(ctx context.Context, data []byte) {
	q, failure := parse(data)
	if failure != nil {
		c.sub.reply(failure)
		return
	}
	switch q.Type {
	case "ping":
		c.sub.reply([]byte(`{"type":"pong"}`))
	case "subscribe":
		c.subscribe(ctx, q)
	case "unsubscribe":
		c.sub.unsubscribe(split(q.kinds))
	default:
		c.sub.reply(errorReply("unknown_type", fmt.Sprintf("Unknown type %q; accepted are subscribe, unsubscribe and ping", q.Type)))
	}
}

// parse decodes a message. The second result is the error reply, nil if there is no
// error.
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

// subscribe resolves a request to subscribe and applies it.
func (c *connection) subscribe(ctx context.Context, q request) {
	known, unknown := split(q.kinds)
	follow := currentRun
	if q.Run != nil {
		follow = cmp.Or(*q.Run, currentRun)
	}
	id, ok := c.resolve(ctx, follow)
	if !ok {
		c.sub.reply(errorReply("bad_message", fmt.Sprintf("No such run: %q", follow)))
		return
	}
	if q.SinceSeq != nil && follow == everyRun {
		c.sub.reply(errorReply("bad_message", "since_seq requires a single run"))
		return
	}
	d := demand{known: known, unknown: unknown, follow: follow, id: id, since: q.SinceSeq, snapshot: q.Snapshot}
	d.full = c.fullSnapshot(ctx, q, id)
	c.sub.subscribe(d)
}

// resolve returns the id of the run that a client follows now. It is empty for
// every run, and if there is no run. ok is false if the run does not exist.
func (c *connection) resolve(ctx context.Context, follow string) (id string, ok bool) {
	current, known := c.sub.hub.lookup(follow)
	switch {
	case follow == everyRun:
		return "", true
	case follow == currentRun && current != "":
		return current, true
	case follow == currentRun:
		id, _ = c.handler.Find.Live.Selected(ctx)
		return id, true
	case known:
		return follow, true
	}
	_, err := c.handler.run(ctx, follow)
	return follow, err == nil
}

// fullSnapshot returns the message of type snapshot without its number, or nil if
// the client does not want it. The data comes from the engine, because the hub
// does not know runs without events.
func (c *connection) fullSnapshot(ctx context.Context, q request, id string) *draft {
	wanted := c.sub.subscribed(kindSnapshot) || slices.Contains(q.kinds, kindSnapshot) || slices.Contains(q.kinds, everyRun)
	if id == "" || !wanted || !q.Snapshot && q.SinceSeq == nil {
		return nil
	}
	d, _, err := c.handler.newSnapshot(ctx, id)
	if err != nil {
		return nil
	}
	return d
}

package feed

import (
	"context"
	"slices"
	"time"

	"aiperfd/internal/run"
)

// Telemetry returns what is sent of an active run beside its requests. It may take some time. nil = there is nothing,
// or it cannot be told.
type Telemetry func(ctx context.Context, id string) any

// The bounds of the messages about servers and GPUs: those of one kind and run come once per second, and less often if
// they are large, so that a client gets 32 KiB of them per second at most. One that is larger than a megabyte is not
// sent.
const (
	telemetryEvery = time.Second
	telemetryRate  = 32 << 10 // bytes per second
	telemetryMost  = 1 << 20  // bytes
)

// SendTelemetry sends what servers and GPUs say of active runs to the clients that have subscribed to it, until ctx
// ends. Nothing is computed without such a client.
func (h *Hub) SendTelemetry(ctx context.Context, servers, devices Telemetry) {
	tick := time.NewTicker(telemetryEvery)
	defer tick.Stop()
	next := map[string]time.Time{} // of a kind and run
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for kind, telemetry := range map[string]Telemetry{kindServers: servers, kindDevices: devices} {
			for _, id := range h.wanting(kind) {
				if key := kind + " " + id; !time.Now().Before(next[key]) {
					next[key] = time.Now().Add(h.sendTelemetry(ctx, kind, id, telemetry))
				}
			}
		}
		for key, at := range next {
			if time.Since(at) > 0 { // what is due is due without an entry
				delete(next, key)
			}
		}
	}
}

// wanting returns the active runs of which a client wants a kind of messages.
func (h *Hub) wanting(kind string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	current := h.current()
	for id, s := range h.streams {
		if s.ended || s.done {
			continue
		}
		for c := range h.subscriptions {
			if c.awaits(kind, id, id == current) {
				out = append(out, id)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// sendTelemetry sends a message about a run and returns how long the next one has to wait.
func (h *Hub) sendTelemetry(ctx context.Context, kind, id string, telemetry Telemetry) time.Duration {
	d := draft{kind: kind, service: fromRecords, payload: telemetry(ctx, id)}
	if d.payload == nil {
		return 0
	}
	if d.encode(); len(d.body) > telemetryMost {
		d.payload = tooLargePayload{"the message is larger than a megabyte: " +
			"GET /api/runs/{id}/server-metrics and …/telemetry have it"}
		d.encode()
	}
	h.mu.Lock()
	s := h.streams[id]
	h.mu.Unlock()
	if s == nil {
		return 0
	}
	s.publish.Lock() // events of the run are sent one after the other
	defer s.publish.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.ended || s.done { // nothing follows the last event of a run
		return 0
	}
	h.send(s, run.Event{RunID: id, At: time.Now()}, &d)
	return time.Duration(len(d.body)) * time.Second / telemetryRate
}

// tooLargePayload stands for a payload that is not sent.
type tooLargePayload struct {
	Message string `json:"message"`
}

package cluster

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"aiperfd/internal/cluster/bus"
	"aiperfd/internal/cluster/message"
	"aiperfd/internal/run"
)

// traffic counts messages by their kind. It is safe for concurrent use; the zero value is empty.
type traffic struct {
	mu    sync.Mutex
	kinds map[string]run.BusTraffic // guarded by mu
}

// add counts a message.
func (t *traffic) add(kind string, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kinds == nil {
		t.kinds = map[string]run.BusTraffic{}
	}
	of := t.kinds[kind]
	t.kinds[kind] = run.BusTraffic{Kind: kind, Messages: of.Messages + 1, Bytes: of.Bytes + int64(size)}
}

// all returns the counts by kind.
func (t *traffic) all() (out []run.BusTraffic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.kinds {
		out = append(out, of)
	}
	slices.SortFunc(out, func(a, b run.BusTraffic) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

// counted is a bus whose requests, and answers to them, are counted.
type counted struct {
	bus.Bus
	traffic *traffic
}

// Request implements [bus.Bus].
func (b counted) Request(ctx context.Context, subject string, payload []byte) ([]byte, error) {
	kind := kindOf(subject)
	b.traffic.add(kind, len(payload))
	answer, err := b.Bus.Request(ctx, subject, payload)
	if err == nil {
		b.traffic.add(kind, len(answer))
	}
	return answer, err
}

// Subscribe implements [bus.Bus].
func (b counted) Subscribe(ctx context.Context, subject string, handle bus.Handler) (cancel func(), err error) {
	return b.Bus.Subscribe(ctx, subject, func(m bus.Message) {
		kind := kindOf(m.Subject)
		b.traffic.add(kind, len(m.Payload))
		handle(bus.NewMessage(m.Subject, m.Payload, func(answer []byte) error {
			b.traffic.add(kind, len(answer))
			return m.Reply(answer)
		}))
	})
}

// kindOf returns the kind of the messages to a subject: its last word, if it is one that is known.
func kindOf(subject string) string {
	switch kind := subject[strings.LastIndexByte(subject, '.')+1:]; kind {
	case "join", "clock", message.KindBeat, message.KindReady, message.KindPrepare, message.KindFile, message.KindRelease:
		return kind
	}
	return "other"
}

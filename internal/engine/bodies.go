package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plan"
)

// bodies compares the complete request bodies of a dataset, which are sent as they are,
// with the options of the run. It is safe for concurrent use.
type bodies struct {
	mu            sync.Mutex
	read          int    // guarded by mu
	stream, model int    // guarded by mu; bodies that contradict the options
	example       string // guarded by mu; the first of them
}

// add compares the bodies of a conversation.
func (b *bodies) add(c *bench.Conversation, p *plan.Plan) {
	for i := range c.Turns {
		var body struct {
			Stream *bool  `json:"stream"`
			Model  string `json:"model"`
		}
		if t := &c.Turns[i]; t.Payload == nil || json.Unmarshal(t.Payload, &body) != nil {
			continue
		}
		stream := p.Kind.Caps.Streams && p.Settings.Streaming != (body.Stream != nil && *body.Stream)
		model := body.Model != "" && len(p.Models.Names) > 0 && !slices.Contains(p.Models.Names, body.Model)
		b.mu.Lock()
		b.read++
		if stream {
			b.stream++
		}
		if model {
			b.model++
		}
		if b.example == "" && (stream || model) {
			b.example = fmt.Sprintf("turn %d of conversation %s", i, c.ID)
		}
		b.mu.Unlock()
	}
}

// warning returns the warning about contradictions; empty = there are none.
func (b *bodies) warning() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var what []string
	if b.stream > 0 {
		what = append(what, fmt.Sprintf("%d have another value of stream than the options (--streaming)", b.stream))
	}
	if b.model > 0 {
		what = append(what, fmt.Sprintf("%d have a model that is not one of the run's (--model)", b.model))
	}
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("the request bodies of the dataset are sent as they are; of %d that were read, %s; the first is %s",
		b.read, strings.Join(what, ", "), b.example)
}

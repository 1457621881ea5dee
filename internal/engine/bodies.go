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

// bodies compares the request bodies of a dataset, or the members that it gives of them,
// with the options of the run. It is safe for concurrent use.
type bodies struct {
	mu            sync.Mutex
	read          int    // guarded by mu
	stream, model int    // guarded by mu; bodies that contradict the options
	unnamed       int    // guarded by mu; complete bodies that lack a model
	example       string // guarded by mu; the first of all these
}

// add compares the bodies of a conversation.
func (b *bodies) add(c *bench.Conversation, p *plan.Plan) {
	for i := range c.Turns {
		t := &c.Turns[i]
		var body struct {
			Stream *bool  `json:"stream"`
			Model  string `json:"model"`
		}
		complete := t.Payload != nil
		raw := t.Payload
		if !complete {
			raw, body.Model = t.ExtraBody, t.Model
		}
		if raw == nil && t.Messages == nil || raw != nil && json.Unmarshal(raw, &body) != nil {
			continue
		}
		streams := body.Stream != nil && *body.Stream
		stream := p.Kind.Caps.Streams && (complete || body.Stream != nil) && p.Settings.Streaming != streams
		model := body.Model != "" && len(p.Models.Names) > 0 && !slices.Contains(p.Models.Names, body.Model)
		unnamed := complete && body.Model == "" && namesModel(p)
		b.mu.Lock()
		b.read++
		b.stream += count(stream)
		b.model += count(model)
		b.unnamed += count(unnamed)
		if b.example == "" && (stream || model || unnamed) {
			b.example = fmt.Sprintf("turn %d of conversation %s", i, c.ID)
		}
		b.mu.Unlock()
	}
}

// count is 1 if a body has a property.
func count(has bool) int {
	if has {
		return 1
	}
	return 0
}

// namesModel reports whether the bodies of the endpoint type name the model, as those of
// OpenAI's API do.
func namesModel(p *plan.Plan) bool {
	return strings.HasPrefix(p.Kind.Path, "/v1/") && p.Settings.PathModel == ""
}

// warning returns the warning about contradictions; empty = there are none.
func (b *bodies) warning() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var what []string
	for _, found := range []struct {
		n    int
		what string
	}{
		{b.stream, "set stream otherwise than --streaming"},
		{b.model, "name another model than --model"},
		{b.unnamed, "name no model, which this format does not add"},
	} {
		if found.n > 0 {
			what = append(what, fmt.Sprintf("%d of %d request bodies checked %s", found.n, b.read, found.what))
		}
	}
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("%s; bodies are sent unchanged; the first is %s", strings.Join(what, ", "), b.example)
}

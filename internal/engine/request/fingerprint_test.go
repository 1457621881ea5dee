package request

import (
	"hash/maphash"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
)

// TestFingerprint: prompts have the same fingerprint if the model reads the same.
func TestFingerprint(t *testing.T) {
	seed := maphash.MakeSeed()
	base := func() *endpoint.Request {
		return &endpoint.Request{
			Model: "m", System: "s", Context: "x",
			History: []bench.Exchange{{Turn: bench.Turn{Texts: []string{"q"}}, Answer: bench.Choice{Text: "r"}}},
			Turn:    bench.Turn{Texts: []string{"ab", "c"}},
		}
	}
	want := fingerprint(seed, base())
	for _, tt := range []struct {
		name   string
		change func(*endpoint.Request)
		same   bool
	}{
		{"nothing", func(*endpoint.Request) {}, true},
		{"output length", func(r *endpoint.Request) { r.Turn.MaxTokens = 5 }, true},
		{"body", func(r *endpoint.Request) { r.Turn.ExtraBody = []byte(`{"temperature":0}`) }, true},
		{"think time", func(r *endpoint.Request) { r.Turn.Delay = 5 }, true},
		{"model", func(r *endpoint.Request) { r.Model = "n" }, false},
		{"system", func(r *endpoint.Request) { r.System = "t" }, false},
		{"system as context", func(r *endpoint.Request) { r.System, r.Context = "", "sx" }, false},
		{"text", func(r *endpoint.Request) { r.Turn.Texts[1] = "d" }, false},
		{"border of texts", func(r *endpoint.Request) { r.Turn.Texts = []string{"a", "bc"} }, false},
		{"name of a text", func(r *endpoint.Request) { r.Turn.Named = []bench.NamedTexts{{Name: "query"}} }, false},
		{"role", func(r *endpoint.Request) { r.Turn.Role = "tool" }, false},
		{"earlier turn", func(r *endpoint.Request) { r.History[0].Turn.Texts[0] = "p" }, false},
		{"earlier answer", func(r *endpoint.Request) { r.History[0].Answer.Text = "t" }, false},
		{"image", func(r *endpoint.Request) { r.Turn.Images = []bench.Media{{Data: []byte("i")}} }, false},
		{"messages", func(r *endpoint.Request) { r.Turn.Messages = []byte(`[]`) }, false},
		{"tools", func(r *endpoint.Request) { r.Turn.Tools = []byte(`[]`) }, false},
		{"payload", func(r *endpoint.Request) { r.Turn.Payload = []byte(`{}`) }, false},
	} {
		r := base()
		tt.change(r)
		if got := fingerprint(seed, r); (got == want) != tt.same || got == 0 {
			t.Errorf("%s: the same fingerprint is %v, want %v", tt.name, got == want, tt.same)
		}
	}
}

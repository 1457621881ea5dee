package engine

import (
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/plan"
)

// Bodies that are sent as they are may contradict the options.
func TestBodies(t *testing.T) {
	kind, _ := endpoint.Lookup("chat")
	p := &plan.Plan{}
	p.Kind, p.Settings.Streaming = kind, true
	p.Models.Names = []string{"m"}
	const missing = "1 of 1 request bodies checked name no model, which this format does not add"
	tests := []struct {
		name string
		turn bench.Turn
		want string
	}{
		{"as requested", bench.Turn{Payload: []byte(`{"stream":true,"model":"m"}`)}, ""},
		{"without a model", bench.Turn{Payload: []byte(`{"stream":true}`)}, missing},
		{"not streamed", bench.Turn{Payload: []byte(`{"model":"m"}`)}, "1 of 1 request bodies checked set stream otherwise than --streaming"},
		{"both", bench.Turn{Payload: []byte(`{"stream":false,"model":"x"}`)}, "1 of 1 request bodies checked set stream otherwise than --streaming, " +
			"1 of 1 request bodies checked name another model than --model"},
		{"of another type", bench.Turn{Payload: []byte(`{"stream":"yes"}`)}, ""},
		{"messages that the run completes", bench.Turn{Messages: []byte(`[]`)}, ""},
		{"messages with members of their own", bench.Turn{Messages: []byte(`[]`), Model: "x", ExtraBody: []byte(`{"stream":false}`)},
			"1 of 1 request bodies checked set stream otherwise than --streaming, 1 of 1 request bodies checked name another model than --model"},
		{"a prompt", bench.Turn{Texts: []string{"a"}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bodies
			b.add(&bench.Conversation{ID: "c", Turns: []bench.Turn{tt.turn, {Texts: []string{"x"}}}}, p)
			want := tt.want
			if want != "" {
				want += "; bodies are sent unchanged; the first is turn 0 of conversation c"
			}
			if got := b.warning(); got != want {
				t.Errorf("warning = %q, want %q", got, want)
			}
		})
	}
}

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
	tests := []struct{ name, body, want string }{
		{"as requested", `{"stream":true,"model":"m"}`, ""},
		{"without a model", `{"stream":true}`, ""},
		{"not streamed", `{"model":"m"}`, "of 1 that were read, 1 have another value of stream than the options (--streaming); the first is turn 0 of conversation c"},
		{"both", `{"stream":false,"model":"x"}`, "of 1 that were read, 1 have another value of stream than the options (--streaming), " +
			"1 have a model that is not one of the run's (--model); the first is turn 0 of conversation c"},
		{"of another type", `{"stream":"yes"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bodies
			b.add(&bench.Conversation{ID: "c", Turns: []bench.Turn{{Payload: []byte(tt.body)}, {Texts: []string{"x"}}}}, p)
			want := tt.want
			if want != "" {
				want = "the request bodies of the dataset are sent as they are; " + want
			}
			if got := b.warning(); got != want {
				t.Errorf("warning = %q, want %q", got, want)
			}
		})
	}
}

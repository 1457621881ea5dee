package engine

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/transport"
)

// A closed loop that needs more connections than the machine has ports or files for is
// refused before it starts; an open loop, and requests that share connections, are not.
func TestCheckConnections(t *testing.T) {
	const many = "concurrency: 9000000, requests: 9000000}"
	for name, tt := range map[string]struct {
		phase   string
		version transport.Version
		want    string
	}{
		"few":          {phase: "{type: concurrency, concurrency: 10, requests: 10}"},
		"closed loop":  {phase: "{type: concurrency, " + many, want: "9000000 connections are needed at a time, this "},
		"few requests": {phase: "{type: concurrency, concurrency: 9000000, requests: 10}"},
		"open loop":    {phase: "{type: constant, rate: 10, " + many},
		"HTTP/2":       {phase: "{type: concurrency, " + many, version: transport.HTTP2},
	} {
		t.Run(name, func(t *testing.T) {
			p := compilePlan(t, tt.phase, "prompts: {isl: 10}")
			err := checkConnections(t.Context(), p, &transport.Options{Version: tt.version})
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)):
				t.Errorf("checkConnections = %v, want %q", err, tt.want)
			}
		})
	}
}

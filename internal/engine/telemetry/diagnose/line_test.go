package diagnose

import "testing"

// TestPrefixHits: the share is known only if all servers counted it and nobody else used them.
func TestPrefixHits(t *testing.T) {
	value := func(name string, total float64) Value { return Value{Name: name, Total: &total} }
	phase := func(kind string, hits, queries float64, more ...Finding) Phase {
		return Phase{Kind: kind, Canonical: []Value{value("prefix_hits", hits), value("prefix_queries", queries)}, Findings: more}
	}
	vllm := Target{URL: "http://a", Servers: []string{"vLLM"}, State: OK}
	partial := phase("profiling", 30, 100)
	partial.Canonical[0].Partial = true
	for _, tt := range []struct {
		name string
		s    *Server
		want float64 // -1 = unknown
	}{
		{"no metrics", nil, -1},
		{"no phase", &Server{Targets: []Target{vllm}}, -1},
		{"one phase", &Server{Targets: []Target{vllm}, Phases: []Phase{phase("warmup", 90, 100), phase("profiling", 30, 100)}}, 0.3},
		{"two phases", &Server{Targets: []Target{vllm}, Phases: []Phase{phase("profiling", 30, 100), phase("profiling", 50, 300)}}, 0.2},
		{"nothing was asked", &Server{Targets: []Target{vllm}, Phases: []Phase{phase("profiling", 0, 0)}}, -1},
		{"not counted", &Server{Targets: []Target{vllm}, Phases: []Phase{phase("profiling", 30, 100), {Kind: "profiling"}}}, -1},
		{"not in all targets", &Server{Targets: []Target{vllm}, Phases: []Phase{partial}}, -1},
		{"a target that does not answer", &Server{Targets: []Target{vllm, {State: Unreachable}}, Phases: []Phase{phase("profiling", 30, 100)}}, -1},
		{"a further page of something else", &Server{Targets: []Target{vllm, {State: OK, Given: true}}, Phases: []Phase{phase("profiling", 30, 100)}}, 0.3},
		{"other clients", &Server{Targets: []Target{vllm}, Phases: []Phase{phase("profiling", 30, 100, Finding{Code: "other-traffic"})}}, -1},
	} {
		got := -1.0
		if share := tt.s.PrefixHits(); share != nil {
			got = *share
		}
		if got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

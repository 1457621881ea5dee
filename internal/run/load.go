package run

import (
	"encoding/json"
	"strconv"
	"strings"
)

// PhaseLoad is what a profiling phase asks of the servers.
type PhaseLoad struct {
	Phase string `json:"phase" example:"profiling"`
	Load  string `json:"load" example:"10 req/s, 8 concurrent"`
}

// Loads describes the loads of the profiling phases of a configuration, in their order; none if
// it cannot be read or has no phase, as that of a run which has not been compiled.
func Loads(config json.RawMessage) []PhaseLoad {
	var document struct {
		Phases []struct {
			Name, Kind, Type         string
			Rate, Concurrency, Users any // numbers, unless they change over time
		} `json:"phases"`
	}
	if json.Unmarshal(config, &document) != nil {
		return nil
	}
	var out []PhaseLoad
	for _, p := range document.Phases {
		if p.Kind == "warmup" {
			continue
		}
		var parts []string
		for _, part := range []struct {
			value any
			unit  string
		}{{p.Users, "users"}, {p.Rate, "req/s"}, {p.Concurrency, "concurrent"}} {
			if v, ok := part.value.(float64); ok {
				parts = append(parts, strconv.FormatFloat(v, 'g', 6, 64)+" "+part.unit)
			}
		}
		if len(parts) == 0 && p.Type != "" {
			parts = []string{strings.ReplaceAll(p.Type, "_", " ")}
		}
		if len(parts) == 0 {
			continue
		}
		out = append(out, PhaseLoad{p.Name, strings.Join(parts, ", ")})
	}
	return out
}

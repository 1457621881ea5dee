package series

import (
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/metric/catalogue"
)

// Kind says what a metric has for each point.
type Kind uint8

// The kinds.
const (
	// Distribution is of the values of the requests that ended: count, avg, min, max, p50,
	// p90, p95, p99.
	Distribution Kind = iota
	// Rate is of events: count, and rate per second.
	Rate
	// Level is of a state that is sampled four times per second: avg and max.
	Level
	// Classes counts failed requests by class.
	Classes
)

// Metric is one metric of a series.
type Metric struct {
	Name, Unit string
	Kind       Kind
	Doc        string

	at    int            // among those of its kind
	row   *catalogue.Row // of a distribution
	scale float64        // of a distribution: from the unit of its sketches to Unit
}

// The distributions, rates and levels of a window, in the order of [Metrics].
const (
	distributions = 5

	offered = iota - 1
	sent
	completed
	failed
	cancelled
	inputTokens
	outputTokens
	rates
)

const (
	inFlight = iota
	limit
	backlog
	cpu
	levels
)

// Metrics returns all metrics. Their positions are part of the file format: new ones are
// added at the end.
func Metrics() []Metric {
	const inRPS, inTPS, inRequests = "requests/sec", "tokens/sec", "requests"
	out := []Metric{
		{Name: "time_to_first_token"}, {Name: "inter_token_latency"}, {Name: "inter_chunk_latency"}, {Name: "request_latency"}, {Name: "schedule_lag"},
		{Name: "requests_offered", Unit: inRPS, Kind: Rate, Doc: "Arrivals of an open loop that were due. Null in a closed loop."},
		{Name: "requests_sent", Unit: inRPS, Kind: Rate, Doc: "Requests that were started."},
		{Name: "requests_completed", Unit: inRPS, Kind: Rate, Doc: "Requests that ended successfully."},
		{Name: "requests_failed", Unit: inRPS, Kind: Rate, Doc: "Requests that failed."},
		{Name: "requests_cancelled", Unit: inRPS, Kind: Rate, Doc: "Requests that the client cancelled."},
		{Name: "input_tokens", Unit: inTPS, Kind: Rate, Doc: "Input tokens of the requests that ended successfully."},
		{Name: "output_tokens", Unit: inTPS, Kind: Rate, Doc: "Output tokens of the requests that ended successfully, reasoning included."},
		{Name: "in_flight", Unit: inRequests, Kind: Level, Doc: "Requests in flight."},
		{Name: "concurrency_limit", Unit: inRequests, Kind: Level, Doc: "Requests that may be in flight. Null without a limit."},
		{Name: "backlog", Unit: inRequests, Kind: Level, Doc: "Arrivals of an open loop that wait for the limit."},
		{Name: "client_cpu", Unit: "%", Kind: Level, Doc: "Processor time of aiperfd; 100 is one core."},
		{Name: "errors", Unit: inRequests, Kind: Classes, Doc: "Failed requests by class; a class is absent if it has none."},
	}
	rows := catalogue.Rows()
	var next [Classes + 1]int
	for i := range out {
		m := &out[i]
		m.at = next[m.Kind]
		next[m.Kind]++
		if m.Kind == Distribution {
			m.row = &rows[slices.IndexFunc(rows, func(r catalogue.Row) bool { return r.Tag == m.Name })]
			m.Unit, m.Doc, m.scale = m.row.Unit, m.row.Doc, m.row.SketchDiv/m.row.Div
		}
	}
	return out
}

// Select returns the metrics with the given names, in the order of [Metrics]; without
// names, all. Its error names those that do not exist, and all that do.
func Select(names []string) ([]Metric, error) { return choose(Metrics(), names) }

// choose is Select of the given metrics.
func choose(all []Metric, names []string) ([]Metric, error) {
	if len(names) == 0 {
		return all, nil
	}
	var accepted, unknown []string
	for i := range all {
		accepted = append(accepted, all[i].Name)
	}
	for _, name := range names {
		if !slices.Contains(accepted, name) {
			unknown = append(unknown, fmt.Sprintf("%q", name))
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("unknown metric %s; accepted are %s", strings.Join(unknown, ", "), strings.Join(accepted, ", "))
	}
	return slices.DeleteFunc(all, func(m Metric) bool { return !slices.Contains(names, m.Name) }), nil
}

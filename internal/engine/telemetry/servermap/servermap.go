// Package servermap knows what the metrics of inference servers mean: which families of vLLM, SGLang and
// others are the requests that wait, the use of the key-value cache, or the time in the queue. The table is
// the file servers.json; of the alternatives of a row the first that a server has counts.
package servermap

import (
	"bytes"
	"cmp"
	_ "embed" // for the table
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiperfd/internal/engine/telemetry/expo"
	"aiperfd/internal/engine/telemetry/window"
)

// Form is how a canonical metric is measured.
type Form uint8

// The forms.
const (
	Level Form = iota // a gauge whose series add up
	Share             // a gauge from 0 to 1; the mean of the series counts
	Total             // a counter
	Times             // a histogram in seconds
)

// Metric is a canonical metric.
type Metric struct {
	Name, Unit, About string
	Form              Form
}

// Metrics returns the canonical metrics in the order in which they are shown. The first three are those of
// the Model Server Protocol of the Gateway API Inference Extension.
func Metrics() []Metric {
	return []Metric{
		{"waiting", "requests", "Requests in the server's queue.", Level},
		{"running", "requests", "Requests in the running batch.", Level},
		{"kv_usage", "ratio", "Share of the key-value cache that is in use.", Share},
		{"preemptions", "requests", "Requests that lost their place in the batch and were computed again.", Total},
		{"prefix_hits", "tokens", "Prompt tokens that the prefix cache had.", Total},
		{"prefix_queries", "tokens", "Prompt tokens that were looked up in the prefix cache.", Total},
		{"hit_rate", "ratio", "The server's own average of the hit rate; shown only.", Share},
		{"prompt_tokens", "tokens", "Prompt tokens.", Total},
		{"generation_tokens", "tokens", "Generated tokens.", Total},
		{"requests", "requests", "Requests that have ended.", Total},
		{"ttft", "s", "From the arrival of a request to its first token.", Times},
		{"itl", "s", "From one token to the next.", Times},
		{"e2e", "s", "From the arrival of a request to its end.", Times},
		{"queue_time", "s", "Time of a request in the queue.", Times},
		{"prefill_time", "s", "From the queue to the first token.", Times},
		{"decode_time", "s", "From the first token to the last.", Times},
		{"spec_drafted", "tokens", "Tokens that speculative decoding drafted.", Total},
		{"spec_accepted", "tokens", "Drafted tokens that were accepted.", Total},
	}
}

// Server is the vocabulary of one kind of server.
type Server struct {
	Name     string              `json:"name"`
	Title    string              `json:"title"`
	Prefixes []string            `json:"prefixes"` // of its families
	Frontend bool                `json:"frontend"` // it stands before engines, whose families may be on its page
	Rows     map[string][]string `json:"rows"`     // alternatives by canonical name
}

//go:embed servers.json
var table []byte

// Servers returns the vocabularies.
func Servers() []Server {
	var out []Server
	if err := json.Unmarshal(table, &out); err != nil {
		panic(fmt.Sprintf("servers.json: %v", err)) // a test reads it
	}
	return out
}

// Parse reads vocabularies in the form of servers.json.
func Parse(data []byte) ([]Server, error) {
	var out []Server
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("read the map of servers: %w", err)
	}
	for i := range out {
		s := &out[i]
		if s.Name == "" || len(s.Prefixes) == 0 || slices.Contains(s.Prefixes, "") {
			return nil, fmt.Errorf("read the map of servers: server %d needs a name and prefixes of its metrics", i+1)
		}
		s.Title = cmp.Or(s.Title, s.Name)
		for _, row := range slices.Sorted(maps.Keys(s.Rows)) {
			if !slices.ContainsFunc(Metrics(), func(m Metric) bool { return m.Name == row }) {
				return nil, fmt.Errorf("read the map of servers: %s has a row %q, which is no canonical metric", s.Name, row)
			}
			if len(s.Rows[row]) == 0 || slices.Contains(s.Rows[row], "") {
				return nil, fmt.Errorf("read the map of servers: row %s of %s names no metric", row, s.Name)
			}
		}
	}
	return out, nil
}

// Detect returns the vocabularies whose families a page has: engines first, then a frontend. Those that the
// user has described come before those of the table, and replace one of the same name.
func Detect(h *window.History, own ...Server) []Server {
	var out []Server
	known := slices.DeleteFunc(Servers(), func(s Server) bool {
		return slices.ContainsFunc(own, func(o Server) bool { return o.Name == s.Name })
	})
	for _, s := range slices.Concat(own, known) {
		if slices.ContainsFunc(h.Families, func(f *window.Family) bool { return s.owns(f.Name) }) {
			out = append(out, s)
		}
	}
	return out
}

// owns reports whether a family is one of the server's.
func (s *Server) owns(family string) bool {
	return slices.ContainsFunc(s.Prefixes, func(prefix string) bool { return strings.HasPrefix(family, prefix) })
}

// Source is what a canonical metric is read from: the groups of one or several families.
type Source struct {
	Families []string
	Groups   []*window.Group
}

// Find returns the source of a canonical metric in a history; ok = false if the server does not have it.
func (s *Server) Find(h *window.History, metric string) (Source, bool) {
	for _, alternative := range s.Rows[metric] {
		if found, ok := s.find(h, alternative); ok {
			return found, true
		}
	}
	return Source{}, false
}

// find returns the source that an alternative names: families that add up.
func (s *Server) find(h *window.History, alternative string) (out Source, ok bool) {
	for term := range strings.SplitSeq(alternative, " + ") {
		name, filter, _ := strings.Cut(strings.TrimSuffix(term, "}"), "{")
		f := s.family(h, name)
		if f == nil {
			return Source{}, false
		}
		groups := matching(f.Groups, filter)
		if len(groups) == 0 {
			return Source{}, false
		}
		out.Families = append(out.Families, f.Name)
		out.Groups = append(out.Groups, groups...)
	}
	return out, len(out.Groups) > 0
}

// family returns a family of the server by its name without a prefix; nil = the page lacks it.
func (s *Server) family(h *window.History, name string) *window.Family {
	for _, prefix := range s.Prefixes {
		if f := h.Family(prefix + name); f != nil {
			return f
		}
	}
	return nil
}

// ranks are labels of the parts of one engine, which repeat the same values.
func ranks() []string { return []string{"tp_rank", "pp_rank", "moe_ep_rank"} }

// matching returns the groups that have the labels of a filter and are those of the first part of an engine.
func matching(groups []*window.Group, filter string) []*window.Group {
	var out []*window.Group
	for _, g := range groups {
		matches := true
		for pair := range strings.SplitSeq(filter, ",") {
			if name, value, ok := strings.Cut(pair, "="); ok && g.Label(name) != value {
				matches = false
			}
		}
		if matches && !slices.ContainsFunc(g.Labels, repeated) {
			out = append(out, g)
		}
	}
	return out
}

// repeated reports whether a label says that a series repeats that of another part.
func repeated(l expo.Label) bool {
	return slices.Contains(ranks(), l.Name) && l.Value != "" && l.Value != "0"
}

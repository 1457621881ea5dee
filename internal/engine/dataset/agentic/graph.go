// Package agentic reads recorded sessions of agents and turns them into session graphs: streams of requests
// whose prompts are lists of blocks, with who spawned whom and who waited for whom.
package agentic

import (
	"encoding/json"
	"slices"
)

// Graph is one trace: a session of an agent with all that it started.
type Graph struct {
	ID      string              `json:"id"`
	Block   int                 `json:"block"`   // tokens of a block
	Streams []*Stream           `json:"streams"` // the main stream first, the others by their first request
	Needs   map[string][]string `json:"needs"`   // requests that waited, and the last requests of the streams they waited for
	Source  Source              `json:"source"`
}

// Source is where a graph comes from.
type Source struct {
	Format string `json:"format"`
	SHA256 string `json:"sha256"` // of the record
}

// Kind is what a stream is.
type Kind string

// The kinds. Agents, groups and auxiliary streams are recorded as requests of another stream and inferred from
// their blocks.
const (
	Main      Kind = "main"
	Sub       Kind = "sub"   // a recorded sub-agent
	Agent     Kind = "agent" // an agent with a context of its own
	Group     Kind = "group" // one of three or more that fork from one request and overlap in time
	Auxiliary Kind = "aux"   // one call beside an agent, for example to make a title or a summary
)

// Inferred reports whether a stream of this kind is found by its blocks, not by a record.
func (k Kind) Inferred() bool { return k == Agent || k == Group || k == Auxiliary }

// Stream is one conversation.
type Stream struct {
	ID       string    `json:"id"`
	Kind     Kind      `json:"kind"`
	Declared int       `json:"declared,omitempty"` // tokens of tools and system prompt at the beginning
	Spawn    *Spawn    `json:"spawn,omitempty"`    // nil = the main stream
	Requests []Request `json:"requests"`
}

// Spawn is how a stream began.
type Spawn struct {
	After string  `json:"after"` // the request after which it began, as STREAM/TURN with turns from 0
	T     float64 `json:"t"`     // recorded time of the beginning, in seconds
}

// Request is a recorded request. Times are seconds from the start of the trace.
type Request struct {
	T      float64  `json:"t"`
	In     int      `json:"in"`
	Out    int      `json:"out"`
	API    *float64 `json:"api,omitempty"`    // duration of the answer; nil = not recorded
	Think  *float64 `json:"think,omitempty"`  // pause of the client before the request; nil = not recorded
	TTFT   *float64 `json:"ttft,omitempty"`   // nil = not recorded
	Model  string   `json:"model,omitempty"`  // empty = not recorded
	Stop   string   `json:"stop,omitempty"`   // why the answer ended
	Inputs []string `json:"inputs,omitempty"` // kinds of what is new in the prompt
	Place  Place    `json:"place"`
	// The ids of the prompt's blocks are the first Shared ones of the request before it in its stream, of a first
	// request those of the request that spawned the stream, and then New.
	Shared int     `json:"shared,omitempty"`
	New    []int64 `json:"new,omitempty"`

	blocks []int64 // all ids
	seen   *int    // leading blocks that an earlier request of the recording had; nil = not counted yet
}

// Place is where the record has a request.
type Place struct {
	Outer int  `json:"outer"`           // index in the list of the trace
	Inner *int `json:"inner,omitempty"` // index in the list of the sub-agent; nil = it is none of a sub-agent
}

// End returns when the answer of a request had ended.
func (r *Request) End() float64 {
	if r.API == nil {
		return r.T
	}
	return r.T + *r.API
}

// Blocks returns the ids of the prompt's blocks.
func (r *Request) Blocks() []int64 { return r.blocks }

// start and end are those of a stream.
func (s *Stream) start() float64 { return s.Requests[0].T }

func (s *Stream) end() float64 {
	end := s.Requests[0].End()
	for i := range s.Requests {
		end = max(end, s.Requests[i].End())
	}
	return end
}

// pack expresses the blocks of each request by those of the request before it.
func (g *Graph) pack() {
	first := map[string][]int64{} // blocks by STREAM/TURN
	for _, s := range g.Streams {
		for i := range s.Requests {
			first[name(s.ID, i)] = s.Requests[i].blocks
		}
	}
	for _, s := range g.Streams {
		var before []int64
		if s.Spawn != nil {
			before = first[s.Spawn.After]
		}
		for i := range s.Requests {
			r := &s.Requests[i]
			r.Shared = common(before, r.blocks)
			r.New = r.blocks[r.Shared:]
			before = r.blocks
		}
	}
}

// unpack restores the blocks of each request.
func (g *Graph) unpack() {
	all := map[string][]int64{}
	for _, s := range g.Streams {
		var before []int64
		if s.Spawn != nil {
			before = slices.Clip(all[s.Spawn.After]) // which the stream that has it may continue
		}
		for i := range s.Requests {
			r := &s.Requests[i]
			shared := min(r.Shared, len(before))
			if shared < len(before) {
				before = append(make([]int64, 0, shared+2*len(r.New)), before[:shared]...)
			}
			r.blocks = append(before, r.New...) //nolint:gocritic // a prompt that continues another shares its memory
			before = r.blocks
			all[name(s.ID, i)] = before
		}
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (g *Graph) UnmarshalJSON(data []byte) error {
	type plain Graph
	if err := json.Unmarshal(data, (*plain)(g)); err != nil {
		return err
	}
	g.unpack()
	return nil
}

// common returns how many ids two lists of blocks have in common from the beginning.
func common(a, b []int64) int {
	n := min(len(a), len(b))
	if n > 0 && &a[0] == &b[0] {
		return n // they share their memory
	}
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// sent is a request with what it is known to have in common with an earlier one.
type sent struct {
	*Request
	continues *Request // an earlier request; nil = none
	known     int      // leading blocks of it
}

// bySending returns all requests in the order of the recording.
func (g *Graph) bySending() []sent {
	before, earlier := map[*Request]*Request{}, map[*Request]bool{}
	byName := map[string]*Request{}
	for _, s := range g.Streams {
		for i := range s.Requests {
			byName[name(s.ID, i)] = &s.Requests[i]
			if i > 0 {
				before[&s.Requests[i]] = &s.Requests[i-1]
			}
		}
	}
	for _, s := range g.Streams {
		if s.Spawn != nil {
			before[&s.Requests[0]] = byName[s.Spawn.After]
		}
	}
	var all []sent
	for _, r := range g.byTime() {
		one := sent{Request: r}
		if b := before[r]; b != nil && earlier[b] {
			one.continues, one.known = b, min(r.Shared, len(b.blocks))
		}
		earlier[r] = true
		all = append(all, one)
	}
	return all
}

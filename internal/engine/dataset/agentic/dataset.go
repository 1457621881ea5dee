package agentic

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// Spec are the options of the replay of sessions.
type Spec struct {
	MaxOSL       int            // most tokens of an answer, except of a recorded sub-agent; 0 = as recorded
	MaxContext   int            // most tokens of a request with its answer: traces that need more are left out; 0 = any
	IgnoreDelays bool           // requests follow each other without pauses
	ThinkOnly    bool           // a pause is the think time, if it is recorded
	AIPerfGaps   bool           // pauses are those of AIPerf 0.13
	IdleCap      *time.Duration // longest time between requests of a trace, from start to start; nil = any
	Models       []string
	Cache        string // folder for graphs that were read; "" = none
}

// Format is the format weka_trace.
func Format() source.Format {
	return source.Format{
		Name: FormatWeka, Folder: true, MaxRecord: maxRecord, Counts: true, Recorded: true,
		Needs: "block_size, hash_id_scope and requests",
		Detect: func(h *source.Head) bool {
			return h.HasAny("block_size") && h.HasAny("hash_id_scope") && h.HasAny("requests")
		},
	}
}

// Open returns a conversation per trace: the main stream, which starts the other ones.
func Open(ctx context.Context, o source.Options, spec Spec) (source.Source, error) {
	f := Format()
	d := &dataset{spec: spec, texts: map[int]*blockTexts{}}
	f.Records, f.New, f.Note = d.open, d.pass, d.note
	return source.OpenFile(ctx, &f, o)
}

// dataset makes conversations of traces.
type dataset struct {
	spec    Spec
	texts   map[int]*blockTexts // by the tokens of a block
	traces  *traces             // of the pass
	records int                 // of the longest pass
	repairs Repairs             // of that pass
}

// note implements [source.Format].
func (d *dataset) note(out *source.Description) {
	if notes := d.repairs.Notes(); len(notes) > 0 {
		out.Warnings = append(out.Warnings, "traces were repaired: "+strings.Join(notes, ", "))
	}
}

// open opens the traces for a pass.
func (d *dataset) open(ctx context.Context, f file.File) (source.Records, error) {
	var err error
	d.traces, err = readTraces(ctx, f, Options{Rules: DefaultRules(), Cache: d.spec.Cache})
	return d.traces, err
}

// pass returns the function that decodes the records of one pass.
func (d *dataset) pass(o *source.Options) source.Decoder {
	records, repairs := 0, Repairs{}
	places := map[string]string{} // of each trace
	return func(record file.Record) (source.Row, error) {
		number := records
		records++
		g, problems := d.traces.graph, d.traces.problems
		d.traces.graph = nil // the next trace may not be read for long
		repairs.add(&d.traces.repairs)
		if records > d.records {
			d.records, d.repairs = records, repairs
		}
		if len(problems) > 0 {
			return source.Row{}, source.Problems(problems)
		}
		if before, taken := places[g.ID]; taken {
			return source.Row{}, fmt.Errorf("trace %s: its id is that of the trace in %s", g.ID, before)
		}
		places[g.ID] = record.Place.String()
		if most := d.spec.MaxContext; most > 0 && d.spec.context(g) > most {
			return source.Row{Skip: fmt.Sprintf("with a request of more than %d tokens", most)}, nil
		}
		texts, err := d.textsOf(o, g.Block)
		if err != nil {
			return source.Row{}, err
		}
		p := &play{texts: texts, trace: number, id: g.ID, source: g.Source.SHA256, seed: maphash.MakeSeed()}
		return source.Row{Conversation: *d.spec.conversation(g, p, o.DelayCap)}, nil
	}
}

// textsOf returns the texts of blocks of a size.
func (d *dataset) textsOf(o *source.Options, block int) (*blockTexts, error) {
	if t := d.texts[block]; t != nil {
		return t, nil
	}
	t, err := newBlockTexts(o.Tokenizer, block, o.Seed)
	if err == nil {
		d.texts[block] = t
	}
	return t, err
}

// context returns the most tokens that a request of a trace needs with its answer.
func (s *Spec) context(g *Graph) (most int) {
	for _, stream := range g.Streams {
		for i := range stream.Requests {
			most = max(most, stream.Requests[i].In+s.answer(stream, i))
		}
	}
	return most
}

// answer returns the tokens of an answer.
func (s *Spec) answer(stream *Stream, turn int) int {
	out := stream.Requests[turn].Out
	if s.MaxOSL > 0 && stream.Kind != Sub {
		out = min(out, s.MaxOSL)
	}
	return out
}

// conversation returns the conversation of a trace.
func (s *Spec) conversation(g *Graph, p *play, limit *time.Duration) *bench.Conversation {
	strands := p.strands(g)
	if s.IdleCap != nil {
		g.shorten(s.IdleCap.Seconds())
	}
	pauses, models, recordings := g.pauses(s.ThinkOnly, s.AIPerfGaps), s.models(g), g.recordings()
	all := map[string]*bench.Conversation{}
	for _, stream := range g.Streams {
		c := &bench.Conversation{ID: stream.ID, Mode: bench.MessageArrayWithResponses, Category: string(stream.Kind)}
		c.Turns = make([]bench.Turn, 0, len(stream.Requests))
		for i := range stream.Requests {
			r := &stream.Requests[i]
			t := bench.Turn{
				Script:    &script{strand: strands[stream.ID], turn: i, in: bench.Tokens(r.In)},
				Recorded:  recordings[name(stream.ID, i)],
				MaxTokens: bench.Tokens(s.answer(stream, i)), InputTokens: bench.Tokens(r.In), Model: models[r.Model],
			}
			if !s.IgnoreDelays {
				t.Delay = pauses[name(stream.ID, i)]
			}
			if limit != nil {
				t.Delay = min(t.Delay, *limit)
			}
			c.Turns = append(c.Turns, t)
		}
		all[stream.ID] = c
	}
	joins := g.joins()
	for _, stream := range g.Streams[1:] {
		parent, turn := splitName(stream.Spawn.After)
		at := &all[parent].Turns[turn]
		join := 0
		if to, ok := joins[stream.ID]; ok && to.stream == parent && to.turn > turn {
			join = to.turn
		}
		spawn := slices.IndexFunc(at.Spawns, func(s bench.Spawn) bool { return s.JoinAt == join })
		if spawn < 0 {
			at.Spawns = append(at.Spawns, bench.Spawn{JoinAt: join})
			spawn = len(at.Spawns) - 1
		}
		at.Spawns[spawn].Children = append(at.Spawns[spawn].Children, all[stream.ID])
	}
	return all[g.Streams[0].ID]
}

// models returns the model of the run for each recorded one: the first for the first, and so on in
// the order in which the trace has them. A run with one model needs none.
func (s *Spec) models(g *Graph) map[string]string {
	out := map[string]string{}
	if len(s.Models) < 2 {
		return out
	}
	for _, r := range g.byTime() {
		if _, known := out[r.Model]; !known {
			out[r.Model] = s.Models[len(out)%len(s.Models)]
		}
	}
	return out
}

// byTime returns all requests in the order of the recording.
func (g *Graph) byTime() (all []*Request) {
	for _, s := range g.Streams {
		for i := range s.Requests {
			all = append(all, &s.Requests[i])
		}
	}
	slices.SortStableFunc(all, compareTimes)
	return all
}

// shorten limits the time from a request to the next one of the trace, in seconds. What follows a
// longer one moves by the difference.
func (g *Graph) shorten(limit float64) {
	leads := map[*Stream]float64{} // of the beginnings of streams, before their first requests
	for _, s := range g.Streams {
		if s.Spawn != nil {
			leads[s] = min(s.start()-s.Spawn.T, limit)
		}
	}
	defer func() {
		for s, lead := range leads {
			s.Spawn.T = s.start() - lead
		}
	}()
	moved, before := 0.0, 0.0
	for i, r := range g.byTime() {
		if i > 0 {
			moved += max(0, r.T-before-limit)
		}
		before = r.T
		r.T -= moved
	}
}

// place is the place of a request in a graph.
type place struct {
	stream string
	turn   int
}

// joins returns the requests that wait for streams, by the ids of these.
func (g *Graph) joins() map[string]place {
	out := map[string]place{}
	for at, needs := range g.Needs {
		stream, turn := splitName(at)
		for _, need := range needs {
			child, _ := splitName(need)
			out[child] = place{stream, turn}
		}
	}
	return out
}

// pauses returns the pause before each request: from the latest recorded end of what it follows,
// which is the request before it in its stream, or the one that spawned the stream, and the last
// requests of the streams that it waited for. So a server as fast as the recorded one gets the
// requests at the recorded times. With thinkOnly, it is the think time of a request that has one.
//
// With aiperf, it is the pause of AIPerf 0.13: from the end of the request before in the stream, whatever a request
// waited for, and of the first request of a stream from the time at which the stream began.
func (g *Graph) pauses(thinkOnly, aiperf bool) map[string]time.Duration {
	requests, byID := map[string]*Request{}, map[string]*Stream{}
	for _, s := range g.Streams {
		byID[s.ID] = s
		for i := range s.Requests {
			requests[name(s.ID, i)] = &s.Requests[i]
		}
	}
	out := map[string]time.Duration{}
	for _, s := range g.Streams {
		for i := range s.Requests {
			at, end := name(s.ID, i), 0.0
			switch {
			case i > 0:
				end = s.Requests[i-1].End()
			case s.Spawn != nil && aiperf:
				end = s.Spawn.T
			case s.Spawn != nil:
				end = requests[s.Spawn.After].End()
			default:
				continue // the first request of a trace
			}
			for _, need := range g.Needs[at] {
				if child, _ := splitName(need); !aiperf {
					end = max(end, byID[child].end())
				}
			}
			if think := s.Requests[i].Think; thinkOnly && think != nil {
				out[at] = seconds(*think)
				continue
			}
			out[at] = seconds(s.Requests[i].T - end)
		}
	}
	return out
}

// seconds returns a recorded time as a duration of whole microseconds, at least 0.
func seconds(s float64) time.Duration {
	const most = 100 * 365 * 24 * time.Hour
	switch {
	case s <= 0:
		return 0
	case s >= most.Seconds():
		return most
	}
	return time.Duration(math.Round(s*1e6)) * time.Microsecond
}

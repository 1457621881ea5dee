package wire

import (
	"math"
	"time"

	"aiperfd/internal/engine/samples"
	"aiperfd/internal/run"
)

// Samples are single requests of a run.
type Samples struct {
	RunID     string     `json:"run_id"`
	State     string     `json:"state"`
	StartTime *time.Time `json:"start_time"` // of the first phase, from which seconds count; null before it
	Slowest   Slowest    `json:"slowest"`
	Sample    Sample     `json:"sample"`
	Damaged   bool       `json:"damaged,omitempty"` // the file of the samples cannot be decoded, so that there are none
}

// Slowest are the slowest requests, the slowest first.
type Slowest struct {
	Latency    []SlowRequest `json:"request_latency"`
	FirstToken []SlowRequest `json:"time_to_first_token"`
}

// Sample is a uniform sample of the requests that succeeded. Columns have one value per
// request; times are in milliseconds.
type Sample struct {
	Of          int64  `json:"of"` // requests of which this is the sample
	EndSec      Column `json:"end_sec"`
	Input       Column `json:"input_tokens"`
	Output      Column `json:"output_tokens"`
	FirstToken  Column `json:"time_to_first_token"`
	InterToken  Column `json:"inter_token_latency"`
	Latency     Column `json:"request_latency"`
	ScheduleLag Column `json:"schedule_lag"`
}

// SlowRequest is a request with its timeline. Latencies are in milliseconds; null = not
// known.
type SlowRequest struct {
	RequestID      string     `json:"request_id"`
	ConversationID string     `json:"conversation_id"`
	Phase          string     `json:"phase"`
	Session        int64      `json:"session"`
	Turn           int        `json:"turn"`
	Target         string     `json:"target"`
	Model          string     `json:"model"`
	Status         int        `json:"status"`      // of HTTP; 0 = there was no response
	ErrorClass     string     `json:"error_class"` // empty = success
	Input          Number     `json:"input_tokens" swaggertype:"number"`
	Output         Number     `json:"output_tokens" swaggertype:"number"`
	Latency        float64    `json:"request_latency"` // of a failed request until it failed
	FirstToken     Number     `json:"time_to_first_token" swaggertype:"number"`
	StartSec       float64    `json:"start_sec"` // since the start of the run
	Connection     Connection `json:"connection"`
	Timeline       Timeline   `json:"timeline"`
}

// Connection is how a request got its connection. The steps are 0 if there were none.
type Connection struct {
	Reused  bool    `json:"reused"` // it was open
	DNS     float64 `json:"dns_ms"`
	Connect float64 `json:"connect_ms"`
	TLS     float64 `json:"tls_ms"`
}

// Timeline is what happened in a request, in milliseconds since its start; null = it did not
// happen.
type Timeline struct {
	Due        Number `json:"due_ms" swaggertype:"number"` // ≤ 0
	Connected  Number `json:"connected_ms" swaggertype:"number"`
	Sent       Number `json:"sent_ms" swaggertype:"number"` // the whole request was written
	FirstByte  Number `json:"first_byte_ms" swaggertype:"number"`
	End        Number `json:"end_ms" swaggertype:"number"`
	Chunks     Column `json:"chunks_ms"`   // content events, the first 2000
	ChunkCount int    `json:"chunk_count"` // all of them
}

// Number is a number, or null if it is NaN or infinite.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) { return appendNumber(nil, float64(n)), nil }

// NewSamples returns the samples of a run.
func NewSamples(r *run.Run, s *samples.Samples) *Samples {
	out := &Samples{
		RunID: r.ID, State: string(r.State), StartTime: known(s.Start), Damaged: s.Damaged,
		Slowest: Slowest{slowRequests(r, s.Latency), slowRequests(r, s.FirstToken)},
	}
	column := func(value func(p *samples.Point) float64) Column {
		c := make(Column, len(s.Points))
		for i := range s.Points {
			c[i] = value(&s.Points[i])
		}
		return c
	}
	out.Sample = Sample{
		Of:          s.Seen,
		EndSec:      column(func(p *samples.Point) float64 { return p.End.Seconds() }),
		Input:       column(func(p *samples.Point) float64 { return p.Input }),
		Output:      column(func(p *samples.Point) float64 { return p.Output }),
		FirstToken:  column(func(p *samples.Point) float64 { return p.FirstToken }),
		InterToken:  column(func(p *samples.Point) float64 { return p.InterToken }),
		Latency:     column(func(p *samples.Point) float64 { return p.Latency }),
		ScheduleLag: column(func(p *samples.Point) float64 { return p.Wait }),
	}
	return out
}

func slowRequests(r *run.Run, list []*samples.Request) []SlowRequest {
	out := []SlowRequest{}
	for _, q := range list {
		setup, at := q.Setup, &q.Timeline
		one := SlowRequest{
			RequestID: q.ID, ConversationID: q.Conversation, Phase: q.Phase, Session: q.Session, Turn: q.Turn, Model: q.Model,
			Status: q.Status, ErrorClass: string(q.Class), Input: Number(q.Input), Output: Number(q.Output),
			Latency: rounded(q.Latency), FirstToken: Number(q.FirstToken), StartSec: rounded(q.At.Seconds()),
			Connection: Connection{q.Reused, float64(offset(setup.DNS)), float64(offset(setup.Connect)), float64(offset(setup.TLS))},
			Timeline: Timeline{
				Due: offset(at.Due), Connected: offset(at.Connected), Sent: offset(at.Wrote), FirstByte: offset(at.FirstByte), End: offset(at.End),
				Chunks: Column{}, ChunkCount: at.ChunkCount,
			},
		}
		if q.Target < len(r.Targets) {
			one.Target = r.Targets[q.Target]
		}
		for _, chunk := range at.Chunks {
			one.Timeline.Chunks = append(one.Timeline.Chunks, float64(offset(chunk)))
		}
		out = append(out, one)
	}
	return out
}

// rounded rounds a number to three decimal places.
func rounded(v float64) float64 { return math.Round(v*1e3) / 1e3 }

// offset returns an offset in milliseconds.
func offset(d time.Duration) Number {
	if d == samples.NoTime {
		return Number(math.NaN())
	}
	return Number(float64(d.Microseconds()) / 1e3)
}

package catalogue

import (
	"math"

	"aiperfd/internal/engine/bench"
)

// latencyRows are the times of single requests.
func latencyRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "time_to_first_token", Better: Lower, Header: "Time to First Token", Short: "TTFT",
				Headline: Headline{10, InLists | InTables | OverTime | Exposed | Pooled},
				Group:    GroupDefault, Order: 100, Flags: StreamingOnly | ProducesTokensOnly | IncludesFailed,
				Doc: "First content event (text, reasoning, refusal or tool call) minus the start of the request.",
			},
			fromStart: true, ofAudio: true,
			unit: inMS, Each: func(v *View) float64 { return v.First }, Least: (*View).leastFirst,
		},
		{
			Def: Def{
				Tag: "time_to_second_token", Better: Lower, Header: "Time to Second Token", Short: "TTST",
				Headline: Headline{11, InTables | Pooled},
				Group:    GroupDefault, Order: 200, Flags: StreamingOnly | ProducesTokensOnly,
				Doc: "Second content event minus the first. It counts events, not tokens.",
			},
			unit: inMS, Each: secondGap,
		},
		{
			Def: Def{
				Tag: "time_to_first_output_token", Better: Lower, Header: "Time to First Output Token", Short: "TTFO",
				Group: GroupDefault, Order: 210, Flags: StreamingOnly | ProducesTokensOnly | SupportsReasoning,
				Doc: "First content event that is not reasoning minus the start of the request; equal to time_to_first_token if there is no reasoning.",
			},
			fromStart: true,
			unit:      inMS, Each: firstOutput,
		},
		{
			Def: Def{
				Tag: "request_latency", Better: Lower, Header: "Request Latency", Short: "Req Latency",
				Headline: Headline{14, InLists | InTables | OverTime | Exposed | Pooled},
				Group:    GroupDefault, Order: 300, Flags: IncludesFailed,
				Doc: "Last content event minus the start of the request; for a response that was not streamed, the end of its body.",
			},
			fromStart: true,
			unit:      inMS, Each: func(v *View) float64 { return v.Last }, Least: func(v *View) float64 { return v.End },
		},
		{
			Def: Def{
				Tag: "decode_duration", Better: Lower, Header: "Decode Duration", Short: "Decode Duration",
				Group: GroupDefault, Order: 350, Flags: StreamingOnly | ProducesTokensOnly | IncludesFailed,
				Doc: "Last content event minus the first.",
			},
			unit: inMS, Each: func(v *View) float64 { return v.Last - v.First },
		},
		{
			Def: Def{
				Tag: "inter_token_latency", Better: Lower, Header: "Inter Token Latency", Short: "ITL",
				Headline: Headline{12, InLists | InTables | OverTime | Exposed | Pooled},
				Group:    GroupDefault, Order: 400, Flags: StreamingOnly | ProducesTokensOnly | IncludesFailed,
				Doc: "decode_duration / (OSL - 1), for OSL of 2 or more. With token counts on every event, the tokens of the first one are subtracted instead of 1.",
			},
			unit: inMS, Each: (*View).itl,
		},
		{
			Def: Def{
				Tag: "inter_chunk_latency", Better: Lower, Header: "Inter Chunk Latency", Short: "ICL",
				Headline: Headline{13, OverTime | Exposed},
				Flags:    StreamingOnly | ProducesTokensOnly,
				Doc:      "Gaps between consecutive content events, for all requests, including zeros. Requests with a negative gap are excluded.",
			},
			ofAudio: true,
			unit:    inMS, List: GapList,
		},
		{
			Def: Def{
				Tag: "stream_setup_latency", Better: Lower, Header: "Stream Setup Latency",
				Group: GroupDefault, Flags: StreamingOnly | Experimental,
				Doc: "Response head minus the start of the request.",
			},
			fromStart: true,
			unit:      inMS, Each: setup,
		},
		{
			Def: Def{
				Tag: "stream_prefill_latency", Better: Lower, Header: "Stream Prefill Latency",
				Group: GroupDefault, Flags: StreamingOnly | ProducesTokensOnly | Experimental,
				Doc: "time_to_first_token minus stream_setup_latency.",
			},
			unit: inMS, Each: func(v *View) float64 { return v.First - setup(v) },
		},
		{
			Def: Def{
				Tag: "time_to_first_event", Better: Lower, Header: "Time to First Event", Short: "TTFE", Origin: Ours,
				Flags: StreamingOnly,
				Doc:   "First data event of any kind, for example one with only a role, minus the start of the request.",
			},
			fromStart: true,
			unit:      inMS, Each: func(v *View) float64 { return present(v.Streams, v.afterStart(v.Record.Answer.FirstEvent)) },
		},
		{
			Def: Def{
				Tag: "inter_token_stall", Better: Lower, Header: "Inter Token Stall", Short: "Stall", Origin: Ours,
				Flags: StreamingOnly | ProducesTokensOnly,
				Doc:   "The longest gap between two content events of a request.",
			},
			ofAudio: true,
			unit:    inMS, Each: func(v *View) float64 { return present(v.Gaps > 0, v.MaxGap) },
		},
		{
			Def: Def{
				Tag: "icl_same_read_fraction", Better: Neither, Header: "ICL Same-Read Fraction", Short: "Same Read", Origin: Ours,
				Flags: StreamingOnly | ProducesTokensOnly,
				Doc:   "Share of a request's gaps whose two events arrived in one read of the socket: such gaps are zero because of batching on the network path, not because of the model.",
			},
			unit: inRatio, Each: func(v *View) float64 { return present(v.Gaps > 0, float64(v.SameRead)/float64(v.Gaps)) },
		},
		{
			Def: Def{
				Tag: "normalized_latency", Better: Lower, Header: "Normalized Latency", Short: "Norm Latency", Origin: Ours,
				Flags: ProducesTokensOnly,
				Doc:   "request_latency / OSL.",
			},
			unit: inMSPerToken, Each: func(v *View) float64 { return v.Last / positive(v.OSL) },
		},
		{
			Def: Def{
				Tag: "stream_end_latency", Better: Lower, Header: "Stream End Latency", Short: "Stream End", Origin: Ours,
				Flags: StreamingOnly,
				Doc:   "End of the body (after usage and end marker) minus the start of the request.",
			},
			fromStart: true,
			unit:      inMS, Each: func(v *View) float64 { return present(v.Streams, v.End) },
		},
		{
			Def: Def{
				Tag: "stream_tail_latency", Better: Lower, Header: "Stream Tail Latency", Short: "Stream Tail", Origin: Ours,
				Flags: StreamingOnly,
				Doc:   "End of the body minus the last content event: the time that request_latency does not include.",
			},
			unit: inMS, Each: func(v *View) float64 { return present(v.Streams, v.End-v.Last) },
		},
	}
}

// secondGap is the gap between the first two content events.
func secondGap(v *View) float64 {
	if c := v.Record.Answer.Chunks; v.Streams && len(c) > 1 && v.Record.Paced() {
		return float64(c[1].At - c[0].At)
	}
	return math.NaN()
}

// firstOutput is the first content event of the answer proper.
func firstOutput(v *View) float64 {
	if !v.Streams {
		return math.NaN()
	}
	chunks := v.Record.Answer.Chunks
	if v.Record.Answer.LeftOut > 0 {
		chunks = chunks[:len(chunks)-1] // what came before the last one is unknown
	}
	for i := range chunks {
		switch c := &chunks[i]; c.Kind {
		case bench.Text, bench.Tool, bench.Refusal:
			return v.afterStart(c.At)
		case bench.Reasoning, bench.Audio, bench.Image, bench.ImagePartial, bench.Video, bench.Embedding, bench.Ranking, bench.Binary:
		}
	}
	return math.NaN()
}

// setup is the time to the response head of a stream.
func setup(v *View) float64 {
	return present(v.Streams, v.afterStart(v.Record.Stamps.Headers))
}

// GapList appends the gaps between content events.
func GapList(v *View, dst []float64) []float64 {
	if v.Gaps == 0 {
		return dst
	}
	chunks := v.Record.Answer.Chunks
	for i := 1; i < len(chunks); i++ {
		dst = append(dst, float64(chunks[i].At-chunks[i-1].At))
	}
	return dst
}

package metric

import (
	"math"

	"aiperfd/internal/engine/bench"
)

// latencyRows are the times of single requests.
func latencyRows() []row {
	return []row{
		{
			Def: Def{
				Tag: "time_to_first_token", Header: "Time to First Token", Short: "TTFT",
				Group: GroupDefault, Order: 100, Flags: StreamingOnly | ProducesTokensOnly | IncludesFailed,
				Doc: "First content event (text, reasoning, refusal or tool call) minus the start of the request.",
			},
			fromStart: true, ofAudio: true,
			unit: inMS, each: func(v *view) float64 { return v.first },
		},
		{
			Def: Def{
				Tag: "time_to_second_token", Header: "Time to Second Token", Short: "TTST",
				Group: GroupDefault, Order: 200, Flags: StreamingOnly | ProducesTokensOnly,
				Doc: "Second content event minus the first. It counts events, not tokens.",
			},
			unit: inMS, each: secondGap,
		},
		{
			Def: Def{
				Tag: "time_to_first_output_token", Header: "Time to First Output Token", Short: "TTFO",
				Group: GroupDefault, Order: 210, Flags: StreamingOnly | ProducesTokensOnly | SupportsReasoning,
				Doc: "First content event that is not reasoning minus the start of the request; equal to time_to_first_token if there is no reasoning.",
			},
			fromStart: true,
			unit:      inMS, each: firstOutput,
		},
		{
			Def: Def{
				Tag: "request_latency", Header: "Request Latency", Short: "Req Latency",
				Group: GroupDefault, Order: 300, Flags: IncludesFailed,
				Doc: "Last content event minus the start of the request; for a response that was not streamed, the end of its body.",
			},
			fromStart: true,
			unit:      inMS, each: func(v *view) float64 { return v.last },
		},
		{
			Def: Def{
				Tag: "decode_duration", Header: "Decode Duration", Short: "Decode Duration",
				Group: GroupDefault, Order: 350, Flags: StreamingOnly | ProducesTokensOnly | IncludesFailed,
				Doc: "Last content event minus the first.",
			},
			unit: inMS, each: func(v *view) float64 { return v.last - v.first },
		},
		{
			Def: Def{
				Tag: "inter_token_latency", Header: "Inter Token Latency", Short: "ITL",
				Group: GroupDefault, Order: 400, Flags: StreamingOnly | ProducesTokensOnly | IncludesFailed,
				Doc: "decode_duration / (OSL - 1), for OSL of 2 or more. With token counts on every event, the tokens of the first one are subtracted instead of 1.",
			},
			unit: inMS, each: (*view).itl,
		},
		{
			Def: Def{
				Tag: "inter_chunk_latency", Header: "Inter Chunk Latency", Short: "ICL",
				Flags: StreamingOnly | ProducesTokensOnly,
				Doc:   "Gaps between consecutive content events, for all requests, including zeros. Requests with a negative gap are excluded.",
			},
			ofAudio: true,
			unit:    inMS, list: gapList,
		},
		{
			Def: Def{
				Tag: "stream_setup_latency", Header: "Stream Setup Latency",
				Group: GroupDefault, Flags: StreamingOnly | Experimental,
				Doc: "Response head minus the start of the request.",
			},
			fromStart: true,
			unit:      inMS, each: setup,
		},
		{
			Def: Def{
				Tag: "stream_prefill_latency", Header: "Stream Prefill Latency",
				Group: GroupDefault, Flags: StreamingOnly | ProducesTokensOnly | Experimental,
				Doc: "time_to_first_token minus stream_setup_latency.",
			},
			unit: inMS, each: func(v *view) float64 { return v.first - setup(v) },
		},
		{
			Def: Def{
				Tag: "time_to_first_event", Header: "Time to First Event", Short: "TTFE", Origin: ours,
				Flags: StreamingOnly,
				Doc:   "First data event of any kind, for example one with only a role, minus the start of the request.",
			},
			fromStart: true,
			unit:      inMS, each: func(v *view) float64 { return present(v.streams, v.afterStart(v.r.Answer.FirstEvent)) },
		},
		{
			Def: Def{
				Tag: "inter_token_stall", Header: "Inter Token Stall", Short: "Stall", Origin: ours,
				Flags: StreamingOnly | ProducesTokensOnly,
				Doc:   "The longest gap between two content events of a request.",
			},
			ofAudio: true,
			unit:    inMS, each: func(v *view) float64 { return present(v.gaps > 0, v.maxGap) },
		},
		{
			Def: Def{
				Tag: "icl_same_read_fraction", Header: "ICL Same-Read Fraction", Short: "Same Read", Origin: ours,
				Flags: StreamingOnly | ProducesTokensOnly,
				Doc:   "Share of a request's gaps whose two events arrived in one read of the socket: such gaps are zero because of batching on the network path, not because of the model.",
			},
			unit: inRatio, each: func(v *view) float64 { return present(v.gaps > 0, float64(v.sameRead)/float64(v.gaps)) },
		},
		{
			Def: Def{
				Tag: "normalized_latency", Header: "Normalized Latency", Short: "Norm Latency", Origin: ours,
				Flags: ProducesTokensOnly,
				Doc:   "request_latency / OSL.",
			},
			unit: inMSPerToken, each: func(v *view) float64 { return v.last / positive(v.osl) },
		},
		{
			Def: Def{
				Tag: "stream_end_latency", Header: "Stream End Latency", Short: "Stream End", Origin: ours,
				Flags: StreamingOnly,
				Doc:   "End of the body (after usage and end marker) minus the start of the request.",
			},
			fromStart: true,
			unit:      inMS, each: func(v *view) float64 { return present(v.streams, v.end) },
		},
		{
			Def: Def{
				Tag: "stream_tail_latency", Header: "Stream Tail Latency", Short: "Stream Tail", Origin: ours,
				Flags: StreamingOnly,
				Doc:   "End of the body minus the last content event: the time that request_latency does not include.",
			},
			unit: inMS, each: func(v *view) float64 { return present(v.streams, v.end-v.last) },
		},
	}
}

// secondGap is the gap between the first two content events.
func secondGap(v *view) float64 {
	if c := v.r.Answer.Chunks; v.streams && len(c) > 1 && v.r.Conn.Polls == 0 {
		return float64(c[1].At - c[0].At)
	}
	return math.NaN()
}

// firstOutput is the first content event of the answer proper.
func firstOutput(v *view) float64 {
	if !v.streams {
		return math.NaN()
	}
	for i := range v.r.Answer.Chunks {
		switch c := &v.r.Answer.Chunks[i]; c.Kind {
		case bench.Text, bench.Tool, bench.Refusal:
			return v.afterStart(c.At)
		case bench.Reasoning, bench.Audio, bench.Image, bench.ImagePartial, bench.Video, bench.Embedding, bench.Ranking, bench.Binary:
		}
	}
	return math.NaN()
}

// setup is the time to the response head of a stream.
func setup(v *view) float64 {
	return present(v.streams, v.afterStart(v.r.Stamps.Headers))
}

// gapList appends the gaps between content events.
func gapList(v *view, dst []float64) []float64 {
	if v.gaps == 0 {
		return dst
	}
	chunks := v.r.Answer.Chunks
	for i := 1; i < len(chunks); i++ {
		dst = append(dst, float64(chunks[i].At-chunks[i-1].At))
	}
	return dst
}

package catalogue

import (
	"math"

	"aiperfd/internal/engine/bench"
)

// latencyRows are the times of single requests.
func latencyRows() []Row {
	return []Row{
		record("time_to_first_token", streamedTokens|IncludesFailed, inMS, func(v *View) float64 { return v.First }).
			headline(10, InLists|InTables|OverTime|Exposed|Pooled).
			sinceStart().alsoAudio().least((*View).leastFirst),
		record("time_to_second_token", streamedTokens, inMS, secondGap).headline(11, InTables|Pooled),
		record("time_to_first_output_token", streamedTokens|SupportsReasoning, inMS, firstOutput).sinceStart(),
		record("request_latency", IncludesFailed, inMS, func(v *View) float64 { return v.Last }).
			headline(14, InLists|InTables|OverTime|Exposed|Pooled).
			sinceStart().least(func(v *View) float64 { return v.End }),
		record("decode_duration", streamedTokens|IncludesFailed, inMS, func(v *View) float64 {
			return v.Last - v.First
		}),
		record("inter_token_latency", streamedTokens|IncludesFailed, inMS, (*View).itl).
			headline(12, InLists|InTables|OverTime|Exposed|Pooled),
		list("inter_chunk_latency", streamedTokens, inMS, GapList).headline(13, OverTime|Exposed).alsoAudio(),
		record("stream_setup_latency", StreamingOnly|Experimental, inMS, headTime).sinceStart(),
		record("stream_prefill_latency", streamedTokens|Experimental, inMS, func(v *View) float64 {
			return v.First - headTime(v)
		}),
		record("time_to_first_event", StreamingOnly, inMS, func(v *View) float64 {
			return present(v.Streams, v.afterStart(v.Record.Answer.FirstEvent))
		}).sinceStart(),
		record("inter_token_stall", streamedTokens, inMS, func(v *View) float64 {
			return present(v.Gaps > 0, v.MaxGap)
		}).alsoAudio(),
		record("icl_same_read_fraction", streamedTokens, inRatio, func(v *View) float64 {
			return present(v.Gaps > 0, float64(v.SameRead)/float64(v.Gaps))
		}),
		record("normalized_latency", ProducesTokensOnly, inMSPerToken, func(v *View) float64 {
			return v.Last / positive(v.OSL)
		}),
		record("stream_end_latency", StreamingOnly, inMS, func(v *View) float64 { return present(v.Streams, v.End) }).
			sinceStart(),
		record("stream_tail_latency", StreamingOnly, inMS, func(v *View) float64 {
			return present(v.Streams, v.End-v.Last)
		}),
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

// headTime is the time to the response head of a stream.
func headTime(v *View) float64 {
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

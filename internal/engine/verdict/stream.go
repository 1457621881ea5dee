package verdict

import (
	"fmt"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
)

// Class is how streamed responses were divided into events on their way.
type Class string

// The classes, best first.
const (
	PerToken  Class = "per_token" // about one token per event, and events come one by one
	Batched   Class = "batched"   // several tokens per event
	Coalesced Class = "coalesced" // several events per read
	Buffered  Class = "buffered"  // the whole content in one burst at the end
)

// Stream describes the streams of a run.
type Stream struct {
	Class    Class  `json:"class"`
	Message  string `json:"message"`
	Streams  int64  `json:"streams"`       // successful streamed responses
	Events   int64  `json:"events"`        // their content events
	Buffered int64  `json:"buffered"`      // streams whose content arrived in one burst
	Gaps     int64  `json:"gaps"`          // between content events
	SameRead int64  `json:"gaps_one_read"` // gaps whose two events arrived in one read
	Zero     int64  `json:"gaps_zero"`     // gaps of zero length
	// EventsPerRead is the number of content events per read that brought content.
	// 1 = each event arrived in its own read.
	EventsPerRead  float64  `json:"chunk_coalescing_ratio"`
	TokensPerChunk *float64 `json:"tokens_per_chunk"` // null = tokens were not counted
	SameReadShare  float64  `json:"icl_same_read_fraction"`
	ZeroShare      float64  `json:"icl_zero_fraction"`
	// Withheld lists the metrics whose percentiles are meaningless for these streams.
	Withheld map[string]Withheld `json:"withheld"` // never null
}

// Withheld replaces percentiles that are meaningless.
type Withheld struct {
	Percentiles *struct{} `json:"percentiles"` // always null
	Reason      string    `json:"reason"`
}

// streams holds the counts that the class is derived from.
type streams struct {
	streams, buffered      int64
	events, gaps           int64
	sameRead, zero         int64
	firstTogether          int64         // streams whose first two events came in one read
	span                   time.Duration // from first to last event, over all streams
	reads                  int64         // that brought content
	counted, countedEvents int64         // tokens, and the events of the streams whose tokens are known
}

// The limits between the classes.
const (
	batchedFrom   = 1.5  // tokens per event
	coalescedFrom = 0.1  // share of the gaps within one read
	bufferedFrom  = 0.5  // share of the streams
	shortAnswer   = 4    // tokens; shorter answers cannot be called buffered
	burstShare    = 0.01 // of the latency: a burst takes less
	burstPace     = 250 * time.Microsecond
)

// observe adds the stream of a successful record. Streams of audio or images have no
// tokens whose pace could be measured.
func (s *streams) observe(rec *bench.Record) {
	chunks := rec.Answer.Chunks
	switch chunks[0].Kind {
	case bench.Text, bench.Reasoning, bench.Refusal, bench.Tool:
	case bench.Audio, bench.Image, bench.ImagePartial, bench.Video, bench.Embedding, bench.Ranking, bench.Binary:
		return
	}
	s.streams++
	s.events += int64(len(chunks))
	s.gaps += int64(len(chunks) - 1)
	s.span += chunks[len(chunks)-1].At - chunks[0].At
	if len(chunks) > 1 && chunks[1].Read == chunks[0].Read {
		s.firstTogether++
	}
	reads := int64(1)
	for i := 1; i < len(chunks); i++ {
		if chunks[i].Read == chunks[i-1].Read {
			s.sameRead++
		} else {
			reads++
		}
		if chunks[i].At == chunks[i-1].At {
			s.zero++
		}
	}
	s.reads += reads
	tokens := int64(len(chunks))
	if osl, ok := rec.OSL(); ok {
		s.counted += int64(osl)
		s.countedEvents += int64(len(chunks))
		tokens = max(tokens, int64(osl))
	}
	if burst(rec, tokens, reads) {
		s.buffered++
	}
}

// burst reports whether the content of a response came at once: in one read, or faster
// than any model generates tokens and in a small part of the latency.
func burst(rec *bench.Record, tokens, reads int64) bool {
	if tokens < shortAnswer {
		return false
	}
	if reads == 1 {
		return true
	}
	chunks := rec.Answer.Chunks
	span := chunks[len(chunks)-1].At - chunks[0].At
	latency := chunks[len(chunks)-1].At - rec.Stamps.Start
	return float64(span) < burstShare*float64(latency) && span < time.Duration(tokens-1)*burstPace
}

// merge adds the counts of o.
func (s *streams) merge(o *streams) {
	s.streams += o.streams
	s.buffered += o.buffered
	s.events += o.events
	s.gaps += o.gaps
	s.sameRead += o.sameRead
	s.zero += o.zero
	s.firstTogether += o.firstTogether
	s.span += o.span
	s.reads += o.reads
	s.counted += o.counted
	s.countedEvents += o.countedEvents
}

// Streams judges the streams of several phases together; nil if nothing was
// streamed.
func Streams(tallies ...*Tally) *Stream {
	var s streams
	for _, t := range tallies {
		s.merge(&t.streams)
	}
	if s.streams == 0 {
		return nil
	}
	out := &Stream{
		Streams: s.streams, Events: s.events, Buffered: s.buffered, Gaps: s.gaps, SameRead: s.sameRead, Zero: s.zero,
		EventsPerRead: round(float64(s.events) / float64(s.reads)), Withheld: map[string]Withheld{},
	}
	if s.gaps > 0 {
		out.SameReadShare = round(float64(s.sameRead) / float64(s.gaps))
		out.ZeroShare = round(float64(s.zero) / float64(s.gaps))
	}
	if s.countedEvents > 0 {
		out.TokensPerChunk = known(float64(s.counted) / float64(s.countedEvents))
	}
	out.classify()
	return out
}

// classify sets the class and withholds the metrics that it makes meaningless.
func (s *Stream) classify() {
	share := float64(s.Buffered) / float64(s.Streams)
	switch {
	case share >= bufferedFrom:
		s.Class = Buffered
		s.Message = fmt.Sprintf("%.0f %% of the streams brought their whole content in one burst at the end: the server or a proxy buffers them, so time to first token is the time to the whole answer", 100*share)
		s.withhold("the content of a stream arrived in one burst, so gaps do not reflect the pace of the model",
			"inter_chunk_latency", "time_to_second_token", "inter_token_latency", "inter_token_stall",
			"decode_duration", "output_token_throughput_per_user")
	case s.SameReadShare > coalescedFrom:
		s.Class = Coalesced
		s.Message = fmt.Sprintf("%.3g events came in one read on average: the server, a proxy or the network sends several at a time, or the load generator read them late", s.EventsPerRead)
		s.withhold(fmt.Sprintf("%.0f %% of the gaps lie within one read and are zero for that reason", 100*s.SameReadShare),
			"inter_chunk_latency", "time_to_second_token")
	case s.TokensPerChunk != nil && *s.TokensPerChunk > batchedFrom:
		s.Class = Batched
		s.Message = fmt.Sprintf("the server or a proxy sent %.3g tokens at a time on average", *s.TokensPerChunk)
		s.withhold(fmt.Sprintf("a gap is the time of %.3g tokens, not of one", *s.TokensPerChunk),
			"inter_chunk_latency", "time_to_second_token")
	default:
		s.Class = PerToken
		s.Message = "about one token an event"
	}
	if s.Class != Buffered && share >= 0.05 {
		s.Message += fmt.Sprintf("; %.0f %% of the streams brought their content in one burst", 100*share)
	}
}

func (s *Stream) withhold(reason string, tags ...string) {
	for _, tag := range tags {
		s.Withheld[tag] = Withheld{Reason: reason}
	}
	s.Message += "; the percentiles of " + strings.Join(tags, ", ") + " are withheld because they would measure that and not the model"
}

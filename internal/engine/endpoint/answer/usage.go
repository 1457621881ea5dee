package answer

import (
	"math"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// Count is a number that the server may not have given.
type Count struct {
	N    int64
	Rank int // Place of the field it came from; 0 = not given, lower places win
}

// Known reports whether the server gave the number.
func (c Count) Known() bool { return c.Rank != 0 }

func (c Count) tokens() *bench.Tokens {
	if !c.Known() {
		return nil
	}
	n := bench.Tokens(c.N)
	return &n
}

// UsageCounts is a usage object while fields are collected: no pointers, so
// that a usage on every chunk costs nothing.
type UsageCounts struct {
	Input, Output, Total, reasoning, cached, cacheWrite, cacheMiss Count
	audioIn, audioOut, accepted, rejected                          Count
	imageIn, imageOut                                              Count
	seconds                                                        seconds
	thoughts                                                       Count
	disjoint                                                       bool // the vendor's cache counts are not part of its input
}

// ReadUsage normalises a usage object over vendors. ok = false when v holds no
// count that we know: such an object is not a usage.
func ReadUsage(v *fastjson.Value) (u UsageCounts, ok bool) {
	object := v.GetObject()
	if object == nil {
		return u, false
	}
	if tokens := object.Get("tokens"); tokens != nil && tokens.GetObject() != nil {
		object = tokens.GetObject() // Cohere v2; its billed_units are not what ran
	}
	object.Visit(u.Field)
	u.seconds.settle()
	return u.Settled(), u != UsageCounts{}
}

// Settled adds up what vendors count apart.
func (u UsageCounts) Settled() UsageCounts {
	if u.disjoint && isDisjointInput(u.Input) {
		u.Input.N += u.cacheWrite.N
		if u.cached.Rank == rankDisjointCached {
			u.Input.N += u.cached.N
		}
	}
	if u.thoughts.Known() {
		u.Output = Count{u.Output.N + u.thoughts.N, 1}
		u.reasoning.Take(u.thoughts.N, 5)
	}
	return u
}

// Merge lays a later usage over u, count by count.
func (u *UsageCounts) Merge(later UsageCounts) {
	of := later.counts()
	for i, c := range u.counts() {
		if of[i].Known() {
			*c = *of[i]
		}
	}
	u.disjoint = u.disjoint || later.disjoint
}

// counts returns all counts.
func (u *UsageCounts) counts() [14]*Count {
	return [...]*Count{
		&u.Input, &u.Output, &u.Total, &u.reasoning, &u.cached, &u.cacheWrite, &u.cacheMiss,
		&u.audioIn, &u.audioOut, &u.accepted, &u.rejected, &u.imageIn, &u.imageOut, &u.thoughts,
	}
}

// Ranks of fields that belong to vendors who report cached tokens apart.
const (
	rankInputTokens    = 2 // input_tokens
	rankInputTokensAWS = 4 // inputTokens
	rankDisjointCached = 3 // cache_read_input_tokens, cacheReadInputTokens
)

func isDisjointInput(input Count) bool {
	return input.Rank == rankInputTokens || input.Rank == rankInputTokensAWS
}

// Take keeps n if its field goes before the one that c came from.
func (c *Count) Take(n int64, rank int) {
	if !c.Known() || rank < c.Rank {
		*c = Count{n, rank}
	}
}

// Field reads one member of a usage object. Names of one count are ranked in
// the order in which they are believed.
func (u *UsageCounts) Field(key []byte, v *fastjson.Value) {
	if v.Type() == fastjson.TypeObject {
		u.details(string(key), v.GetObject())
		return
	}
	n, ok := TokenCount(v)
	if !ok {
		u.seconds.duration = u.seconds.duration || string(key) == "type" && string(Str(v)) == "duration"
		return
	}
	switch string(key) {
	case "prompt_tokens":
		u.Input.Take(n, 1)
	case "input_tokens":
		u.Input.Take(n, rankInputTokens)
	case "promptTokenCount":
		u.Input.Take(n, 3)
	case "inputTokens":
		u.Input.Take(n, rankInputTokensAWS)
	case "input_token_count":
		u.Input.Take(n, 5)
	case "input":
		u.Input.Take(n, 6)
	case "prompt_eval_count":
		u.Input.Take(n, 7)
	case "completion_tokens":
		u.Output.Take(n, 1)
	case "output_tokens":
		u.Output.Take(n, 2)
	case "candidatesTokenCount":
		u.Output.Take(n, 3)
	case "outputTokens":
		u.Output.Take(n, 4)
	case "generated_token_count":
		u.Output.Take(n, 5)
	case "output":
		u.Output.Take(n, 6)
	case "eval_count":
		u.Output.Take(n, 7)
	case "total_tokens":
		u.Total.Take(n, 1)
	case "totalTokenCount":
		u.Total.Take(n, 2)
	case "totalTokens":
		u.Total.Take(n, 3)
	default:
		u.detailField(string(key), n)
		u.seconds.field(string(key), v)
	}
}

// detailField reads the top-level fields about parts of input and output.
func (u *UsageCounts) detailField(key string, n int64) {
	switch key {
	case "reasoning_tokens":
		u.reasoning.Take(n, 4)
	case "thoughtsTokenCount":
		u.thoughts.Take(n, 1)
	case "cache_read_input_tokens", "cacheReadInputTokens":
		u.cached.Take(n, rankDisjointCached)
		u.disjoint = true
	case "prompt_cache_hit_tokens":
		u.cached.Take(n, 4)
	case "cachedContentTokenCount":
		u.cached.Take(n, 5)
	case "cached_tokens":
		u.cached.Take(n, 6)
	case "cache_creation_input_tokens", "cacheWriteInputTokens":
		u.cacheWrite.Take(n, 4)
		u.disjoint = true
	case "prompt_cache_miss_tokens":
		u.cacheMiss.Take(n, 1)
	}
}

// details reads the nested objects about input and output.
func (u *UsageCounts) details(key string, object *fastjson.Object) {
	rank := 1
	switch key {
	case "completion_tokens_details", "output_tokens_details":
		if key == "output_tokens_details" {
			rank = 2
		}
		object.Visit(func(key []byte, v *fastjson.Value) { u.outputDetail(string(key), v, rank) })
	case "prompt_tokens_details", "input_tokens_details", "input_token_details":
		if key != "prompt_tokens_details" {
			rank = 2
		}
		object.Visit(func(key []byte, v *fastjson.Value) { u.inputDetail(string(key), v, rank) })
	}
}

func (u *UsageCounts) outputDetail(key string, v *fastjson.Value, rank int) {
	n, ok := TokenCount(v)
	if !ok {
		return
	}
	switch key {
	case "reasoning_tokens":
		u.reasoning.Take(n, rank)
	case "thinking_tokens":
		u.reasoning.Take(n, 3)
	case "audio_tokens":
		u.audioOut.Take(n, rank)
	case "image_tokens":
		u.imageOut.Take(n, rank)
	case "accepted_prediction_tokens":
		u.accepted.Take(n, rank)
	case "rejected_prediction_tokens":
		u.rejected.Take(n, rank)
	}
}

func (u *UsageCounts) inputDetail(key string, v *fastjson.Value, rank int) {
	if key == "multimodal_tokens" && v.Type() == fastjson.TypeObject { // vLLM: by modality
		v.GetObject().Visit(func(modality []byte, v *fastjson.Value) {
			u.inputDetail(string(modality)+"_tokens", v, rank+2)
		})
		return
	}
	n, ok := TokenCount(v)
	if !ok {
		return
	}
	switch key {
	case "cached_tokens":
		u.cached.Take(n, rank)
	case "cache_write_tokens", "created_cache_tokens":
		u.cacheWrite.Take(n, rank)
	case "audio_tokens":
		u.audioIn.Take(n, rank)
	case "image_tokens":
		u.imageIn.Take(n, rank)
	}
}

// TokenCount reads a count of tokens, which some servers write as a float. Negative and
// non-numeric values are no counts: some servers write -1 for what they do not know.
// Counts above [MaxTokens] are returned as impossible, so that sums of them cannot overflow;
// [Builder.Result] drops them.
func TokenCount(v *fastjson.Value) (int64, bool) {
	const impossible = MaxTokens + 1
	if v.Type() != fastjson.TypeNumber {
		return 0, false
	}
	if n, err := v.Int64(); err == nil {
		return min(n, impossible), n >= 0
	}
	f, err := v.Float64()
	if err != nil || !(f >= 0) {
		return 0, false
	}
	return int64(math.Round(min(f, impossible))), true
}

// usage returns the counts as the vocabulary has them.
func (u *UsageCounts) usage() *bench.Usage {
	return &bench.Usage{
		Input: u.Input.tokens(), Output: u.Output.tokens(), Total: u.Total.tokens(),
		Reasoning: u.reasoning.tokens(), Cached: u.cached.tokens(),
		CacheWrite: u.cacheWrite.tokens(), CacheMiss: u.cacheMiss.tokens(),
		AudioIn: u.audioIn.tokens(), AudioOut: u.audioOut.tokens(),
		Accepted: u.accepted.tokens(), Rejected: u.rejected.tokens(),
		ImageIn: u.imageIn.tokens(), ImageOut: u.imageOut.tokens(), AudioSeconds: u.seconds.value(),
	}
}

// seconds is the length of audio that a server counts beside or instead of tokens.
type seconds struct {
	n        float64
	rank     int  // Place of the field it came from; 0 = not given, lower places win
	duration bool // the usage is of type duration
}

// rankSeconds is the field that means audio only in a usage of type duration
// (OpenAI, vLLM).
const rankSeconds = 1

// field takes a number from the usage.
func (s *seconds) field(key string, v *fastjson.Value) {
	rank := 0
	switch key {
	case "seconds":
		rank = rankSeconds
	case "prompt_audio_seconds": // Mistral
		rank = 2
	default:
		return
	}
	const most = 1e9 // 30 years; 1e999 is infinite
	if n, err := v.Float64(); err == nil && n >= 0 && n <= most && (s.rank == 0 || s.rank > rank) {
		s.n, s.rank = n, rank
	}
}

// settle drops a number that means something else.
func (s *seconds) settle() {
	if s.rank == rankSeconds && !s.duration {
		*s = seconds{}
	}
	s.duration = false
}

func (s *seconds) value() *float64 {
	if s.rank == 0 {
		return nil
	}
	n := s.n
	return &n
}

// TokenCountOf is [TokenCount] for a member that may be missing.
func TokenCountOf(v *fastjson.Value) (int64, bool) {
	if v == nil {
		return 0, false
	}
	return TokenCount(v)
}

// SmallInt reads a place in a list.
func SmallInt(v *fastjson.Value) (int, bool) {
	if v == nil {
		return 0, false
	}
	n, ok := TokenCount(v)
	return int(min(n, MaxIndex)), ok && n <= MaxIndex
}

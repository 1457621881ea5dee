package endpoint

import (
	"math"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// count is a number that the server may not have given.
type count struct {
	n    int64
	rank int // place of the field it came from; 0 = not given, lower places win
}

func (c count) known() bool { return c.rank != 0 }

func (c count) tokens() *bench.Tokens {
	if !c.known() {
		return nil
	}
	n := bench.Tokens(c.n)
	return &n
}

// usageCounts is a usage object while fields are collected: no pointers, so
// that a usage on every chunk costs nothing.
type usageCounts struct {
	input, output, total, reasoning, cached, cacheWrite, cacheMiss count
	audioIn, audioOut, accepted, rejected                          count
	imageIn, imageOut                                              count
	seconds                                                        seconds
	thoughts                                                       count
	disjoint                                                       bool // the vendor's cache counts are not part of its input
}

// readUsage normalises a usage object over vendors. ok = false when v holds no
// count that we know: such an object is not a usage.
func readUsage(v *fastjson.Value) (u usageCounts, ok bool) {
	object := v.GetObject()
	if object == nil {
		return u, false
	}
	if tokens := object.Get("tokens"); tokens != nil && tokens.GetObject() != nil {
		object = tokens.GetObject() // Cohere v2; its billed_units are not what ran
	}
	object.Visit(u.field)
	u.seconds.settle()
	return u.settled(), u != usageCounts{}
}

// settled adds up what vendors count apart.
func (u usageCounts) settled() usageCounts {
	if u.disjoint && isDisjointInput(u.input) {
		u.input.n += u.cacheWrite.n
		if u.cached.rank == rankDisjointCached {
			u.input.n += u.cached.n
		}
	}
	if u.thoughts.known() {
		u.output = count{u.output.n + u.thoughts.n, 1}
		u.reasoning.take(u.thoughts.n, 5)
	}
	return u
}

// merge lays a later usage over u, count by count.
func (u *usageCounts) merge(later usageCounts) {
	for _, c := range [][2]*count{
		{&u.input, &later.input}, {&u.output, &later.output}, {&u.total, &later.total},
		{&u.reasoning, &later.reasoning}, {&u.cached, &later.cached},
		{&u.cacheWrite, &later.cacheWrite}, {&u.cacheMiss, &later.cacheMiss},
		{&u.audioIn, &later.audioIn}, {&u.audioOut, &later.audioOut},
		{&u.accepted, &later.accepted}, {&u.rejected, &later.rejected}, {&u.thoughts, &later.thoughts},
	} {
		if c[1].known() {
			*c[0] = *c[1]
		}
	}
	u.disjoint = u.disjoint || later.disjoint
}

// Ranks of fields that belong to vendors who report cached tokens apart.
const (
	rankInputTokens    = 2 // input_tokens
	rankInputTokensAWS = 4 // inputTokens
	rankDisjointCached = 3 // cache_read_input_tokens, cacheReadInputTokens
)

func isDisjointInput(input count) bool {
	return input.rank == rankInputTokens || input.rank == rankInputTokensAWS
}

// take keeps n if its field goes before the one that c came from.
func (c *count) take(n int64, rank int) {
	if !c.known() || rank < c.rank {
		*c = count{n, rank}
	}
}

// field reads one member of a usage object. Names of one count are ranked in
// the order in which they are believed.
func (u *usageCounts) field(key []byte, v *fastjson.Value) {
	if v.Type() == fastjson.TypeObject {
		u.details(string(key), v.GetObject())
		return
	}
	n, ok := tokenCount(v)
	if !ok {
		u.seconds.duration = u.seconds.duration || string(key) == "type" && string(str(v)) == "duration"
		return
	}
	switch string(key) {
	case "prompt_tokens":
		u.input.take(n, 1)
	case "input_tokens":
		u.input.take(n, rankInputTokens)
	case "promptTokenCount":
		u.input.take(n, 3)
	case "inputTokens":
		u.input.take(n, rankInputTokensAWS)
	case "input_token_count":
		u.input.take(n, 5)
	case "input":
		u.input.take(n, 6)
	case "prompt_eval_count":
		u.input.take(n, 7)
	case "completion_tokens":
		u.output.take(n, 1)
	case "output_tokens":
		u.output.take(n, 2)
	case "candidatesTokenCount":
		u.output.take(n, 3)
	case "outputTokens":
		u.output.take(n, 4)
	case "generated_token_count":
		u.output.take(n, 5)
	case "output":
		u.output.take(n, 6)
	case "eval_count":
		u.output.take(n, 7)
	case "total_tokens":
		u.total.take(n, 1)
	case "totalTokenCount":
		u.total.take(n, 2)
	case "totalTokens":
		u.total.take(n, 3)
	default:
		u.detailField(string(key), n)
		u.seconds.field(string(key), v)
	}
}

// detailField reads the top-level fields about parts of input and output.
func (u *usageCounts) detailField(key string, n int64) {
	switch key {
	case "reasoning_tokens":
		u.reasoning.take(n, 4)
	case "thoughtsTokenCount":
		u.thoughts.take(n, 1)
	case "cache_read_input_tokens", "cacheReadInputTokens":
		u.cached.take(n, rankDisjointCached)
		u.disjoint = true
	case "prompt_cache_hit_tokens":
		u.cached.take(n, 4)
	case "cachedContentTokenCount":
		u.cached.take(n, 5)
	case "cached_tokens":
		u.cached.take(n, 6)
	case "cache_creation_input_tokens", "cacheWriteInputTokens":
		u.cacheWrite.take(n, 4)
		u.disjoint = true
	case "prompt_cache_miss_tokens":
		u.cacheMiss.take(n, 1)
	}
}

// details reads the nested objects about input and output.
func (u *usageCounts) details(key string, object *fastjson.Object) {
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

func (u *usageCounts) outputDetail(key string, v *fastjson.Value, rank int) {
	n, ok := tokenCount(v)
	if !ok {
		return
	}
	switch key {
	case "reasoning_tokens":
		u.reasoning.take(n, rank)
	case "thinking_tokens":
		u.reasoning.take(n, 3)
	case "audio_tokens":
		u.audioOut.take(n, rank)
	case "image_tokens":
		u.imageOut.take(n, rank)
	case "accepted_prediction_tokens":
		u.accepted.take(n, rank)
	case "rejected_prediction_tokens":
		u.rejected.take(n, rank)
	}
}

func (u *usageCounts) inputDetail(key string, v *fastjson.Value, rank int) {
	if key == "multimodal_tokens" && v.Type() == fastjson.TypeObject { // vLLM: by modality
		v.GetObject().Visit(func(modality []byte, v *fastjson.Value) {
			u.inputDetail(string(modality)+"_tokens", v, rank+2)
		})
		return
	}
	n, ok := tokenCount(v)
	if !ok {
		return
	}
	switch key {
	case "cached_tokens":
		u.cached.take(n, rank)
	case "cache_write_tokens", "created_cache_tokens":
		u.cacheWrite.take(n, rank)
	case "audio_tokens":
		u.audioIn.take(n, rank)
	case "image_tokens":
		u.imageIn.take(n, rank)
	}
}

// tokenCount reads a count of tokens, which some servers write as a float.
// Negative and non-numeric values are no counts.
func tokenCount(v *fastjson.Value) (int64, bool) {
	if v.Type() != fastjson.TypeNumber {
		return 0, false
	}
	if n, err := v.Int64(); err == nil {
		return n, n >= 0
	}
	const exact = 1 << 53 // beyond it a float64 skips integers
	f, err := v.Float64()
	if err != nil || !(f >= 0 && f < exact) {
		return 0, false
	}
	return int64(math.Round(f)), true
}

// usage returns the counts as the vocabulary has them.
func (u *usageCounts) usage() *bench.Usage {
	return &bench.Usage{
		Input: u.input.tokens(), Output: u.output.tokens(), Total: u.total.tokens(),
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
	rank     int  // place of the field it came from; 0 = not given, lower places win
	duration bool // the usage is of type duration
}

// rankSeconds is the field that means sound only in a usage of type duration
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
	if n, err := v.Float64(); err == nil && (s.rank == 0 || s.rank > rank) {
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

// tokenCountOf is [tokenCount] for a member that may be missing.
func tokenCountOf(v *fastjson.Value) (int64, bool) {
	if v == nil {
		return 0, false
	}
	return tokenCount(v)
}

// smallInt reads a place in a list.
func smallInt(v *fastjson.Value) (int, bool) {
	if v == nil {
		return 0, false
	}
	n, ok := tokenCount(v)
	return int(min(n, maxIndex)), ok && n <= maxIndex
}

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

// The places of the counts in the list that counts returns.
const (
	countInput = iota
	countOutput
	countTotal
	countReasoning
	countCached
	countCacheWrite
	countCacheMiss
	countAudioIn
	countAudioOut
	countAccepted
	countRejected
	countImageIn
	countImageOut
	countThoughts
	numCounts
)

// counts returns all counts.
func (u *UsageCounts) counts() [numCounts]*Count {
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
	rankDisjointWrite  = 4 // cache_creation_input_tokens, cacheWriteInputTokens
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

// usageField says which count a field of a usage object is, and its rank: names of one count are
// ranked in the order in which they are believed.
type usageField struct{ count, rank int }

// usageFields are the fields of a usage object.
var usageFields = map[string]usageField{
	"prompt_tokens": {countInput, 1}, "input_tokens": {countInput, rankInputTokens},
	"promptTokenCount": {countInput, 3}, "inputTokens": {countInput, rankInputTokensAWS},
	"input_token_count": {countInput, 5}, "input": {countInput, 6}, "prompt_eval_count": {countInput, 7},
	"completion_tokens": {countOutput, 1}, "output_tokens": {countOutput, 2}, "candidatesTokenCount": {countOutput, 3},
	"outputTokens": {countOutput, 4}, "generated_token_count": {countOutput, 5}, "output": {countOutput, 6},
	"eval_count":   {countOutput, 7},
	"total_tokens": {countTotal, 1}, "totalTokenCount": {countTotal, 2}, "totalTokens": {countTotal, 3},
	"reasoning_tokens": {countReasoning, 4}, "thoughtsTokenCount": {countThoughts, 1},
	"cache_read_input_tokens": {countCached, rankDisjointCached},
	"cacheReadInputTokens":    {countCached, rankDisjointCached},
	"prompt_cache_hit_tokens": {countCached, 4}, "cachedContentTokenCount": {countCached, 5},
	"cached_tokens":               {countCached, 6},
	"cache_creation_input_tokens": {countCacheWrite, rankDisjointWrite},
	"cacheWriteInputTokens":       {countCacheWrite, rankDisjointWrite},
	"prompt_cache_miss_tokens":    {countCacheMiss, 1},
}

// usageDetails are the nested objects about input and output, with their fields. Ranks count from that
// of the object.
var usageDetails = map[string]struct {
	rank   int
	fields map[string]usageField
}{
	"completion_tokens_details": {1, outputDetails}, "output_tokens_details": {2, outputDetails},
	"prompt_tokens_details": {1, inputDetails}, "input_tokens_details": {2, inputDetails},
	"input_token_details": {2, inputDetails},
}

var (
	outputDetails = map[string]usageField{
		"reasoning_tokens": {countReasoning, 0}, "thinking_tokens": {countReasoning, 1},
		"audio_tokens": {countAudioOut, 0}, "image_tokens": {countImageOut, 0},
		"accepted_prediction_tokens": {countAccepted, 0}, "rejected_prediction_tokens": {countRejected, 0},
	}
	inputDetails = map[string]usageField{
		"cached_tokens": {countCached, 0}, "cache_write_tokens": {countCacheWrite, 0},
		"created_cache_tokens": {countCacheWrite, 0},
		"audio_tokens":         {countAudioIn, 0}, "image_tokens": {countImageIn, 0},
	}
)

// Field reads one member of a usage object.
func (u *UsageCounts) Field(key []byte, v *fastjson.Value) {
	if v.Type() == fastjson.TypeObject {
		if of, ok := usageDetails[string(key)]; ok {
			u.details(v.GetObject(), of.fields, "", of.rank)
		}
		return
	}
	n, ok := TokenCount(v)
	if !ok {
		u.seconds.duration = u.seconds.duration || string(key) == "type" && string(Str(v)) == "duration"
		return
	}
	f, ok := usageFields[string(key)]
	if !ok {
		u.seconds.field(string(key), v)
		return
	}
	u.counts()[f.count].Take(n, f.rank)
	u.disjoint = u.disjoint || f.count == countCached && f.rank == rankDisjointCached || f.count == countCacheWrite
}

// details reads a nested object about input or output.
func (u *UsageCounts) details(object *fastjson.Object, fields map[string]usageField, suffix string, rank int) {
	object.Visit(func(key []byte, v *fastjson.Value) {
		if string(key) == "multimodal_tokens" && v.Type() == fastjson.TypeObject { // vLLM: by modality
			u.details(v.GetObject(), fields, "_tokens", rank+2)
			return
		}
		if f, ok := fields[string(key)+suffix]; ok {
			if n, ok := TokenCount(v); ok {
				u.counts()[f.count].Take(n, f.rank+rank)
			}
		}
	})
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

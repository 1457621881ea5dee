package bench

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
)

// The identifiers of the random streams of a run, as in AIPerf if not marked as ours.
// Each consumer has its own stream, so that a new consumer does not change the values
// of the others.
const (
	StreamPromptLength    = "dataset.prompt.length"            // input lengths
	StreamPromptCorpus    = "dataset.prompt.corpus"            // start of a prompt in the corpus
	StreamPromptPrefix    = "dataset.prompt.prefix"            // pool of prefixes, and their assignment
	StreamTurnCount       = "composer.conversation.turn_count" // turns of a conversation
	StreamTurnDelay       = "composer.conversation.turn_delay" // think times
	StreamSequence        = "models.sequence.distribution"     // pairs of lengths
	StreamRangeRatio      = "models.range_ratio.distribution"  // lengths of turns that vLLM and SGLang do not have
	StreamMaxTokens       = "composer.turn.max_tokens"         // output lengths
	StreamModelSelection  = "composer.turn.model_selection"    // random choice of a model
	StreamTargetSelection = "ours.target.selection"            // ours: random choice of a URL
	StreamSamplerRandom   = "dataset.sampler.random"           // draws with replacement
	StreamSamplerShuffle  = "dataset.sampler.shuffle"          // permutations
	StreamPoissonInterval = "timing.request.poisson_interval"  // intervals of the Poisson process
	StreamGammaInterval   = "timing.request.gamma_interval"    // intervals of the gamma process
	StreamRampPoisson     = "timing.ramp.poisson"              // times of the steps of a ramp
	StreamCancellation    = "timing.request.cancellation"      // requests that are cancelled on purpose
	StreamWarmup          = "ours.dataset.warmup"              // ours: a dataset of the warm-up
	StreamSystemPrompt    = "dataset.prompt.shared_system"     // ours: the shared system prompt
	StreamUserContext     = "dataset.prompt.user_context"      // ours: the user contexts
	StreamImageSize       = "dataset.image.dimensions"         // widths and heights
	StreamImageFormat     = "dataset.image.format"             // choice of a format
	StreamImageSource     = "dataset.image.source"             // choice of a file
	StreamImageNoise      = "dataset.image.noise"              // pixels
	StreamAudioDuration   = "dataset.audio.duration"           // durations
	StreamAudioFormat     = "dataset.audio.format"             // choice of sample rate and depth
	StreamAudioData       = "dataset.audio.data"               // samples
	StreamRandomPool      = "dataset.loader.random_pool"       // records of a pool
	StreamThinkTime       = "ours.dataset.think_time"          // ours: think times of orchestrators
	StreamVideoNoise      = "dataset.video.noise"              // frames
	StreamVideoAudio      = "dataset.video.audio"              // samples of audio tracks
	StreamSamples         = "ours.samples"                     // ours: requests that are shown as examples
	StreamRankings        = "dataset.prompt.rankings"          // ours: numbers and lengths of passages, lengths of queries
)

// Seed is the root of a tree of random streams. Every value is valid, including 0.
// The same seed and identifier give the same numbers on every platform. A Seed is
// safe for concurrent use; its generators are not, so each goroutine creates its own.
type Seed uint64

// digest is SHA-256 of "S:identifier", S in decimal.
func (s Seed) digest(stream string) [sha256.Size]byte {
	b := strconv.AppendUint(make([]byte, 0, 64), uint64(s), 10)
	b = append(b, ':')
	return sha256.Sum256(append(b, stream...))
}

// Child returns the seed of a stream: the first eight bytes, big-endian, of the
// SHA-256 of "S:identifier".
func (s Seed) Child(stream string) Seed {
	d := s.digest(stream)
	return Seed(binary.BigEndian.Uint64(d[:8]))
}

// Rand returns a new generator (PCG) at the start of a stream. Its state is the first
// sixteen bytes, big-endian, of the digest described at [Seed.Child].
func (s Seed) Rand(stream string) *rand.Rand {
	d := s.digest(stream)
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(d[:8]), binary.BigEndian.Uint64(d[8:16])))
}

// Index returns a new generator for item i of a stream, see [Stream.At].
func (s Seed) Index(stream string, i int) *rand.Rand { return s.Stream(stream).At(i) }

// Stream is a random stream with numbered items. Work that is divided among goroutines is
// seeded per item, so that the result does not depend on their number.
type Stream uint64

// Stream returns a stream of items. Its state is that of [Seed.Child].
func (s Seed) Stream(stream string) Stream { return Stream(s.Child(stream)) }

// At returns a new generator (PCG) for item i. Its state is a function of the stream and i:
// numbers 2i and 2i+1 of SplitMix64 that starts with the stream (G. Steele, D. Lea and
// C. Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
func (s Stream) At(i int) *rand.Rand {
	n := 2 * uint64(i)
	return rand.New(rand.NewPCG(s.number(n), s.number(n+1)))
}

// number returns number n of SplitMix64.
func (s Stream) number(n uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15 // 2⁶⁴ divided by the golden ratio
	z := uint64(s) + (n+1)*odd
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Below draws uniformly from 0 to n-1, equally on 32- and 64-bit platforms.
func Below(r *rand.Rand, n int) int { return int(r.Uint64N(uint64(n))) }

// Mix is the finalizer of SplitMix64, a bijection without visible structure.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

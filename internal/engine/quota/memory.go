package quota

import (
	"math"

	"aiperfd/internal/engine/media"
	"aiperfd/internal/engine/plan"
)

// The memory of requests that are generated. A request exists as text, as body and, while
// it is encoded, as a growing buffer. The sessions that are built ahead count too, see
// package load.
const (
	copies       = 3
	built        = 64     // sessions that are built ahead
	bytesOfToken = 5      // of English text, rounded up
	inBase64     = 4. / 3 // of media
	mostMedia    = 256e6  // bytes of generated media that a dataset keeps
	kibi, mebi   = 1 << 10, 1 << 20
)

// memory checks the memory that the requests of the plan take together. Long draws count:
// a distribution of which one draw in a thousand does not fit would end the process.
func (k *checker) memory() {
	if k.caps.Memory <= 0 {
		return
	}
	each, kept := requestBytes(k.plan)
	for i := range k.plan.Phases {
		ph := &k.plan.Phases[i]
		open := float64(built)
		if ph.Concurrency > 0 {
			open = float64(ph.Concurrency)
		}
		if ph.Users != nil {
			open = float64(ph.Users.Count)
		}
		open += built
		if n := k.requests(ph); n > 0 {
			open = min(open, n)
		}
		need := kept + copies*each*open
		if need > float64(k.caps.Memory) {
			k.fail("datasets/0", nil, "the requests of phase %s take up to %.0f MiB of memory (%.0f KiB each, %.0f built or in flight), the daemon allows %d MiB, "+
				"which is half of what it may use; lower the lengths, batch sizes, turns or the concurrency",
				ph.Name, need/mebi, each/kibi, open, k.caps.Memory/mebi)
			return
		}
	}
}

// requestBytes returns at least the bytes of almost every request, and those that the
// dataset keeps.
func requestBytes(p *plan.Plan) (each, kept float64) {
	s, d := &p.Dataset.Options.Synthetic, &p.Document.Benchmark.Datasets[0]
	tokens := s.ISL.High() * float64(max(1, s.BatchSize))
	if s.Pairs.Given() {
		tokens = s.Pairs.High() * float64(max(1, s.BatchSize))
	}
	if passages := s.Rankings.Passages.High(); passages > 0 {
		tokens = passages*s.Rankings.PassageTokens.High() + s.Rankings.QueryTokens.High()
	}
	var files float64
	if i := s.Images; i.BatchSize > 0 {
		format := media.PNG
		if i.Format == "jpeg" {
			format = media.JPEG
		}
		files += float64(i.BatchSize * media.Bytes(int(min(i.Width.High(), media.MaxSide)), int(min(i.Height.High(), media.MaxSide)), format))
	}
	if a := s.Audio; a.BatchSize > 0 {
		rate, depth := 0, 0
		for _, r := range a.SampleRates {
			rate = max(rate, r)
		}
		for _, b := range a.Depths {
			depth = max(depth, b)
		}
		files += float64(a.BatchSize*a.Channels*rate*depth/8) * min(a.Length.High(), media.MaxClip.Seconds())
	}
	turns := max(1, s.Turns.High())
	each = turns*(tokens*bytesOfToken+files*inBase64) + float64(s.SharedSystem+s.UserContext+s.PrefixLength)*bytesOfToken
	if d.SystemPrompt != nil {
		each += float64(len(*d.SystemPrompt))
	}
	if extra, err := p.Document.Benchmark.Endpoint.Extra.MarshalJSON(); err == nil {
		each += float64(len(extra))
	}
	longest := 0
	for i := range d.Records {
		if text, err := d.Records[i].MarshalJSON(); err == nil {
			longest = max(longest, len(text))
		}
	}
	each += float64(longest)
	kept = min(max(mostMedia, files), files*turns*math.Max(1, float64(d.Entries))) + float64(s.PrefixPool)*float64(s.PrefixLength)*bytesOfToken
	return each, kept
}

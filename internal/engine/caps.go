package engine

import (
	"fmt"
	"math"
	"time"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/media"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/transport"
)

// Caps are the most that a plan may ask for, because whoever may submit a document to a daemon is
// not always the one who answers for its load; 0 = no cap.
type Caps struct {
	Concurrency int           // sessions, users, or requests without a first token at a time, of one phase
	Rate        float64       // arrivals per second, of one phase
	Duration    time.Duration // of all phases together
	Requests    int64         // of all phases together
	Tokens      int64         // of all requests together, sent and received, on average
	Memory      int64         // bytes of the requests that exist at a time, of one phase, estimated from their lengths
	// Connections are those that the process can have open to servers, because it may
	// not open more files. A closed loop of HTTP/1.1 needs one per session at a time.
	Connections int
}

// DefaultCaps returns the caps of a daemon that is told nothing else.
func DefaultCaps() Caps {
	return Caps{
		Concurrency: 10_000, Rate: 100_000, Duration: 24 * time.Hour, Requests: 10_000_000, Tokens: 10_000_000_000,
	}
}

// Check returns a *problem.Invalid with all caps that a plan exceeds, or nil. What a plan
// does not know is not checked: the length of a dataset that is read from a file, and how
// many requests a closed loop sends in a given time.
func (c Caps) Check(p *plan.Plan) error {
	k := capCheck{caps: c, plan: p}
	var duration time.Duration
	var requests, tokens float64
	each := perRequest(p)
	for i := range p.Phases {
		n := k.phase(&p.Phases[i])
		requests += n
		tokens += max(n, 1) * each
		duration += min(p.Phases[i].Duration, math.MaxInt64-duration)
	}
	if c.Duration > 0 && duration > c.Duration {
		k.fail(k.first(func(ph *spec.Phase) bool { return ph.Duration > 0 }, "duration"),
			duration.String(), "the phases last %v, the daemon allows %v (--max-duration)", duration, c.Duration)
	}
	if c.Requests > 0 && requests > float64(c.Requests) {
		k.fail("phases", requests,
			"the phases send %.0f requests, the daemon allows %d (--max-requests)", requests, c.Requests)
	}
	if c.Tokens > 0 && tokens > float64(c.Tokens) {
		k.fail("datasets/0/prompts", tokens,
			"the requests have about %.0f tokens, the daemon allows %d (--max-tokens)", tokens, c.Tokens)
	}
	k.memory()
	if len(k.problems) == 0 {
		return nil
	}
	return &problem.Invalid{Problems: k.problems}
}

// capCheck collects the problems of one plan.
type capCheck struct {
	caps     Caps
	plan     *plan.Plan
	problems []problem.Problem
}

func (k *capCheck) fail(field string, value any, format string, args ...any) {
	k.problems = append(k.problems, problem.Problem{
		Pointer: "#/benchmark/" + field, Code: problem.CodeOutOfRange,
		Detail: fmt.Sprintf(format, args...), Value: value,
	})
}

// first names a field of the first phase that matches.
func (k *capCheck) first(match func(*spec.Phase) bool, field string) string {
	for i := range k.plan.Phases {
		if ph := &k.plan.Phases[i]; match(ph) {
			return fmt.Sprintf("phases/%d/%s", ph.Index, field)
		}
	}
	return "phases"
}

// phase checks one phase and returns how many requests it sends, 0 if that is unknown.
func (k *capCheck) phase(ph *spec.Phase) float64 {
	at := func(field string) string { return fmt.Sprintf("phases/%d/%s", ph.Index, field) }
	users := 0
	if ph.Users != nil {
		users = ph.Users.Count
	}
	for _, n := range []struct {
		field string
		value int
	}{{"concurrency", ph.Concurrency}, {"prefillConcurrency", ph.Prefill}, {"users", users}} {
		if k.caps.Concurrency > 0 && n.value > k.caps.Concurrency {
			k.fail(at(n.field), n.value,
				"%s is %d, the daemon allows %d (--max-concurrency)", n.field, n.value, k.caps.Concurrency)
		}
	}
	closed := !ph.Open() && k.plan.Transport.Version == transport.HTTP1
	if need, most := atOnce(ph, 0), k.caps.Connections; most > 0 && closed && need > most {
		k.fail(at("concurrency"), ph.Concurrency,
			"%d connections are needed at a time, the daemon can open %d because of its limit of open files (ulimit -n)", need, most)
	}
	if k.caps.Rate > 0 && ph.Rate > k.caps.Rate {
		field := "rate"
		switch d := &k.plan.Document.Benchmark.Phases[ph.Index]; {
		case d.RateSeries != nil:
			field = "rateSeries"
		case d.SessionRate != nil:
			field = "sessionRate"
		}
		k.fail(at(field), ph.Rate, "%v arrivals per second, the daemon allows %v (--max-rate)", ph.Rate, k.caps.Rate)
	}
	return k.requests(ph)
}

// requests returns how many requests a phase sends at most, 0 if that is unknown.
func (k *capCheck) requests(ph *spec.Phase) float64 {
	most := math.Inf(1)
	if ph.Requests > 0 {
		most = float64(ph.Requests)
	}
	turns := max(1, k.plan.Dataset.Options.Synthetic.Turns.Mean())
	if ph.Sessions > 0 {
		most = min(most, float64(ph.Sessions)*turns)
	}
	if ph.Rate > 0 && ph.Duration > 0 {
		mean, _ := ph.RateUntil(ph.Duration)
		arrivals := mean * ph.Duration.Seconds()
		if ph.PerSession {
			arrivals *= turns
		}
		most = min(most, arrivals)
	}
	if math.IsInf(most, 1) {
		return 0
	}
	return most
}

// perRequest returns the tokens of a request on average, of generated prompts and limits
// of the output.
func perRequest(p *plan.Plan) float64 {
	s, output := &p.Dataset.Options.Synthetic, p.Dataset.Options.OSL
	sum := float64(s.SharedSystem + s.UserContext + s.PrefixLength)
	if s.Pairs.Given() {
		in, out := s.Pairs.Mean()
		return sum + in*float64(max(1, s.BatchSize)) + out
	}
	return sum + s.ISL.Mean()*float64(max(1, s.BatchSize)) + output.Mean()
}

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
func (k *capCheck) memory() {
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
		files += float64(i.BatchSize * media.Bytes(int(min(i.Width.High(), media.MaxSide)),
			int(min(i.Height.High(), media.MaxSide)), format))
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
	each = turns*(tokens*bytesOfToken+files*inBase64) +
		float64(s.SharedSystem+s.UserContext+s.PrefixLength)*bytesOfToken
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
	kept = min(max(mostMedia, files), files*turns*math.Max(1, float64(d.Entries))) +
		float64(s.PrefixPool)*float64(s.PrefixLength)*bytesOfToken
	return each, kept
}

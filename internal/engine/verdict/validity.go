package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/view"
)

// Validity says whether the result of a run counts as one of its scenario, and why.
type Validity struct {
	Scenario   string          `json:"scenario"`     // NAME@VERSION
	Rules      string          `json:"rules_sha256"` // of the text of the rules
	Dataset    string          `json:"dataset"`      // name of the sessions
	Valid      bool            `json:"valid"`        // all checks passed
	Checks     []ValidityCheck `json:"checks"`
	Exceptions []string        `json:"exceptions"` // rules that the configuration does not keep, as sentences; never null
}

// ValidityCheck is one condition under which a result counts.
type ValidityCheck struct {
	ID       string   `json:"id"` // word that does not change
	OK       bool     `json:"ok"`
	Required *float64 `json:"required"`           // null = the condition is not a number
	Observed *float64 `json:"observed"`           // null = it is not a number, or nothing is known
	AtLeast  bool     `json:"at_least,omitempty"` // Required is the least, not the most
	Unit     string   `json:"unit,omitempty"`
	Detail   string   `json:"detail"` // a sentence
}

// The reasons of AIPerf 0.13 for a result that does not count.
const (
	reasonOverride  = "unsafe_override"
	reasonCancelled = "run_cancelled"
	reasonOverflow  = "context_overflow_rate_exceeded"
)

// Reasons returns why the result does not count, as words: AIPerf's where it has one, and the ids of the other checks
// that failed. It is not nil.
func (v *Validity) Reasons() []string {
	out := []string{}
	for _, c := range v.Checks {
		if !c.OK {
			out = append(out, c.ID)
		}
	}
	return out
}

// Name returns the scenario without its version.
func (v *Validity) Name() string {
	name, _, _ := strings.Cut(v.Scenario, "@")
	return name
}

// Failed returns the first check that failed; nil = none did.
func (v *Validity) Failed() *ValidityCheck {
	if i := slices.IndexFunc(v.Checks, func(c ValidityCheck) bool { return !c.OK }); i >= 0 {
		return &v.Checks[i]
	}
	return nil
}

// Line returns the judgement in one line.
func (v *Validity) Line() string {
	if v.Valid {
		return fmt.Sprintf("valid for %s: all %d checks passed", v.Scenario, len(v.Checks))
	}
	return fmt.Sprintf("not valid for %s: %d of %d checks failed", v.Scenario, len(v.Reasons()), len(v.Checks))
}

// Text returns what was observed, and what is required if that is a number.
func (c *ValidityCheck) Text() string {
	if c.Required == nil {
		return c.Detail
	}
	required, bound := *c.Required, "at most"
	if c.AtLeast {
		bound = "at least"
	}
	unit := " " + c.Unit
	if c.Unit == "share" {
		required, unit = 100*required, " %"
	}
	return fmt.Sprintf("%s; required: %s %s%s", c.Detail, bound, strconv.FormatFloat(round(required), 'f', -1, 64), unit)
}

// Rules are what a scenario asks of a run. Shares are from 0 to 1.
type Rules struct {
	Scenario, SHA256               string
	Duration                       time.Duration       // at least
	Overflow, Errors, Cold         float64             // at most
	Lanes, Output, Input, Coverage float64             // at least
	Silence                        time.Duration       // at most
	Traces                         int                 // sessions that the corpus has; 0 = unknown
	Concurrency                    int                 // lanes
	Overridden                     []string            // broken rules, as sentences
	Deviations                     map[string][]string // by the check that fails, as sentences
}

// Played is what a run did, as far as its scenario is concerned.
type Played struct {
	Replay    *Replay
	Primers   *Replay // nil = none were sent
	Client    Level
	Cancelled bool
	Cache     Agreement // of the prefix cache; empty = unknown
	Dataset   string    // name of the sessions
	Source    string    // repository or file from which they were read
	Revision  string    // commit of the repository; empty = it is no repository
	Traces    int       // sessions that were read; 0 = unknown
	LeftOut   string    // sessions that were left out, as a sentence; empty = none
	// Window is the time of profiling in which requests may be sent.
	From, Until time.Duration
}

// JudgeValidity decides whether a result counts. Every condition is a check, also if it passes.
func JudgeValidity(r *Rules, p *Played) *Validity {
	v := &Validity{Scenario: r.Scenario, Rules: r.SHA256, Dataset: p.Dataset, Exceptions: slices.Clone(r.Overridden)}
	if v.Exceptions == nil {
		v.Exceptions = []string{}
	}
	v.Checks = append(v.Checks, overridden(r), cancelled(p), p.overflows(r), corpus(r, p))
	for _, id := range []string{"kept", "ratios", "settings"} {
		v.Exceptions = append(v.Exceptions, r.Deviations[id]...)
		v.Checks = append(v.Checks, settings(id, r, p))
	}
	v.Checks = append(v.Checks, p.duration(r), client(p), p.failures(r), p.lanes(r), p.primed(r), p.answers(r), p.prompts(r),
		p.coverage(r), p.silence(r), cacheKept(p))
	v.Valid = v.Failed() == nil
	return v
}

// bounded returns a check that a number is at least, or at most, another one.
func bounded(id string, observed, required float64, atLeast bool, unit, detail string) ValidityCheck {
	ok := observed <= required
	if atLeast {
		ok = observed >= required
	}
	return ValidityCheck{ID: id, OK: ok, AtLeast: atLeast, Required: new(required), Observed: new(round(observed)), Unit: unit, Detail: detail}
}

// unknown returns a check of a share of which nothing is known.
func unknown(id string, required float64, detail string) ValidityCheck {
	return ValidityCheck{ID: id, Required: new(required), AtLeast: true, Unit: "share", Detail: detail}
}

func overridden(r *Rules) ValidityCheck {
	n := len(r.Overridden)
	c := ValidityCheck{ID: reasonOverride, OK: n == 0, Detail: "no rule of the scenario was overridden"}
	if n > 0 {
		c.Detail = view.Plural(n, "rule") + " of the scenario overridden: " + strings.Join(r.Overridden, "; ")
	}
	return c
}

func cancelled(p *Played) ValidityCheck {
	c := ValidityCheck{ID: reasonCancelled, OK: !p.Cancelled, Detail: "the run was not cancelled"}
	if p.Cancelled {
		c.Detail = "the run was cancelled"
	}
	return c
}

func (p *Played) overflows(r *Rules) ValidityCheck {
	n := p.Replay
	return bounded(reasonOverflow, ratio(float64(n.overflows), float64(n.requests)), r.Overflow, false, "share",
		fmt.Sprintf("%d of %d requests did not fit into the context of the server", n.overflows, n.requests))
}

// corpus checks that the sessions come from a repository, so that others can have the same ones.
func corpus(r *Rules, p *Played) ValidityCheck {
	const local = "the sessions are not verified: they were read from a local copy, and not from the repository of the corpus"
	if p.Revision == "" {
		return ValidityCheck{ID: "corpus", Detail: local}
	}
	c := ValidityCheck{ID: "corpus", OK: true, Detail: fmt.Sprintf("the sessions are those of %s at commit %s", p.Source, p.Revision)}
	if r.Traces > 0 && p.Traces > 0 {
		c.OK, c.Observed, c.Unit = p.Traces == r.Traces, new(float64(p.Traces)), "sessions"
		c.Detail += fmt.Sprintf(": %d, of %d that were published", p.Traces, r.Traces)
	}
	return c
}

// settings checks values that the rules accept and with which a result does not count.
func settings(id string, r *Rules, p *Played) ValidityCheck {
	c := ValidityCheck{ID: id, OK: true, Detail: map[string]string{
		"kept": "all sessions of the corpus were used", "ratios": "lanes began where the scenario says",
		"settings": "all other settings are those of the scenario",
	}[id]}
	switch all := r.Deviations[id]; {
	case len(all) > 0:
		c.OK, c.Detail = false, all[0]
	case id == "kept" && p.LeftOut != "":
		c.OK, c.Detail = false, p.LeftOut
	}
	return c
}

func (p *Played) duration(r *Rules) ValidityCheck {
	lasted := p.Until - p.From
	return bounded("duration", lasted.Seconds(), r.Duration.Seconds(), true, "s",
		fmt.Sprintf("requests were sent for %v", lasted.Round(time.Millisecond)))
}

// client checks the load generator itself: of a suspect one the numbers have a doubt, which is in the result.
func client(p *Played) ValidityCheck {
	passed := p.Client == OK || p.Client == Suspect
	return ValidityCheck{ID: "client", OK: passed, Detail: "the verdict on the load generator is " + string(p.Client)}
}

func (p *Played) failures(r *Rules) ValidityCheck {
	n := p.Replay
	return bounded("errors", ratio(float64(n.failed), float64(n.requests)), r.Errors, false, "share",
		fmt.Sprintf("%d of %d requests failed", n.failed, n.requests))
}

func (p *Played) lanes(r *Rules) ValidityCheck {
	need := int(math.Ceil(r.Lanes * float64(r.Concurrency)))
	share := p.Replay.busy(need, p.From, p.Until)
	return bounded("lanes", share, r.Lanes, true, "share",
		fmt.Sprintf("for %s %% of the time at least %d of %s played a session", view.Figure(100*share), need, view.Plural(r.Concurrency, "lane")))
}

func (p *Played) primed(r *Rules) ValidityCheck {
	n := p.Primers
	if n == nil {
		n = new(Replay) // no session had begun
	}
	return bounded("primed", ratio(float64(n.failed), float64(n.requests)), r.Cold, false, "share",
		fmt.Sprintf("%d of %s failed", n.failed, view.Plural(int(n.requests), "primer")))
}

func (p *Played) answers(r *Rules) ValidityCheck {
	n := p.Replay
	if n.answers == 0 {
		return unknown("output", r.Output,
			"no answer says how many tokens it has, so that it is not known whether the server obeys ignore_eos")
	}
	return bounded("output", float64(n.whole)/float64(n.answers), r.Output, true, "share",
		fmt.Sprintf("%d of %d answers have the tokens that were asked for", n.whole, n.answers))
}

func (p *Played) prompts(r *Rules) ValidityCheck {
	n := p.Replay
	if n.prompts == 0 {
		return unknown("input", r.Input,
			"no prompt was counted by the server and by us, so that it is not known whether the tokenizer is that of the model")
	}
	return bounded("input", float64(n.alike)/float64(n.prompts), r.Input, true, "share",
		fmt.Sprintf("%d of %d prompts are about as long for the server as for the tokenizer of the run", n.alike, n.prompts))
}

func (p *Played) coverage(r *Rules) ValidityCheck {
	span := 0.0
	if whole := p.Until - p.From; whole > 0 {
		span = float64(min(p.Replay.last, p.Until)-max(p.Replay.first, p.From)) / float64(whole)
	}
	return bounded("coverage", max(0, span), r.Coverage, true, "share",
		fmt.Sprintf("from the first request to the last answer it was %s %% of the time", view.Figure(100*max(0, span))))
}

func (p *Played) silence(r *Rules) ValidityCheck {
	longest := p.Replay.silence(p.From, p.Until)
	return bounded("silence", longest.Seconds(), r.Silence.Seconds(), false, "s",
		fmt.Sprintf("the longest time without a request, a token or an answer is %v", longest.Round(time.Second)))
}

func cacheKept(p *Played) ValidityCheck {
	if p.Cache == Contradicted {
		return ValidityCheck{ID: "cache", Detail: "the servers had more in their prefix caches than the load is meant to find"}
	}
	return ValidityCheck{ID: "cache", OK: true, Detail: "nothing contradicts what the load is meant to find in prefix caches"}
}

// Replay accumulates the records of a phase that plays recorded sessions, for [JudgeValidity]. The zero value is empty.
// It keeps some words per session and per second. Not safe for concurrent use.
type Replay struct {
	requests, failed, overflows int64
	answers, whole              int64 // with their tokens; of the length that was asked for
	prompts, alike              int64 // counted twice; with about the same result
	first, last                 time.Duration
	plays                       map[int64]*playSpan // by session
	seconds                     []bool              // of the run: those with an event
}

// NewReplay returns an empty Replay for a phase that plays recorded sessions, else nil.
func NewReplay(plays bool) *Replay {
	if !plays {
		return nil
	}
	return new(Replay)
}

// playSpan is the time from the first request of a session to its last answer.
type playSpan struct {
	lane        int
	from, until time.Duration
}

// Observe adds a record. Requests that the end of the phase cut off are in flight, and did not fail.
func (r *Replay) Observe(rec *bench.Record) {
	s := &rec.Stamps
	if s.Start == 0 {
		return
	}
	r.span(rec)
	r.mark(s.Start)
	r.mark(s.End)
	for i := range rec.Answer.Chunks {
		r.mark(rec.Answer.Chunks[i].At)
	}
	if rec.Cancelled() {
		return
	}
	r.requests++
	if f := rec.Answer.Failure; f != nil {
		r.failed++
		if f.Class == bench.ContextOverflow {
			r.overflows++
		}
		return
	}
	r.tokens(rec)
}

// span extends the session of a record.
func (r *Replay) span(rec *bench.Record) {
	s := &rec.Stamps
	end := max(s.Start, s.End)
	if r.plays == nil {
		r.plays, r.first = map[int64]*playSpan{}, s.Start
	}
	r.first, r.last = min(r.first, s.Start), max(r.last, end)
	p := r.plays[rec.SessionNum]
	if p == nil {
		p = &playSpan{rec.Lane, s.Start, end}
		r.plays[rec.SessionNum] = p
	}
	p.from, p.until = min(p.from, s.Start), max(p.until, end)
}

// Two counts of a prompt are about the same within promptShare of it, and promptTokens for what a template adds to a
// short one.
const (
	promptShare  = 0.05
	promptTokens = 64
)

// tokens compares the lengths of a successful request.
func (r *Replay) tokens(rec *bench.Record) {
	u := rec.Answer.Usage
	if u == nil {
		return
	}
	if asked := rec.Content.RequestedTokens; asked > 0 && u.Output != nil {
		r.answers++
		if *u.Output == asked {
			r.whole++
		}
	}
	if ours := rec.ClientInput; ours != nil && u.Input != nil {
		r.prompts++
		if math.Abs(float64(*u.Input-*ours)) <= promptTokens+promptShare*float64(*ours) {
			r.alike++
		}
	}
}

// mostSeconds bounds the memory for seconds: a week.
const mostSeconds = 7 * 24 * 3600

// mark notes an event.
func (r *Replay) mark(at time.Duration) {
	i := int(at / time.Second)
	if at <= 0 || i >= mostSeconds {
		return
	}
	if i >= len(r.seconds) {
		r.seconds = append(r.seconds, make([]bool, i+1-len(r.seconds))...)
	}
	r.seconds[i] = true
}

// silence returns the longest time without an event in whole seconds.
func (r *Replay) silence(from, until time.Duration) (longest time.Duration) {
	quiet := 0
	for i := int(from / time.Second); i < int(until/time.Second); i++ {
		if i < len(r.seconds) && r.seconds[i] {
			quiet = 0
			continue
		}
		quiet++
		longest = max(longest, time.Duration(quiet)*time.Second)
	}
	return longest
}

// busy returns the share of the time in which at least need lanes play a session. A session that was not followed by
// another one of its lane lasts to the end: its next request was due later.
func (r *Replay) busy(need int, from, until time.Duration) float64 {
	if until <= from {
		return 0
	}
	lanes := map[int][]*playSpan{}
	for _, p := range r.plays {
		lanes[p.lane] = append(lanes[p.lane], p)
	}
	type edge struct {
		at time.Duration
		by int
	}
	var edges []edge
	for _, plays := range lanes {
		slices.SortFunc(plays, func(a, b *playSpan) int { return cmp.Compare(a.from, b.from) })
		edges = append(edges, edge{plays[0].from, 1})
		for i, next := range plays[1:] {
			if ended := plays[i].until; ended < next.from {
				edges = append(edges, edge{ended, -1}, edge{next.from, 1})
			}
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	active, since, sum := 0, from, time.Duration(0)
	for _, e := range append(edges, edge{until, 0}) {
		at := min(max(e.at, from), until)
		if active >= need {
			sum += at - since
		}
		active, since = active+e.by, at
	}
	return float64(sum) / float64(until-from)
}

package agents

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/bench"
)

const ms1 = time.Millisecond

// prompt is a script of parts of ten tokens each; the mark has four and stands before one of them.
type prompt struct {
	parts  []uint64
	markAt int
}

func (p prompt) AppendMessages(dst []byte, _ bench.Mark) []byte { return dst }
func (p prompt) Messages(bench.Mark) io.Reader                  { return strings.NewReader("") }
func (p prompt) Size(bench.Mark) int                            { return 0 }
func (p prompt) Tokens(bench.Mark) bench.Tokens                 { return 0 }
func (p prompt) Key() string                                    { return fmt.Sprint(p.parts) }

func (p prompt) AppendParts(dst []bench.PromptPart, m bench.Mark) []bench.PromptPart {
	for i, id := range p.parts {
		if i == p.markAt && m.Text != "" {
			dst = append(dst, bench.PromptPart{ID: uint64(len(m.Text)) << 32, Tokens: 4, Mark: true})
		}
		dst = append(dst, bench.PromptPart{ID: id, Tokens: 10})
	}
	return dst
}

// sent is a request of a play, from start to end in milliseconds.
func sent(play int64, lane int, mark string, start, end int, p prompt, r *bench.Recording) *bench.Record {
	return &bench.Record{
		SessionNum: play, Lane: lane, Model: "m",
		Stamps:  bench.Stamps{Due: time.Duration(start) * ms1, Start: time.Duration(start) * ms1, End: time.Duration(end) * ms1},
		Content: bench.Content{Replayed: &bench.Turn{Script: p, Mark: bench.Mark{Text: mark}, Recorded: r}},
		Answer:  bench.Answer{Chunks: []bench.Chunk{{At: time.Duration(end) * ms1}}},
	}
}

func TestPrefixes(t *testing.T) {
	a := &bench.Recording{Session: &bench.RecordedSession{ID: "A", Turns: make([]*bench.Recording, 9)}}
	b := &bench.Recording{Session: &bench.RecordedSession{ID: "B", Turns: make([]*bench.Recording, 9)}}
	failed := sent(1, 1, "", 0, 10, prompt{parts: []uint64{1, 2, 3, 4}}, a)
	failed.Answer.Failure = &bench.Failure{Class: bench.ConnectError}
	otherModel := sent(1, 1, "", 20, 30, prompt{parts: []uint64{1, 2, 3, 4}}, a)
	otherModel.Model = "n"
	otherTarget := sent(1, 1, "", 20, 30, prompt{parts: []uint64{1, 2, 3, 4}}, a)
	otherTarget.Target = 1
	tests := []struct {
		name string
		sent []*bench.Record
		want bench.Tokens // of the last one
	}{
		{"the first prompt", []*bench.Record{sent(1, 1, "", 0, 10, prompt{parts: []uint64{1, 2}}, a)}, 0},
		{"a prompt that goes on, in whole blocks of 16 tokens", []*bench.Record{
			sent(1, 1, "", 0, 10, prompt{parts: []uint64{1, 2}}, a), sent(1, 1, "", 10, 20, prompt{parts: []uint64{1, 2, 3, 4}}, a),
		}, 16},
		{"a prompt as a whole, but its last token", []*bench.Record{
			sent(1, 1, "", 0, 10, prompt{parts: []uint64{1, 2, 3, 4, 5, 6, 7, 8}}, a),
			sent(1, 1, "", 10, 20, prompt{parts: []uint64{1, 2, 3, 4, 5, 6, 7, 8}}, a),
		}, 64},
		{"one that had not ended", []*bench.Record{
			sent(1, 1, "", 0, 10, prompt{parts: []uint64{1, 2, 3, 4}}, a), sent(1, 1, "", 9, 20, prompt{parts: []uint64{1, 2, 3, 4}}, a),
		}, 0},
		{"back to an earlier turn", []*bench.Record{
			sent(1, 1, "", 0, 10, prompt{parts: []uint64{1, 2, 3, 4}}, a), sent(1, 1, "", 10, 20, prompt{parts: []uint64{1, 9}}, a),
			sent(1, 1, "", 20, 30, prompt{parts: []uint64{1, 2, 3, 4, 5}}, a),
		}, 32},
		{"another part in the middle", []*bench.Record{
			sent(1, 1, "", 0, 10, prompt{parts: []uint64{1, 2, 3, 4, 5, 6}}, a), sent(1, 1, "", 10, 20, prompt{parts: []uint64{1, 2, 3, 9, 5, 6}}, a),
		}, 16},
		{"one that failed", []*bench.Record{failed, sent(1, 1, "", 20, 30, prompt{parts: []uint64{1, 2, 3, 4}}, a)}, 0},
		{"another model", []*bench.Record{sent(1, 1, "", 0, 10, prompt{parts: []uint64{1, 2, 3, 4}}, a), otherModel}, 0},
		{"another server", []*bench.Record{sent(1, 1, "", 0, 10, prompt{parts: []uint64{1, 2, 3, 4}}, a), otherTarget}, 0},
		{"another session", []*bench.Record{
			sent(1, 1, "", 0, 10, prompt{parts: []uint64{1, 2, 3, 4}}, a), sent(2, 2, "", 20, 30, prompt{parts: []uint64{1, 2, 3, 4}}, b),
		}, 0},
		{"another play", []*bench.Record{
			sent(1, 1, "", 0, 10, prompt{parts: []uint64{1, 2, 3, 4}}, a), sent(2, 1, "", 20, 30, prompt{parts: []uint64{1, 2, 3, 4, 5}}, a),
		}, 32},
		{"the same play with its marker", []*bench.Record{
			sent(1, 1, "x", 0, 10, prompt{parts: []uint64{1, 2, 3, 4}}, a), sent(1, 1, "x", 20, 30, prompt{parts: []uint64{1, 2, 3, 4, 5}}, a),
		}, 32},
		{"another play has another marker", []*bench.Record{
			sent(1, 1, "x", 0, 10, prompt{parts: []uint64{1, 2, 3, 4}}, a), sent(2, 2, "xx", 20, 30, prompt{parts: []uint64{1, 2, 3, 4}}, a),
		}, 0},
		{"another play, behind the same system message", []*bench.Record{
			sent(1, 1, "x", 0, 10, prompt{[]uint64{1, 2, 3, 4}, 2}, a), sent(2, 1, "xx", 20, 30, prompt{[]uint64{1, 2, 3, 4}, 2}, a),
		}, 16},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPrefixes()
			var got bench.Tokens
			for _, r := range tt.sent {
				got = p.Add(r)
			}
			if got != tt.want {
				t.Errorf("%d tokens are expected to be cached, want %d", got, tt.want)
			}
		})
	}
}

// TestPrefixesForget: plays with markers that have ended need no memory.
func TestPrefixesForget(t *testing.T) {
	p := NewPrefixes()
	session := &bench.RecordedSession{ID: "A", Turns: make([]*bench.Recording, 3)}
	r := &bench.Recording{Session: session}
	for play := range int64(100) {
		marker := fmt.Sprintf("%*d", play+1, play)
		for range 2 + play%2 { // every second play ends early
			p.Add(sent(play, int(1+play%4), marker, 0, 10, prompt{parts: []uint64{1, 2, 3}}, r))
		}
	}
	for play := range int64(2 * mostPlays) { // without lanes
		p.Add(sent(1000+play, 0, fmt.Sprintf("%*d", play+200, play), 0, 10, prompt{parts: []uint64{1, 2, 3}}, r))
	}
	if len(p.plays) > mostPlays || len(p.order) != len(p.plays) || len(p.sent["A"]) > mostPlays {
		t.Errorf("%d plays, %d in order, %d parts; want at most %d", len(p.plays), len(p.order), len(p.sent["A"]), mostPlays)
	}
}

// TestTree computes a play by hand: two turns, a sub-agent beside the second, a turn that joins it.
//
//	main   0–1 s   1.5–2.5 s            4.5–5 s
//	sub             2.7–3.5 s
//
// The play takes 0–2 s, 2.5–3 s (client 0.1), sub 3.2–6.2 s (first token at 5.2), and 6.8–7.8 s, after 0.4 s were left
// out of the pause before the last.
func TestTree(t *testing.T) {
	const s = time.Second
	session := &bench.RecordedSession{ID: "A"}
	main0 := &bench.Recording{Start: 0, End: s, Session: session, Later: 4}
	main1 := &bench.Recording{Start: 1500 * ms1, End: 2500 * ms1, Session: session, Later: 3, After: []*bench.Recording{main0}}
	sub := &bench.Recording{Start: 2700 * ms1, End: 3500 * ms1, Session: session, Later: 2, After: []*bench.Recording{main1}}
	main2 := &bench.Recording{Start: 4500 * ms1, End: 5 * s, Session: session, Later: 1, After: []*bench.Recording{main1, sub}}
	session.Turns = []*bench.Recording{main0, main1, main2, sub}
	request := func(r *bench.Recording, due, start, first, end, skipped time.Duration) *bench.Record {
		one := sent(7, 3, "", 0, 0, prompt{}, r)
		one.Stamps = bench.Stamps{Due: due, Start: start, End: end, Skipped: skipped}
		one.Answer.Streamed, one.Answer.Chunks = true, []bench.Chunk{{At: first}, {At: end}}
		one.InputTokens, one.Content.Expected = new(bench.Tokens(100)), new(bench.Tokens(64))
		one.Answer.Usage = &bench.Usage{Cached: new(bench.Tokens(48))}
		return one
	}
	all := []*bench.Record{
		request(main0, 10*s, 10*s, 11*s, 12*s, 0),
		request(main1, 12500*ms1, 12600*ms1, 12700*ms1, 13*s, 0),
		request(sub, 13200*ms1, 13200*ms1, 15200*ms1, 16200*ms1, 0),
		request(main2, 16800*ms1, 16800*ms1, 17300*ms1, 17800*ms1, 400*ms1),
	}
	play := func(list ...*bench.Record) []Tree {
		j := NewJobs()
		for _, r := range list {
			j.Add(r)
		}
		return j.Trees()
	}
	near := cmpopts.EquateApprox(0, 1e-9)
	want := Tree{
		Play: 7, Trace: "A", Lane: 3, Outcome: Completed, Requests: 4, FirstDue: 10000, LastEnd: 17800,
		Makespan: 8200, Recorded: 5000, Pauses: 1700, Skipped: 400, JoinWaits: 1, JoinWait: 3200,
		TTFT: new(750.0), Latency: new(1500.0),
		Dilation: new(1.64), Inflation: new((1000 + 100 + 2000 + 500 + 1000 + 300 + 1000 + 500) / 3300.0),
		Path:        Path{Requests: 4, Prefill: 1000 + 100 + 2000 + 500, Decode: 1000 + 300 + 1000 + 500, Gap: 500 + 200 + 1000, Client: 100},
		InputTokens: 400, ExpectedCached: 256, ReportedCached: new(int64(192)),
	}
	if diff := cmp.Diff([]Tree{want}, play(all...), near); diff != "" {
		t.Errorf("a whole play (-want +got):\n%s", diff)
	}
	if got := play(all[1:]...)[0]; !got.Midway || got.Outcome != Completed || got.Requests != 3 || *got.Dilation != 5700.0/3500 {
		t.Errorf("a play from its second request on: %+v, dilation %v", got, *got.Dilation)
	}
	if got := play(all[:2]...)[0]; got.Midway || got.Outcome != Running || got.Dilation != nil {
		t.Errorf("a play of two requests: %+v", got)
	}
	// A lane that begins another play has ended the one before.
	next := request(main0, 20*s, 20*s, 21*s, 22*s, 0)
	next.SessionNum = 9
	if got := play(all[0], all[1], next); len(got) != 2 || got[0].Outcome != Cut || got[1].Outcome != Running || got[1].Play != 9 {
		t.Errorf("two plays on a lane: %+v", got)
	}
}

// TestTimes computes quantiles of Kaplan and Meier's estimator by hand.
func TestTimes(t *testing.T) {
	at := func(ms float64) lifetime { return lifetime{ms: ms} }
	longer := func(ms float64) lifetime { return lifetime{ms, true} }
	tests := []struct {
		name string
		all  []lifetime
		want Times
	}{
		// Shares that are longer: 5/6, 4/6, (4/6)(2/3), 0.
		{"some go on", []lifetime{at(6), at(2), longer(4), at(3), at(5), longer(5)}, Times{Count: 4, Censored: 2, P50: new(5.0), P90: new(6.0)}},
		{"most go on", []lifetime{longer(9), at(1), longer(2), longer(3)}, Times{Count: 1, Censored: 3}},
		{"all ended", []lifetime{at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10)}, Times{Count: 10, P50: new(5.0), P90: new(9.0)}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(&tt.want, timesOf(tt.all)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if timesOf(nil) != nil {
		t.Error("no times have a distribution")
	}
}

func TestSummarize(t *testing.T) {
	if Summarize(NewJobs(), time.Hour) != nil {
		t.Error("no plays have a report")
	}
	r := summarizeTrees([]Tree{
		{Outcome: Completed, Requests: 3, Makespan: 2000, Recorded: 1000, Dilation: new(2.0), Path: Path{Prefill: 300, Decode: 600, Gap: 1000, Client: 100}},
		{Outcome: Completed, Midway: true, Requests: 3, Makespan: 1000, Recorded: 1000, Dilation: new(1.0), JoinWaits: 2, JoinWait: 500},
		{Outcome: Running, Requests: 1, Makespan: 4000},
		{Outcome: Cut, Requests: 1, Makespan: 10},
	}, 30*time.Minute)
	r.List = nil
	r.Hits = Hits{Expected: new(0.5), Theoretical: new(0.61)}
	want := &Report{
		Trees: 4, Completed: 2, Running: 1, Cut: 1, Midway: 1,
		CompletionTime: &Times{Count: 1, Censored: 1, P50: new(2000.0)},
		Dilation:       &Spread{Count: 2, Mean: 1.5, P50: 1, P90: 2, Max: 2},
		Makespan:       &Spread{Count: 4, Mean: 1752.5, P50: 1000, P90: 4000, Max: 4000},
		JoinWait:       &Spread{Count: 1, Mean: 250, P50: 250, P90: 250, Max: 250},
		Path:           &Shares{Prefill: 0.15, Decode: 0.3, Gap: 0.5, Client: 0.05},
		WorkRate:       new(2.0 / 3), JobsPerHour: new(4.0), JobsPerHourPerUser: new(1800.0),
		Hits: Hits{Expected: new(0.5), Theoretical: new(0.61)},
	}
	if diff := cmp.Diff(want, r, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if got, want := r.Line(), "4 trees: 2 completed, 1 still running at the end, 1 cut by a failed request; "+
		"1.50 × as long as recorded"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
	r.Completed, r.Dilation.Count = 12, 12
	if got, want := r.Line(), "4 trees: 12 completed, 1 still running at the end, 1 cut by a failed request; 4.00 completed per hour; "+
		"1.50 × as long as recorded (p90 2.00)"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
	if got, want := r.HitLine(), "50 % possible for what was sent, 61 % in the recording"; got != want {
		t.Errorf("hits %q, want %q", got, want)
	}
}

// Requests are grouped by the tokens of their prompts, and within a group by those that were not cached.
func TestGroups(t *testing.T) {
	a := &bench.Recording{Session: &bench.RecordedSession{ID: "A"}, Later: 1}
	a.Session.Turns = []*bench.Recording{a}
	request := func(play int64, input, cached, end int) *bench.Record {
		r := sent(play, 0, "", 1, end+1, prompt{parts: []uint64{1}}, a)
		r.InputTokens, r.OutputTokens = new(bench.Tokens(input)), new(bench.Tokens(3))
		r.Answer.Streamed = true
		r.Answer.Chunks = []bench.Chunk{{At: 11 * ms1}, {At: time.Duration(end+1) * ms1}}
		r.Content.Expected = new(bench.Tokens(cached))
		return r
	}
	failed := request(5, 8192, 0, 30)
	failed.Answer.Failure = &bench.Failure{Class: bench.ConnectError}
	reported := request(4, 40_000, 40_000, 50)
	reported.Answer.Usage = &bench.Usage{Cached: new(bench.Tokens(30_000))}
	j := NewJobs()
	for _, r := range []*bench.Record{request(1, 8191, 0, 30), request(2, 8191, 8191, 30), request(3, 8192, 8000, 30), reported, failed} {
		j.Add(r)
	}
	r := Summarize(j, time.Second)
	contexts, uncached := r.ByContext, r.ByUncached
	thirty := &Quantiles{30, 30, 30}
	ten := &Quantiles{10, 10, 10}
	group := func(from, to int64, requests, errors int, latency *Quantiles, itl float64, cached float64, within ...Group) Group {
		return Group{
			From: from, To: to, Requests: requests, Errors: errors, TTFT: ten, ITL: &Quantiles{itl, itl, itl}, Latency: latency,
			Cached: &cached, Uncached: within,
		}
	}
	fifty := &Quantiles{50, 50, 50}
	onlyFailed := Group{From: 4096, To: 16384, Requests: 1, Errors: 1}
	want := []Group{
		group(0, 8192, 2, 0, thirty, 10, 0.5, group(0, 256, 1, 0, thirty, 10, 1), group(4096, 16384, 1, 0, thirty, 10, 0)),
		group(8192, 32768, 2, 1, thirty, 10, 8000.0/8192, group(0, 256, 1, 0, thirty, 10, 8000.0/8192), onlyFailed),
		group(32768, 65536, 1, 0, fifty, 20, 0.75, group(4096, 16384, 1, 0, fifty, 20, 0.75)),
	}
	within := cmpopts.EquateApprox(0.003, 0)
	if diff := cmp.Diff(want, contexts, within); diff != "" {
		t.Errorf("by context (-want +got):\n%s", diff)
	}
	if names := []string{contexts[0].Name(), contexts[2].Name()}; names[0] != "0 to 8k" || names[1] != "32k to 64k" {
		t.Errorf("names %q", names)
	}
	if len(uncached) != 2 || uncached[0].Requests != 2 || uncached[1].Requests != 3 || uncached[1].Errors != 1 {
		t.Errorf("by uncached tokens: %+v", uncached)
	}
}

// A play of which a warm-up has sent requests is complete without them. Their time says nothing about the recording if
// its streams were not left at one instant.
func TestAddWarmup(t *testing.T) {
	session := &bench.RecordedSession{ID: "A"}
	var turns []*bench.Recording
	for i := range 5 {
		r := &bench.Recording{Session: session, Later: 5 - i, Start: time.Duration(i) * time.Second, End: time.Duration(i)*time.Second + 500*ms1}
		turns, session.Turns = append(turns, r), append(session.Turns, r)
	}
	for _, tt := range []struct {
		name   string
		before []int
		then   []int
		even   bool
	}{
		{"the beginning", []int{0, 1}, []int{2, 3, 4}, true},
		{"unevenly", []int{0, 2}, []int{1, 3, 4}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := NewJobs()
			for _, i := range tt.before {
				j.AddWarmup(sent(1, 1, "", 0, 1, prompt{}, turns[i]))
			}
			for n, i := range tt.then {
				j.Add(sent(1, 1, "", 1000*n+1000, 1000*n+1500, prompt{}, turns[i]))
			}
			trees := j.Trees()
			if len(trees) != 1 || trees[0].Outcome != Completed || !trees[0].Midway || trees[0].Requests != 3 || (trees[0].Dilation != nil) != tt.even {
				t.Errorf("trees %+v", trees)
			}
		})
	}
}

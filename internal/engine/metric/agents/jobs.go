package agents

import (
	"cmp"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
)

// Outcome is how the play of a session ended.
type Outcome string

// The outcomes.
const (
	Completed Outcome = "completed" // all requests were sent and have returned
	Running   Outcome = "running"   // it went on when the load ended
	Cut       Outcome = "cut"       // it ended early, because a request failed
)

// Tree is one play of a recorded session: a job. If it began in the middle of the session, it is a part of a job.
// Times are in milliseconds. A null is unknown.
type Tree struct {
	Play      int64   `json:"session_num"`
	Trace     string  `json:"trace_id"`
	Lane      int     `json:"lane,omitempty"` // from 1; absent without lanes
	Outcome   Outcome `json:"outcome" enums:"completed,running,cut"`
	Midway    bool    `json:"left_truncated"` // it began in the middle of the session
	Requests  int     `json:"requests"`
	Errors    int     `json:"errors"`
	FirstDue  float64 `json:"first_due_ms"` // from the beginning of the run
	LastEnd   float64 `json:"last_end_ms"`
	Makespan  float64 `json:"tree_makespan"` // from the first due time to the last end, with the idle time left out
	Recorded  float64 `json:"recorded_makespan"`
	Pauses    float64 `json:"recorded_pauses"` // the recorded makespan without the requests on its critical path
	Skipped   float64 `json:"idle_skipped"`    // by limits of idle time
	JoinWaits int     `json:"joins"`           // turns that other streams ended later for than their own
	JoinWait  float64 `json:"join_wait"`
	// TTFT and Latency are medians of the requests that succeeded; null without any, and without streamed answers.
	TTFT    *float64 `json:"time_to_first_token"`
	Latency *float64 `json:"request_latency"`
	// Dilation is the makespan divided by the recorded one; null with less than three requests, or if a warm-up
	// has played the streams of the session unevenly.
	Dilation *float64 `json:"job_dilation"`
	// Inflation is the time of the requests on the critical path, divided by that on the recorded critical path.
	Inflation *float64 `json:"critical_path_inflation"`
	Path      Path     `json:"critical_path"`

	InputTokens    int64  `json:"input_tokens"`
	ExpectedCached int64  `json:"expected_cached_tokens"`
	ReportedCached *int64 `json:"reported_cached_tokens"` // null = the server does not report it
}

// Path is where the time of a critical path went, in milliseconds: that of the requests without which the last one
// could not have ended sooner.
type Path struct {
	Requests int     `json:"requests"`
	Prefill  float64 `json:"prefill"` // to the first content of streamed answers; other requests are decode as a whole
	Decode   float64 `json:"decode"`
	Gap      float64 `json:"gap"`    // of the agent and its tools, as recorded
	Client   float64 `json:"client"` // between the due time and the start of requests
}

// minDilated is the number of requests from which on the makespan of a tree says something.
const minDilated = 3

// Jobs collects the plays of recorded sessions in the profiling phases of a run.
type Jobs struct {
	running            map[int64]*job
	lanes              map[int]int64                       // the play of each lane
	warmups            map[int64]map[*bench.Recording]bool // by play, the requests of warm-ups
	ended              []Tree
	first              map[int]*Lane // the beginning of each lane
	contexts, uncached *tallies
}

// NewJobs returns a Jobs without plays.
func NewJobs() *Jobs {
	return &Jobs{
		running: map[int64]*job{}, lanes: map[int]int64{}, warmups: map[int64]map[*bench.Recording]bool{},
		first: map[int]*Lane{}, contexts: newTallies(contextBounds()), uncached: newTallies(uncachedBounds())}
}

// job is a play that goes on.
type job struct {
	session  *bench.RecordedSession
	play     int64
	lane     int
	sent     map[*bench.Recording]*request
	last     *request                  // that ended last
	began    time.Duration             // earliest recorded start of a request
	warmup   map[*bench.Recording]bool // requests of warm-ups
	wanted   int                       // requests from then on
	uneven   bool                      // some of them were sent in a warm-up: streams began at different instants
	errors   int
	input    int64
	expected int64
	cached   int64
	reported bool
}

// request is one of a job.
type request struct {
	recording                       *bench.Recording
	due, start, first, end, skipped time.Duration // first 0 = not streamed, or without content
	ok                              bool
}

// AddPrimer takes a request that brings a stream of a session into the caches of a server, before that is played.
func (j *Jobs) AddPrimer(r *bench.Record) {
	if r.Content.Replayed != nil {
		lane := j.lane(r)
		lane.Primers = append(lane.Primers, entryOf(r))
		j.sentBefore(r)
	}
}

// AddWarmup takes a request of a warm-up.
func (j *Jobs) AddWarmup(r *bench.Record) {
	if r.Content.Replayed != nil {
		j.lane(r).enter(r)
		j.sentBefore(r)
	}
}

// sentBefore notes a request before the profiling phases: the play that it belongs to will not send it again.
func (j *Jobs) sentBefore(r *bench.Record) {
	if j.warmups[r.SessionNum] == nil {
		j.warmups[r.SessionNum] = map[*bench.Recording]bool{}
	}
	j.warmups[r.SessionNum][r.Content.Replayed.Recorded] = true
}

// Add takes a request that has returned.
func (j *Jobs) Add(r *bench.Record) {
	turn := r.Content.Replayed
	if turn == nil || r.Stamps.Start == 0 {
		return
	}
	j.measure(r)
	one := j.running[r.SessionNum]
	if one == nil {
		one = j.begin(r)
	}
	j.lane(r).enter(r)
	one.add(r)
	if len(one.sent) == one.wanted && one.wanted == len(one.session.Turns) {
		j.end(one, Completed)
	}
}

// begin begins a play. The one before it on its lane has ended.
func (j *Jobs) begin(r *bench.Record) *job {
	if r.Lane > 0 {
		if before := j.running[j.lanes[r.Lane]]; before != nil && before.lane == r.Lane {
			j.end(before, Cut)
		}
		j.lanes[r.Lane] = r.SessionNum
	}
	one := &job{
		session: r.Content.Replayed.Recorded.Session, play: r.SessionNum, lane: r.Lane,
		sent: map[*bench.Recording]*request{}, began: -1, warmup: j.warmups[r.SessionNum],
	}
	delete(j.warmups, r.SessionNum)
	j.running[r.SessionNum] = one
	return one
}

// end ends a play: as completed, if all its requests have returned.
func (j *Jobs) end(one *job, otherwise Outcome) {
	delete(j.running, one.play)
	j.ended = append(j.ended, one.tree(otherwise))
}

// Trees returns the plays in the order in which they began, those that go on included.
func (j *Jobs) Trees() []Tree {
	all := slices.Clone(j.ended)
	for _, one := range j.running {
		all = append(all, one.tree(Running))
	}
	slices.SortFunc(all, func(a, b Tree) int {
		return cmp.Or(cmp.Compare(a.FirstDue, b.FirstDue), cmp.Compare(a.Play, b.Play))
	})
	return all
}

// add takes a request of the play.
func (j *job) add(r *bench.Record) {
	s, c := &r.Stamps, &r.Content
	q := &request{
		recording: c.Replayed.Recorded, due: s.Due, start: s.Start, end: s.End, skipped: s.Skipped, ok: r.OK(),
	}
	if r.Answer.Streamed && len(r.Answer.Chunks) > 0 {
		q.first = r.Answer.Chunks[0].At
	}
	j.sent[q.recording] = q
	if j.last == nil || q.end > j.last.end {
		j.last = q
	}
	if at := q.recording.Start; j.began < 0 || at < j.began {
		j.began, j.wanted, j.uneven = at, q.recording.Later, false
		for other := range j.warmup {
			if other.Start >= at {
				j.wanted, j.uneven = j.wanted-1, true
			}
		}
	}
	if !q.ok {
		j.errors++
		return
	}
	if r.InputTokens != nil {
		j.input += int64(*r.InputTokens)
	}
	if c.Expected != nil {
		j.expected += int64(*c.Expected)
	}
	if u := r.Answer.Usage; u != nil && u.Cached != nil {
		j.cached, j.reported = j.cached+int64(*u.Cached), true
	}
}

// tree returns what was measured.
func (j *job) tree(otherwise Outcome) Tree {
	first := j.firstDue()
	t := Tree{
		Play: j.play, Trace: j.session.ID, Lane: j.lane, Outcome: otherwise, Midway: j.wanted < len(j.session.Turns),
		Requests: len(j.sent), Errors: j.errors, FirstDue: ms(first.due), LastEnd: ms(j.last.end),
		Skipped: ms(j.last.skipped - first.skipped), Recorded: ms(j.last.recording.End - first.recording.Start),
		InputTokens: j.input, ExpectedCached: j.expected,
	}
	if len(j.sent) >= j.wanted {
		t.Outcome = Completed
	}
	if j.reported {
		t.ReportedCached = &j.cached
	}
	t.Makespan = ms(j.last.end-first.due) + t.Skipped
	if t.Requests >= minDilated && t.Recorded > 0 && !j.uneven {
		t.Dilation = new(t.Makespan / t.Recorded)
	}
	t.Path = j.criticalPath()
	recorded := j.recordedPath()
	t.Pauses = max(0, t.Recorded-ms(recorded))
	if recorded > 0 {
		t.Inflation = new((t.Path.Prefill + t.Path.Decode) / ms(recorded))
	}
	var firsts, latencies []float64
	for _, q := range j.sent {
		if wait := j.joinWait(q); wait > 0 {
			t.JoinWaits++
			t.JoinWait += ms(wait)
		}
		if q.ok && q.first > 0 {
			firsts = append(firsts, ms(q.first-q.start))
		}
		if q.ok {
			latencies = append(latencies, ms(q.end-q.start))
		}
	}
	t.TTFT, t.Latency = median(firsts), median(latencies)
	return t
}

// median returns the median of values, which it sorts; nil = there are none.
func median(values []float64) *float64 {
	n := len(values)
	if n == 0 {
		return nil
	}
	slices.Sort(values)
	return new((values[(n-1)/2] + values[n/2]) / 2)
}

// firstDue returns the request that was due first.
func (j *job) firstDue() (first *request) {
	for _, q := range j.sent {
		if first == nil || q.due < first.due {
			first = q
		}
	}
	return first
}

// before returns the request that decided when another one was due, by the latest end; nil = none of the play.
func (j *job) before(q *request, end func(*request) time.Duration) (latest *request) {
	for _, r := range q.recording.After {
		if one := j.sent[r]; one != nil && (latest == nil || end(one) > end(latest)) {
			latest = one
		}
	}
	return latest
}

// criticalPath follows the requests back from the one that ended last.
func (j *job) criticalPath() (p Path) {
	for q := j.last; q != nil; {
		p.Requests++
		p.Client += ms(max(0, q.start-q.due))
		first := max(q.first, q.start)
		if q.first == 0 {
			first = q.start
		}
		p.Prefill += ms(first - q.start)
		p.Decode += ms(q.end - first)
		before := j.before(q, func(q *request) time.Duration { return q.end })
		if before != nil {
			p.Gap += ms(max(0, q.due-before.end+q.skipped-before.skipped))
		}
		q = before
	}
	return p
}

// recordedPath returns the time of the requests on the recorded critical path.
func (j *job) recordedPath() (sum time.Duration) {
	end := func(q *request) time.Duration { return q.recording.End }
	var last *request
	for _, q := range j.sent {
		if last == nil || end(q) > end(last) {
			last = q
		}
	}
	for q := last; q != nil; q = j.before(q, end) {
		sum += q.recording.End - q.recording.Start
	}
	return sum
}

// joinWait returns how much later the streams that a request waited for ended than the request before it in its own.
func (j *job) joinWait(q *request) (wait time.Duration) {
	after := q.recording.After
	if len(after) < 2 || j.sent[after[0]] == nil {
		return 0
	}
	for _, r := range after[1:] {
		if one := j.sent[r]; one != nil {
			wait = max(wait, one.end-j.sent[after[0]].end)
		}
	}
	return wait
}

// ms returns a time in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Package polling follows jobs: APIs whose answer takes a request that submits the work
// and further ones that fetch the result.
package polling

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/eventlog"
)

// Job describes an API whose answers take more than one request: the first one
// submits the work, further ones poll for its results. Use a [Tracker].
type Job struct {
	// Poller returns the poller of one job.
	Poller func() Poller
	// Cancel cancels work.
	Cancel func(id string) Call
	// Pause is how long to wait before a poll, from the time since the start of the
	// request and the wait before.
	Pause func(elapsed, last time.Duration) time.Duration
	// Drop names a parameter in the query of the submission that no other call has.
	Drop string
}

// Poller decides what follows the answers about one job.
type Poller interface {
	// Next reads an answer to the submission or to a poll, which is an object or a
	// list, and returns what follows.
	Next(t *Tracker, v *fastjson.Value) Step
}

// PollerFunc is a poller without state.
type PollerFunc func(t *Tracker, v *fastjson.Value) Step

// Next implements [Poller].
func (f PollerFunc) Next(t *Tracker, v *fastjson.Value) Step { return f(t, v) }

// Settings are the run-wide choices about work that is polled for.
type Settings struct {
	Mode     string        // type runpod: sync, async or stream
	Input    string        // type runpod: messages, prompt, openai or route
	Interval time.Duration // before each poll; 0 = as the type does it
	Timeout  time.Duration // from the start of the request to the last answer; > 0
	Download bool          // fetch the result, if it is not in the answer itself
	JSON     bool          // bodies are JSON, if the type makes forms by default
}

// State is the state of a job.
type State uint8

// The states of a job.
const (
	Unknown State = iota // the answer does not contain a state that is known
	Queued
	Running
	Done
	Failed
	Cancelled
	TimedOut
)

// Over reports whether nothing will change any more.
func (s State) Over() bool { return s >= Done }

// Step is the next step after an answer.
type Step struct {
	State State
	Call  *Call  // the next request; nil = the work is over, and so is the fetching
	News  string // not part of state: an answer with other news is kept
}

// Call is a request about work that was submitted.
type Call struct {
	Method string
	Now    bool   // there is nothing to wait for
	Binary bool   // the answer is the result itself
	Path   string // from the path of the submission; escaped, "../" leads up
}

// URL returns the URL of a call, from the URL that the work was submitted to: the
// same server, and the same query.
func (j *Job) URL(c Call, submit *url.URL) *url.URL {
	base, path := strings.TrimRight(submit.EscapedPath(), "/"), c.Path
	for strings.HasPrefix(path, "../") {
		path = strings.TrimPrefix(path, "../")
		base = base[:max(0, strings.LastIndexByte(base, '/'))]
	}
	to := *submit
	to.RawPath = base
	if path != "" {
		to.RawPath += "/" + path
	}
	to.Path = to.RawPath
	if plain, err := url.PathUnescape(to.RawPath); err == nil {
		to.Path = plain
	}
	to.RawQuery = withoutKey(submit.RawQuery, j.Drop)
	return &to
}

// withoutKey removes the pairs of a key from a query and leaves the rest as it is.
func withoutKey(query, key string) string {
	if key == "" || query == "" {
		return query
	}
	var keep []string
	for pair := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(pair, "="); name != key {
			keep = append(keep, pair)
		}
	}
	return strings.Join(keep, "&")
}

// The limits of a job.
const (
	maxJobID    = 512
	maxJobBytes = 256 << 20 // of all answers that are kept
)

// Tracker follows one job: it reads the answers, returns the next call, and makes
// one response of them all. It does no I/O and belongs to one goroutine.
type Tracker struct {
	job      *Job
	Settings *Settings
	ID       string
	State    State
	news     string
	binary   bool // the previous call fetches the result itself
	polls    int32
	waited   time.Duration // before the last poll
	resp     bench.Response
	Limit    int // of the answers that are kept, in bytes
	poller   Poller
}

// Track returns a tracker of one job.
func (j *Job) Track(s *Settings) *Tracker {
	t := &Tracker{job: j, Settings: s, Limit: maxJobBytes, poller: j.Poller()}
	t.resp.Framing = bench.FramingNDJSON
	return t
}

// Identify keeps the id of the job that an answer in a state names; false = it names none,
// and the job is not over.
func (t *Tracker) Identify(v *fastjson.Value, state State) bool {
	if t.ID != "" {
		return true
	}
	id := string(answer.Str(v.Get("id")))
	isPart := id != "" && id != "." && id != ".." && len(id) <= maxJobID // of a path
	if !isPart && !state.Over() {
		return false
	}
	t.ID = id
	return true
}

// Take reads the answer to the submission, then to each call in turn, and returns
// the next call; more = false when there is none. received is the length of the
// answer. It keeps nothing of resp. whole reports that resp is the answer to the
// request, and is to be decoded in place of Response.
func (t *Tracker) Take(resp *bench.Response, received bench.Bytes) (next Call, more, whole bool) {
	first := t.resp.Status == 0
	if !first {
		t.polls++
	}
	body := answer.TrimSpace(resp.Body)
	isGood := resp.Status >= 200 && resp.Status <= 299 && resp.Failure == nil && resp.End == bench.EndEOF
	switch {
	case first && !isGood, first && (resp.Framing != bench.FramingJSON || len(body) == 0):
		return Call{}, false, true
	case !isGood:
		t.Fail(pollFailure(resp), resp.EndAt)
		return Call{}, false, false
	case t.binary:
		t.keep(resp, "content", strconv.AppendInt(nil, int64(received), 10))
		return Call{}, false, false
	}
	t.resp.Status, t.resp.Header = resp.Status, resp.Header
	var parser answer.Parser
	v := parser.Parse(body)
	if v == nil || v.Type() != fastjson.TypeObject && v.Type() != fastjson.TypeArray {
		t.keep(resp, "", body) // which Decode will complain about
		return Call{}, false, first
	}
	s := t.poller.Next(t, v)
	isNew := s.Call == nil || s.State != t.State || s.News != t.news
	if s.State != Unknown {
		t.State = s.State
	}
	t.news = s.News
	t.resp.EndAt = resp.EndAt
	if isNew && !t.keep(resp, "", body) {
		return Call{}, false, false
	}
	if s.Call == nil {
		return Call{}, false, false
	}
	t.binary = s.Call.Binary
	return *s.Call, true, false
}

// keep makes an event of an answer. It returns false if that is more than can
// be kept.
func (t *Tracker) keep(resp *bench.Response, name string, data []byte) bool {
	t.resp.EndAt = resp.EndAt
	if t.resp.Events.Size()+len(data) > t.Limit {
		t.Fail(&bench.Failure{
			Class: bench.EventTooLarge, Code: "job_size", Message: fmt.Sprintf("the answers about the job are larger than %d bytes together", t.Limit),
		}, resp.EndAt)
		return false
	}
	at := resp.BodyAt
	if at == 0 {
		at = resp.EndAt
	}
	t.resp.Events.Append(eventlog.Event{At: at, Read: t.polls, Name: name, Data: data})
	return true
}

// Fail ends the job for a reason that no answer gives.
func (t *Tracker) Fail(f *bench.Failure, at time.Duration) {
	f.Step = bench.StepPoll
	t.resp.Failure, t.resp.EndAt = f, at
}

// pollFailure explains an answer to a poll that is none.
func pollFailure(resp *bench.Response) *bench.Failure {
	if resp.Status < 300 {
		if resp.Failure != nil {
			f := *resp.Failure
			return &f
		}
		return &bench.Failure{Class: bench.ConnectionReset, Status: resp.Status, Message: "the connection broke during a poll"}
	}
	f := answer.StatusFailure(resp)
	if resp.Status == http.StatusNotFound || resp.Status == http.StatusGone {
		f.Class = bench.JobFailed // it was there: the result has expired
	}
	return f
}

// Response returns all answers as one: an event for each that was new.
// It is the tracker's and may grow.
func (t *Tracker) Response() *bench.Response { return &t.resp }

// Polls returns how many calls were answered.
func (t *Tracker) Polls() int32 { return t.polls }

// Pause returns how long to wait before the next poll, at a time since the start of
// the request.
func (t *Tracker) Pause(elapsed time.Duration) time.Duration {
	if fixed := t.Settings.Interval; fixed > 0 {
		return fixed
	}
	t.waited = t.job.Pause(elapsed, t.waited)
	return t.waited
}

// Cancel returns the call that cancels the job; ok = false if there is
// nothing to be taken back.
func (t *Tracker) Cancel() (c Call, ok bool) {
	if t.ID == "" || t.State.Over() {
		return Call{}, false
	}
	return t.job.Cancel(t.ID), true
}

// Retryable reports whether a poll that came to this may be repeated: the job
// itself may be well.
func Retryable(resp *bench.Response) bool {
	switch resp.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	if f := resp.Failure; resp.Status < 300 && f != nil {
		switch f.Class {
		case bench.ConnectError, bench.ConnectionReset, bench.TimeoutConnect, bench.TimeoutHeaders, bench.TimeoutIdle, bench.TimeoutTotal:
			return true
		}
	}
	return resp.Status >= 500
}

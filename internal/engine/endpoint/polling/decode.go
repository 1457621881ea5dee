package polling

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/eventlog"
)

// Decoder assembles the answer of a job from the answers about it, in the
// order in which they came: events of the response, or its only document.
type Decoder struct {
	*answer.Decoder
	outer   answer.Parser // of the answers; the decoder's own one is for documents inside
	Now     time.Duration
	Poll    int32
	broken  int // answers that are no JSON
	State   State
	Job     bench.Job
	why     answer.Detail // of a failure
	Output  bool          // content came when the work was over, not while it went on
	Fetched int           // size of the result, if it was downloaded
}

// Dialect reads the answers about jobs of one API.
type Dialect interface {
	// JobAnswer reads one answer about the job.
	JobAnswer(v *fastjson.Value)
	// JobDone completes the answer of a job that was completed.
	JobDone()
}

// Decode returns the Decode function of an endpoint type with a [Job]. g describes the
// documents inside the answers.
func Decode(g *answer.Grammar, dialect func(j *Decoder) Dialect) func(resp *bench.Response, streaming bool) bench.Answer {
	return func(resp *bench.Response, streaming bool) bench.Answer {
		j := Decoder{Decoder: answer.NewDecoder(g)}
		j.Reset(resp)
		j.Streamed = streaming
		d := dialect(&j)
		switch {
		case resp.Status < 200 || resp.Status > 299:
			j.FailStatus(resp)
		case resp.Framing == bench.FramingNDJSON:
			for e := range resp.Events.All() {
				j.readAnswer(&e, d)
			}
			j.end(resp, d, streaming)
		case resp.Framing == bench.FramingJSON:
			if body := answer.TrimSpace(resp.Body); len(body) > 0 {
				j.readAnswer(&eventlog.Event{At: resp.BodyAt, Data: body}, d)
			}
			j.end(resp, d, streaming)
		default:
			if !j.Other(resp) && !j.FailBroken(resp) {
				j.FailContent(resp)
			}
		}
		return j.Result()
	}
}

// readAnswer reads one answer about the job.
func (j *Decoder) readAnswer(e *eventlog.Event, d Dialect) {
	if e.Name == "content" { // see [Tracker.Take]
		j.Fetched, _ = strconv.Atoi(string(e.Data))
		j.Job.Fetched = e.At
		return
	}
	j.Now, j.Poll = e.At, e.Read
	j.At, j.Read = e.At, e.Read
	v := j.outer.Parse(e.Data)
	if v == nil || v.Type() != fastjson.TypeObject && v.Type() != fastjson.TypeArray {
		j.broken++
		return
	}
	if j.outer.Repaired {
		j.Warn(answer.WarnRepairedEvent)
	}
	if j.outer.InvalidUTF8 {
		j.Warn(answer.WarnInvalidUTF8)
	}
	j.Valid++
	d.JobAnswer(v)
}

// StateIs records the state of the job. It started with the first answer in which it
// is no longer queued.
func (j *Decoder) StateIs(s State) {
	if s == Unknown || j.State.Over() && !s.Over() {
		return
	}
	j.State = s
	if s != Queued && j.Job.Started == 0 {
		j.Job.Started = j.Now
	}
}

// FailedWith records the reason of a failure, if v is one.
func (j *Decoder) FailedWith(v *fastjson.Value) {
	if why := ErrorDetail(v, j.Status); why.Message != "" {
		j.why = why
	}
}

// end evaluates the answers together.
func (j *Decoder) end(resp *bench.Response, d Dialect, streaming bool) {
	j.Answer.Job = &j.Job
	switch j.State {
	case Failed:
		j.failJob(bench.JobFailed, "the job failed")
	case Cancelled:
		j.failJob(bench.JobCancelled, "the job was cancelled at the server")
	case TimedOut:
		j.failJob(bench.JobTimeout, "the job took longer than the server allows")
	case Unknown, Queued, Running, Done:
	}
	if resp.Failure != nil {
		j.Fail(resp.Failure)
	}
	switch {
	case j.Answer.Failure != nil:
	case j.FailBroken(resp):
	case j.Valid == 0 && j.broken == 0:
		j.FailAs(bench.EmptyResponse, "the response has no body")
	case j.State == Unknown && j.why.Message != "":
		j.FailAs(bench.ServerError, j.why.Message)
	case j.broken > 0, j.State == Unknown:
		j.FailAs(bench.MalformedResponse, "an answer about the job says neither its id nor its status: "+j.lastEvent(resp))
	case !j.State.Over():
		j.FailAs(bench.StreamTruncated, "there are no more answers about a job that is not done")
	default:
		d.JobDone()
		if streaming && j.Output && len(j.Answer.Chunks) > 0 {
			j.Warn(answer.WarnNotStreamed)
		}
		j.CheckOutput()
	}
	j.Answer.Streamed = streaming && !j.Output && len(j.Answer.Chunks) > 0
}

// lastEvent quotes the last answer.
func (j *Decoder) lastEvent(resp *bench.Response) string {
	last := resp.Body
	for e := range resp.Events.All() {
		last = slices.Clone(e.Data)
	}
	return answer.PlainMessage(string(answer.ToValidUTF8(answer.TrimSpace(last))))
}

// failJob records that the work failed, by the server's word.
func (j *Decoder) failJob(class bench.Class, otherwise string) {
	f := &bench.Failure{
		Class: class, Step: bench.StepPoll, Status: j.Status,
		Code: j.why.Code, Type: j.why.Kind, Message: answer.Clip(cmp.Or(j.why.Message, otherwise)),
	}
	if class == bench.JobFailed && answer.IsOverflow(f.Message, f.Code) {
		f.Class = bench.ContextOverflow
	}
	j.Fail(f)
}

// ErrorDetail reads an error that is an object, a text, or JSON in a text.
func ErrorDetail(v *fastjson.Value, status int) answer.Detail {
	if !answer.Truthy(v) {
		return answer.Detail{}
	}
	raw := v.MarshalTo(nil)
	if v.Type() == fastjson.TypeString {
		raw = answer.Str(v)
	}
	if inner, ok := answer.LooseJSON(raw); ok {
		if o, isObject := inner.(map[string]any); isObject {
			// Runpod's own: error_type, error_message, error_traceback
			if message, _ := o["error_message"].(string); message != "" {
				return answer.Detail{Message: answer.Clip(message), Kind: answer.Clip(answer.Text(o["error_type"]))}
			}
		}
	}
	return answer.Describe(raw, status)
}

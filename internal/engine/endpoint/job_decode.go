package endpoint

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// jobDecoder assembles the answer of a job from the answers about it, in the
// order in which they came: events of the response, or its only document.
type jobDecoder struct {
	*decoder
	outer   jsonParser // of the answers; the decoder's own one is for documents inside
	now     time.Duration
	poll    int32
	broken  int // answers that are no JSON
	state   jobState
	job     bench.Job
	why     detail // of a failure
	output  bool   // content came when the work was over, not while it went on
	fetched int    // size of what the job made, if it was downloaded
}

// jobDialect reads the answers about jobs of one API.
type jobDialect interface {
	// jobAnswer reads one answer about the job.
	jobAnswer(v *fastjson.Value)
	// jobDone completes the answer of a job that was completed.
	jobDone()
}

// decodeJob returns the Decode function of a [Kind] with a Job. g describes the
// documents inside the answers.
func decodeJob(g *grammar, dialect func(j *jobDecoder) jobDialect) func(resp *bench.Response, streaming bool) bench.Answer {
	return func(resp *bench.Response, streaming bool) bench.Answer {
		j := jobDecoder{decoder: newDecoder(g)}
		j.reset(resp)
		j.streamed = streaming
		d := dialect(&j)
		switch {
		case resp.Status < 200 || resp.Status > 299:
			j.failStatus(resp)
		case resp.Framing == bench.FramingNDJSON:
			for e := range resp.Events.All() {
				j.readAnswer(&e, d)
			}
			j.end(resp, d, streaming)
		case resp.Framing == bench.FramingJSON:
			if body := trimSpace(resp.Body); len(body) > 0 {
				j.readAnswer(&bench.Event{At: resp.BodyAt, Data: body}, d)
			}
			j.end(resp, d, streaming)
		default:
			if !j.other(resp) && !j.failBroken(resp) {
				j.failContent(resp)
			}
		}
		return j.result()
	}
}

// readAnswer reads one answer about the job.
func (j *jobDecoder) readAnswer(e *bench.Event, d jobDialect) {
	if e.Name == "content" { // see [Tracker.Take]
		j.fetched, _ = strconv.Atoi(string(e.Data))
		j.job.Fetched = e.At
		return
	}
	j.now, j.poll = e.At, e.Read
	j.at, j.read = e.At, e.Read
	v := j.outer.parse(e.Data)
	if v == nil || v.Type() != fastjson.TypeObject && v.Type() != fastjson.TypeArray {
		j.broken++
		return
	}
	if j.outer.repaired {
		j.warn(warnRepairedEvent)
	}
	if j.outer.invalidUTF8 {
		j.warn(warnInvalidUTF8)
	}
	j.valid++
	d.jobAnswer(v)
}

// stateIs takes how the job is; the first answer that says it works on it is when
// it began.
func (j *jobDecoder) stateIs(s jobState) {
	if s == jobUnknown || j.state.over() && !s.over() {
		return
	}
	j.state = s
	if s != jobQueued && j.job.Started == 0 {
		j.job.Started = j.now
	}
}

// failedWith records the reason of a failure, if v is one.
func (j *jobDecoder) failedWith(v *fastjson.Value) {
	if why := errorDetail(v, j.status); why.message != "" {
		j.why = why
	}
}

// end judges what the answers came to.
func (j *jobDecoder) end(resp *bench.Response, d jobDialect, streaming bool) {
	j.answer.Job = &j.job
	switch j.state {
	case jobFailed:
		j.failJob(bench.JobFailed, "the job failed")
	case jobCancelled:
		j.failJob(bench.JobCancelled, "the job was cancelled at the server")
	case jobTimedOut:
		j.failJob(bench.JobTimeout, "the job took longer than the server allows")
	case jobUnknown, jobQueued, jobRunning, jobDone:
	}
	if resp.Failure != nil {
		j.fail(resp.Failure)
	}
	switch {
	case j.answer.Failure != nil:
	case j.failBroken(resp):
	case j.valid == 0 && j.broken == 0:
		j.failAs(bench.EmptyResponse, "the response has no body")
	case j.state == jobUnknown && j.why.message != "":
		j.failAs(bench.ServerError, j.why.message)
	case j.broken > 0, j.state == jobUnknown:
		j.failAs(bench.MalformedResponse, "an answer about the job says neither its id nor its status: "+j.lastEvent(resp))
	case !j.state.over():
		j.failAs(bench.StreamTruncated, "there are no more answers about a job that is not done")
	default:
		d.jobDone()
		if streaming && j.output && len(j.answer.Chunks) > 0 {
			j.warn(warnNotStreamed)
		}
		j.checkOutput()
	}
	j.answer.Streamed = streaming && !j.output && len(j.answer.Chunks) > 0
}

// lastEvent quotes the last answer.
func (j *jobDecoder) lastEvent(resp *bench.Response) string {
	last := resp.Body
	for e := range resp.Events.All() {
		last = slices.Clone(e.Data)
	}
	return plainMessage(string(toValidUTF8(trimSpace(last))))
}

// failJob records that the work failed, by the server's word.
func (j *jobDecoder) failJob(class bench.Class, otherwise string) {
	f := &bench.Failure{
		Class: class, Step: bench.StepPoll, Status: j.status,
		Code: j.why.code, Type: j.why.kind, Message: clip(cmp.Or(j.why.message, otherwise)),
	}
	if class == bench.JobFailed && saysOverflow(f.Message, f.Code) {
		f.Class = bench.ContextOverflow
	}
	j.fail(f)
}

// errorDetail reads an error that is an object, a text, or JSON in a text.
func errorDetail(v *fastjson.Value, status int) detail {
	if !truthy(v) {
		return detail{}
	}
	raw := v.MarshalTo(nil)
	if v.Type() == fastjson.TypeString {
		raw = str(v)
	}
	if inner, ok := looseJSON(raw); ok {
		if o, isObject := inner.(map[string]any); isObject {
			// Runpod's own: error_type, error_message, error_traceback
			if message, _ := o["error_message"].(string); message != "" {
				return detail{message: clip(message), kind: clip(text(o["error_type"]))}
			}
		}
	}
	return describe(raw, status)
}

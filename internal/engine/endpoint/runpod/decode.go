package runpod

import (
	"cmp"
	"regexp"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/polling"
	"aiperfd/internal/engine/eventlog"
)

// runpodDialect reads answers about a job: its status, and its output, or the output
// since the answer before.
type runpodDialect struct {
	*polling.Decoder

	texts sseReassembly      // Output that is the text of a stream
	sum   answer.UsageCounts // counts that are to be added up
}

func newRunpod(j *polling.Decoder) polling.Dialect { return &runpodDialect{Decoder: j} }

func (d *runpodDialect) JobAnswer(v *fastjson.Value) {
	if v.Type() == fastjson.TypeArray {
		d.StateIs(polling.Running)
		d.items(v.GetArray())
		return
	}
	answer.KeepFirst(&d.Answer.ResponseID, v.Get("id"))
	d.Times.Value("delayTime", v.Get("delayTime"), time.Millisecond)
	d.Times.Value("executionTime", v.Get("executionTime"), time.Millisecond)
	state := runpodState(v.Get("status"))
	if items := v.GetArray("stream"); len(items) > 0 && (state == polling.Unknown || state == polling.Queued) {
		state = polling.Running
	}
	if state == polling.Unknown && len(answer.Str(v.Get("status"))) > 0 && d.State == polling.Unknown {
		state = polling.Running // an unknown state
	}
	d.StateIs(state)
	d.FailedWith(v.Get("error"))
	d.items(v.GetArray("stream"))
	// In a stream the output is all that was streamed, once more.
	if output := v.Get("output"); output != nil && len(d.Answer.Chunks) == 0 && !d.texts.started() {
		d.Output = true
		streamed := d.Streamed
		d.Streamed = false
		d.put(output)
		d.Streamed = streamed
	}
}

// items takes the items of a poll.
func (d *runpodDialect) items(list []*fastjson.Value) {
	for _, item := range list {
		if output := item.Get("output"); output != nil {
			d.put(output)
		}
	}
	if len(list) > 0 && d.Answer.FirstEvent == 0 {
		d.Answer.FirstEvent = d.Now
	}
}

// put takes one output, or a list of them.
func (d *runpodDialect) put(v *fastjson.Value) {
	if v.Type() != fastjson.TypeArray {
		d.putOne(v)
		return
	}
	for _, one := range v.GetArray() {
		d.putOne(one)
	}
}

// putOne takes one output, of any shape.
func (d *runpodDialect) putOne(v *fastjson.Value) {
	d.At, d.Read = d.Now, d.Poll
	switch v.Type() {
	case fastjson.TypeNull:
	case fastjson.TypeString:
		d.putText(answer.Str(v))
	case fastjson.TypeObject:
		d.putObject(v)
	case fastjson.TypeArray, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		d.putJSON(v)
	}
}

// putText takes a text: a piece of a stream, or the output itself.
func (d *runpodDialect) putText(text []byte) {
	d.texts.add(d.Now, d.Poll, text, d.piece)
}

// piece takes what the fragments turned out to be.
func (d *runpodDialect) piece(e *eventlog.Event, isEvent bool) {
	if d.Answer.Failure != nil {
		return
	}
	d.At, d.Read = e.At, e.Read
	streamed := d.Streamed
	switch {
	case !isEvent:
		if string(answer.TrimSpace(e.Data)) != "[DONE]" {
			d.Credit.OnChunk = false
			d.Emit(d.OnlyChoice(), bench.Text, e.Data)
		}
	case len(e.Data) == 0 && e.Name != "error", string(answer.TrimSpace(e.Data)) == "[DONE]":
	default:
		d.Streamed = true // this is a stream, even if none was requested
		valid := d.Valid
		d.Event(e)
		d.Valid = valid
	}
	d.Streamed = streamed
}

// putObject takes an output that is an object.
func (d *runpodDialect) putObject(v *fastjson.Value) {
	text := v.Get("text")
	switch {
	case answer.Truthy(v.Get("error")):
		d.putError(v.Get("error"))
	case v.Get("choices") != nil && hasTokens(v):
		d.putTokens(v)
	case v.Get("choices") != nil:
		d.Dialect.Document(&answer.Document{Value: v, Data: v.MarshalTo(nil)})
	case text != nil:
		d.putCounted(v, text)
	case v.Get("finished") != nil && v.GetObject().Len() == 1: // the end of the text
	default:
		d.putJSON(v)
	}
}

// hasTokens reports whether the choices are lists of tokens, as of older workers.
func hasTokens(v *fastjson.Value) bool {
	for _, c := range v.GetArray("choices") {
		if c.Get("tokens") != nil {
			return true
		}
	}
	return false
}

// putTokens takes {"choices":[{"tokens":["…"]}],"usage":{…}}; the counts are those
// of the whole answer so far.
func (d *runpodDialect) putTokens(v *fastjson.Value) {
	d.ChunkUsage(v.Get("usage"))
	for i, c := range v.GetArray("choices") {
		state := d.Choice(c.Get("index"), i)
		if state == nil {
			d.Warn(answer.WarnMalformedEvent)
			continue
		}
		d.Emit(state, bench.Text, answer.Joined(c.Get("tokens")))
		d.Finish(state, c.Get("finish_reason"), nil, nil)
	}
}

// putCounted takes {"text":["…"],"input_tokens":n,"output_tokens":m}; the counts
// are those of this output alone.
func (d *runpodDialect) putCounted(v, text *fastjson.Value) {
	for _, c := range []struct {
		name string
		sum  *answer.Count
	}{{"input_tokens", &d.sum.Input}, {"output_tokens", &d.sum.Output}} {
		if n := v.Get(c.name); n != nil {
			if add, ok := answer.TokenCount(n); ok {
				c.sum.N += add
				c.sum.Rank = 1
			}
		}
	}
	d.Credit.OnChunk = false
	if d.sum != (answer.UsageCounts{}) {
		d.SetUsage(d.sum)
		d.Credit.Usage(d.sum.Output)
	}
	d.Emit(d.OnlyChoice(), bench.Text, answer.Joined(text))
	d.Credit.Event()
}

// putJSON takes an output of no known shape: its JSON is the text.
func (d *runpodDialect) putJSON(v *fastjson.Value) {
	d.Credit.OnChunk = false
	d.Emit(d.OnlyChoice(), bench.Text, v.MarshalTo(nil))
}

// workerError is the worker's form of an error of vLLM.
var workerError = regexp.MustCompile(`(?s)^vLLM returned HTTP ([45][0-9]{2}): (.*)$`)

// putError takes an error in place of an output; the job itself may well be called
// completed.
func (d *runpodDialect) putError(v *fastjson.Value) {
	why, status := polling.ErrorDetail(v, d.Status), d.Status
	class := bench.JobFailed
	if m := workerError.FindSubmatch(answer.Str(v)); m != nil {
		status, _ = strconv.Atoi(string(m[1]))
		why = answer.Describe(m[2], status)
		why.Code = cmp.Or(why.Code, string(m[1]))
	}
	if (status < 400 || answer.MayOverflow(status)) && answer.IsOverflow(why.Message, why.Code) {
		class = bench.ContextOverflow
	}
	d.Fail(&bench.Failure{
		Class: class, Step: bench.StepPoll, Status: d.Status, Code: why.Code, Type: why.Kind, Message: why.Message,
	})
}

// JobDone takes the text that is left.
func (d *runpodDialect) JobDone() { d.texts.end(d.piece) }

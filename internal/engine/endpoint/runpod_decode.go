package endpoint

import (
	"cmp"
	"regexp"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/eventlog"
)

// readRunpod takes one answer about a job: how it is, and what it has put out
// since the answer before, or at all.
func readRunpod(j *jobDecoder, v *fastjson.Value) {
	if v.Type() == fastjson.TypeArray {
		j.stateIs(jobRunning)
		j.items(v.GetArray())
		return
	}
	keepFirst(&j.a.ResponseID, v.Get("id"))
	j.tookValue("delayTime", v.Get("delayTime"), time.Millisecond)
	j.tookValue("executionTime", v.Get("executionTime"), time.Millisecond)
	state := runpodState(v.Get("status"))
	if items := v.GetArray("stream"); len(items) > 0 && (state == jobUnknown || state == jobQueued) {
		state = jobRunning
	}
	if state == jobUnknown && len(str(v.Get("status"))) > 0 && j.state == jobUnknown {
		state = jobRunning // a state that nobody has heard of
	}
	j.stateIs(state)
	if d := errorDetail(v.Get("error"), j.status); d.message != "" {
		j.why = d
	}
	j.items(v.GetArray("stream"))
	// In a stream the output is all that was streamed, once more.
	if output := v.Get("output"); output != nil && len(j.a.Chunks) == 0 && !j.fragments.started() {
		j.output = true
		streamed := j.streamed
		j.streamed = false
		j.put(output)
		j.streamed = streamed
	}
}

// items takes what a poll has brought.
func (j *jobDecoder) items(list []*fastjson.Value) {
	for _, item := range list {
		if output := item.Get("output"); output != nil {
			j.put(output)
		}
	}
	if len(list) > 0 && j.a.FirstEvent == 0 {
		j.a.FirstEvent = j.now
	}
}

// put takes one output, or a list of them.
func (j *jobDecoder) put(v *fastjson.Value) {
	if v.Type() != fastjson.TypeArray {
		j.putOne(v)
		return
	}
	for _, one := range v.GetArray() {
		j.putOne(one)
	}
}

// putOne takes one output, whatever shape the worker gives it.
func (j *jobDecoder) putOne(v *fastjson.Value) {
	j.at, j.read = j.now, j.poll
	switch v.Type() {
	case fastjson.TypeNull:
	case fastjson.TypeString:
		j.putText(str(v))
	case fastjson.TypeObject:
		j.putObject(v)
	case fastjson.TypeArray, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		j.putJSON(v)
	}
}

// putText takes a text: a piece of a stream, or the output itself.
func (j *jobDecoder) putText(text []byte) {
	j.fragments.add(j.now, j.poll, text, j.piece)
}

// piece takes what the fragments turned out to be.
func (j *jobDecoder) piece(e *eventlog.Event, isEvent bool) {
	if j.a.Failure != nil {
		return
	}
	j.at, j.read = e.At, e.Read
	streamed := j.streamed
	switch {
	case !isEvent:
		if string(trimSpace(e.Data)) != "[DONE]" {
			j.credit.onChunk = false
			j.emit(j.state0(), bench.Text, e.Data)
		}
	case len(e.Data) == 0 && e.Name != "error", string(trimSpace(e.Data)) == "[DONE]":
	default:
		j.streamed = true // whatever the job was asked for, this is a stream
		valid := j.valid
		j.event(e)
		j.valid = valid
	}
	j.streamed = streamed
}

// state0 is the only choice of outputs that do not number them.
func (j *jobDecoder) state0() *choiceState { return j.decoder.state(nil, 0) }

// putObject takes an output that is an object.
func (j *jobDecoder) putObject(v *fastjson.Value) {
	text := v.Get("text")
	switch {
	case truthy(v.Get("error")):
		j.putError(v.Get("error"))
	case v.Get("choices") != nil && hasTokens(v):
		j.putTokens(v)
	case v.Get("choices") != nil:
		readOpenAI(j.decoder, &document{value: v, data: v.MarshalTo(nil)})
	case text != nil:
		j.putCounted(v, text)
	case v.Get("finished") != nil && v.GetObject().Len() == 1: // the end of the text
	default:
		j.putJSON(v)
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
func (j *jobDecoder) putTokens(v *fastjson.Value) {
	j.readUsage(&chunk{usage: v.Get("usage")})
	for i, c := range v.GetArray("choices") {
		state := j.decoder.state(c.Get("index"), i)
		if state == nil {
			j.warn(warnMalformedEvent)
			continue
		}
		j.emit(state, bench.Text, joined(c.Get("tokens")))
		j.finish(state, c.Get("finish_reason"), nil, nil)
	}
}

// putCounted takes {"text":["…"],"input_tokens":n,"output_tokens":m}; the counts
// are those of this output alone.
func (j *jobDecoder) putCounted(v, text *fastjson.Value) {
	for _, c := range []struct {
		name string
		sum  *count
	}{{"input_tokens", &j.sum.input}, {"output_tokens", &j.sum.output}} {
		if n := v.Get(c.name); n != nil {
			if add, ok := tokenCount(n); ok {
				c.sum.n += add
				c.sum.rank = 1
			}
		}
	}
	j.credit.onChunk = false
	if j.sum != (usageCounts{}) {
		j.usage, j.hasUsage = j.sum, true
		j.credit.usage(j.sum.output)
	}
	j.emit(j.state0(), bench.Text, joined(text))
	j.credit.note()
}

// joined joins a list of strings; a string is itself.
func joined(v *fastjson.Value) []byte {
	if v == nil || v.Type() != fastjson.TypeArray {
		return str(v)
	}
	var out []byte
	for _, s := range v.GetArray() {
		out = append(out, str(s)...)
	}
	return out
}

// putJSON takes an output of no known shape: its JSON is the text.
func (j *jobDecoder) putJSON(v *fastjson.Value) {
	j.credit.onChunk = false
	j.emit(j.state0(), bench.Text, v.MarshalTo(nil))
}

// workerError is how the worker passes on what vLLM says.
var workerError = regexp.MustCompile(`(?s)^vLLM returned HTTP ([45][0-9]{2}): (.*)$`)

// putError takes an error in place of an output; the job itself may well be called
// completed.
func (j *jobDecoder) putError(v *fastjson.Value) {
	d, status := errorDetail(v, j.status), j.status
	class := bench.JobFailed
	if m := workerError.FindSubmatch(str(v)); m != nil {
		status, _ = strconv.Atoi(string(m[1]))
		d = describe(m[2], status)
		d.code = cmp.Or(d.code, string(m[1]))
	}
	if (status < 400 || mayOverflow(status)) && saysOverflow(d.message, d.code) {
		class = bench.ContextOverflow
	}
	j.fail(&bench.Failure{
		Class: class, Step: bench.StepPoll, Status: j.status, Code: d.code, Type: d.kind, Message: d.message,
	})
}

// finishRunpod takes what is left of fragments when the job is done.
func finishRunpod(j *jobDecoder) { j.fragments.end(j.piece) }

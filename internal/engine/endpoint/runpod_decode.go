package endpoint

import (
	"cmp"
	"regexp"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// runpodDialect reads answers about a job: its status, and its output, or the output
// since the answer before.
type runpodDialect struct {
	*jobDecoder

	texts sseReassembly // output that is the text of a stream
	sum   usageCounts   // counts that are to be added up
}

func newRunpod(j *jobDecoder) jobDialect { return &runpodDialect{jobDecoder: j} }

func (d *runpodDialect) jobAnswer(v *fastjson.Value) {
	if v.Type() == fastjson.TypeArray {
		d.stateIs(jobRunning)
		d.items(v.GetArray())
		return
	}
	keepFirst(&d.answer.ResponseID, v.Get("id"))
	d.times.value("delayTime", v.Get("delayTime"), time.Millisecond)
	d.times.value("executionTime", v.Get("executionTime"), time.Millisecond)
	state := runpodState(v.Get("status"))
	if items := v.GetArray("stream"); len(items) > 0 && (state == jobUnknown || state == jobQueued) {
		state = jobRunning
	}
	if state == jobUnknown && len(str(v.Get("status"))) > 0 && d.state == jobUnknown {
		state = jobRunning // an unknown state
	}
	d.stateIs(state)
	d.failedWith(v.Get("error"))
	d.items(v.GetArray("stream"))
	// In a stream the output is all that was streamed, once more.
	if output := v.Get("output"); output != nil && len(d.answer.Chunks) == 0 && !d.texts.started() {
		d.output = true
		streamed := d.streamed
		d.streamed = false
		d.put(output)
		d.streamed = streamed
	}
}

// items takes what a poll has brought.
func (d *runpodDialect) items(list []*fastjson.Value) {
	for _, item := range list {
		if output := item.Get("output"); output != nil {
			d.put(output)
		}
	}
	if len(list) > 0 && d.answer.FirstEvent == 0 {
		d.answer.FirstEvent = d.now
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

// putOne takes one output, whatever shape the worker gives it.
func (d *runpodDialect) putOne(v *fastjson.Value) {
	d.at, d.read = d.now, d.poll
	switch v.Type() {
	case fastjson.TypeNull:
	case fastjson.TypeString:
		d.putText(str(v))
	case fastjson.TypeObject:
		d.putObject(v)
	case fastjson.TypeArray, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		d.putJSON(v)
	}
}

// putText takes a text: a piece of a stream, or the output itself.
func (d *runpodDialect) putText(text []byte) {
	d.texts.add(d.now, d.poll, text, d.piece)
}

// piece takes what the fragments turned out to be.
func (d *runpodDialect) piece(e *bench.Event, isEvent bool) {
	if d.answer.Failure != nil {
		return
	}
	d.at, d.read = e.At, e.Read
	streamed := d.streamed
	switch {
	case !isEvent:
		if string(trimSpace(e.Data)) != "[DONE]" {
			d.credit.onChunk = false
			d.emit(d.only(), bench.Text, e.Data)
		}
	case len(e.Data) == 0 && e.Name != "error", string(trimSpace(e.Data)) == "[DONE]":
	default:
		d.streamed = true // whatever the job was asked for, this is a stream
		valid := d.valid
		d.event(e)
		d.valid = valid
	}
	d.streamed = streamed
}

// state0 is the only choice of outputs that do not number them.
func (d *runpodDialect) state0() *choice { return d.choice(nil, 0) }

// putObject takes an output that is an object.
func (d *runpodDialect) putObject(v *fastjson.Value) {
	text := v.Get("text")
	switch {
	case truthy(v.Get("error")):
		d.putError(v.Get("error"))
	case v.Get("choices") != nil && hasTokens(v):
		d.putTokens(v)
	case v.Get("choices") != nil:
		d.dialect.document(&document{value: v, data: v.MarshalTo(nil)})
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
	d.chunkUsage(v.Get("usage"))
	for i, c := range v.GetArray("choices") {
		state := d.choice(c.Get("index"), i)
		if state == nil {
			d.warn(warnMalformedEvent)
			continue
		}
		d.emit(state, bench.Text, joined(c.Get("tokens")))
		d.finish(state, c.Get("finish_reason"), nil, nil)
	}
}

// putCounted takes {"text":["…"],"input_tokens":n,"output_tokens":m}; the counts
// are those of this output alone.
func (d *runpodDialect) putCounted(v, text *fastjson.Value) {
	for _, c := range []struct {
		name string
		sum  *count
	}{{"input_tokens", &d.sum.input}, {"output_tokens", &d.sum.output}} {
		if n := v.Get(c.name); n != nil {
			if add, ok := tokenCount(n); ok {
				c.sum.n += add
				c.sum.rank = 1
			}
		}
	}
	d.credit.onChunk = false
	if d.sum != (usageCounts{}) {
		d.setUsage(d.sum)
		d.credit.usage(d.sum.output)
	}
	d.emit(d.only(), bench.Text, joined(text))
	d.credit.note()
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
func (d *runpodDialect) putJSON(v *fastjson.Value) {
	d.credit.onChunk = false
	d.emit(d.only(), bench.Text, v.MarshalTo(nil))
}

// workerError is how the worker passes on what vLLM says.
var workerError = regexp.MustCompile(`(?s)^vLLM returned HTTP ([45][0-9]{2}): (.*)$`)

// putError takes an error in place of an output; the job itself may well be called
// completed.
func (d *runpodDialect) putError(v *fastjson.Value) {
	why, status := errorDetail(v, d.status), d.status
	class := bench.JobFailed
	if m := workerError.FindSubmatch(str(v)); m != nil {
		status, _ = strconv.Atoi(string(m[1]))
		why = describe(m[2], status)
		why.code = cmp.Or(why.code, string(m[1]))
	}
	if (status < 400 || mayOverflow(status)) && saysOverflow(why.message, why.code) {
		class = bench.ContextOverflow
	}
	d.fail(&bench.Failure{
		Class: class, Step: bench.StepPoll, Status: d.status, Code: why.code, Type: why.kind, Message: why.message,
	})
}

// jobDone takes the text that is left.
func (d *runpodDialect) jobDone() { d.texts.end(d.piece) }

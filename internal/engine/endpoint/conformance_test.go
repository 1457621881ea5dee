package endpoint_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/transport/frame"
)

// vector is one recorded response: network reads with their times, and what
// must come out of them.
type vector struct {
	ID        string
	Title     string
	Type      string
	Streaming bool
	Polled    bool // each read is one whole answer: to the submission, then to polls
	Status    int
	Headers   map[string]string
	Reads     []read
	End       struct {
		At  float64 `json:"t_ms"`
		How string
	}
	Expect expectation
}

type read struct {
	At     float64 `json:"t_ms"`
	Text   string
	Base64 string
	bytes  []byte
	at     time.Duration
}

type expectation struct {
	Outcome string
	Error   *struct {
		Class      bench.Class
		Message    string
		Code       any
		Status     *int
		RetryAfter *float64 `json:"retry_after_s"`
	}
	Events      [][]any
	Text        perChoice[string]
	Reasoning   perChoice[string]
	Refusal     perChoice[string]
	Finish      perChoice[bench.Finish] `json:"finish_reason"`
	ToolCalls   []bench.ToolCall        `json:"tool_calls"`
	TTFT        *float64                `json:"ttft_ms"`
	TTFO        *float64                `json:"ttfo_ms"`
	LastContent *float64                `json:"last_content_ms"`
	Usage       map[string]bench.Tokens
	Warnings    []string
	Rows        []int // of each vector; absent = 1
	Derived     *struct {
		Tokens []int32 `json:"tokens_per_chunk"`
	}
}

// perChoice is a value of choice 0, or an object keyed by choice index.
type perChoice[T ~string] map[int]T

func (p *perChoice[T]) UnmarshalJSON(data []byte) error {
	*p = perChoice[T]{}
	var one T
	if err := json.Unmarshal(data, &one); err == nil {
		(*p)[0] = one
		return nil
	}
	return json.Unmarshal(data, (*map[int]T)(p))
}

func millis(f float64) time.Duration { return time.Duration(f * float64(time.Millisecond)) }

func vectors(t testing.TB) []vector {
	t.Helper()
	files, err := filepath.Glob("testdata/streams*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	var vs []vector
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var some []vector
		if err := json.Unmarshal(data, &some); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		vs = append(vs, some...)
	}
	vs = append(vs, bigEvent())
	for i := range vs {
		for j := range vs[i].Reads {
			r := &vs[i].Reads[j]
			r.at, r.bytes = millis(r.At), []byte(r.Text)
			if r.Base64 != "" {
				if r.bytes, err = base64.StdEncoding.DecodeString(r.Base64); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return vs
}

// bigEvent is the vector S13, written out here because of its size: one event
// of 100 kB in two reads.
func bigEvent() vector {
	content := strings.Repeat("A", 100_000)
	body := `data: {"choices":[{"index":0,"delta":{"content":"` + content + `"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	at := 150.0
	v := vector{
		ID: "S13", Title: "A single 100 kB event", Type: "chat", Streaming: true, Status: 200,
		Headers: map[string]string{"Content-Type": "text/event-stream; charset=utf-8"},
		Reads:   []read{{At: 100, Text: body[:60049]}, {At: at, Text: body[60049:]}},
		Expect: expectation{
			Outcome: "success", Events: [][]any{{at, "text", content}},
			Text: perChoice[string]{0: content}, Finish: perChoice[bench.Finish]{0: bench.FinishStop},
			TTFT: &at, LastContent: &at,
		},
	}
	v.End.At, v.End.How = 151, "eof"
	return v
}

// feed runs reads through a framer and the codec of the vector's type.
func feed(t testing.TB, v vector, reads []read) bench.Answer {
	t.Helper()
	kind, ok := endpoint.Lookup(v.Type)
	if !ok {
		t.Fatalf("Lookup(%q) found nothing", v.Type)
	}
	if v.Polled {
		return poll(t, v, kind)
	}
	header := http.Header{}
	for name, value := range v.Headers {
		header.Set(name, value)
	}
	var f frame.Framer
	f.Reset(frame.Head{
		Status: v.Status, Streaming: v.Streaming,
		ContentType: header.Get("Content-Type"), ContentEncoding: header.Get("Content-Encoding"),
	})
	for _, r := range reads {
		f.Feed(r.at, r.bytes)
	}
	ends := map[string]bench.End{"eof": bench.EndEOF, "reset": bench.EndReset, "stall": bench.EndTimeout}
	end, ok := ends[v.End.How]
	if !ok {
		t.Fatalf("unknown end %q", v.End.How)
	}
	f.Finish(millis(v.End.At), end)
	resp := f.Response()
	resp.Header = header
	if v.End.How == "stall" {
		resp.Failure = &bench.Failure{Class: bench.TimeoutIdle, Step: bench.StepBody, Status: v.Status}
	}
	return kind.Decode(resp, v.Streaming)
}

// poll gives the answers of a vector to a tracker, each as a whole, and decodes
// what it makes of them.
func poll(t testing.TB, v vector, kind endpoint.Kind) bench.Answer {
	t.Helper()
	settings := endpoint.Settings{Streaming: v.Streaming, Job: endpoint.JobSettings{Timeout: time.Hour}}
	if v.Streaming {
		settings.Job.Mode = endpoint.RunpodStream
	}
	tracker := kind.Track(&settings)
	for i, r := range v.Reads {
		_, more, whole := tracker.Take(&bench.Response{
			Status: v.Status, Framing: bench.FramingJSON, Body: r.bytes, BodyAt: r.at, EndAt: r.at,
		}, bench.Bytes(len(r.bytes)))
		if whole || !more && i < len(v.Reads)-1 {
			t.Fatalf("no more polls after answer %d of %d", i+1, len(v.Reads))
		}
	}
	return kind.Decode(tracker.Response(), v.Streaming)
}

// cuttable are the vectors whose reads may be joined and cut at will.
func cuttable(t testing.TB) []vector {
	t.Helper()
	return slices.DeleteFunc(vectors(t), func(v vector) bool { return v.Polled })
}

func TestConformance(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.ID, func(t *testing.T) {
			check(t, v, feed(t, v, v.Reads), true)
		})
	}
}

func TestConformanceByteByByte(t *testing.T) {
	for _, v := range cuttable(t) {
		t.Run(v.ID, func(t *testing.T) {
			var reads []read
			for _, r := range v.Reads {
				for i := range r.bytes {
					reads = append(reads, read{at: r.at, bytes: r.bytes[i : i+1]})
				}
			}
			check(t, v, feed(t, v, reads), true)
		})
	}
}

func TestConformanceMerged(t *testing.T) {
	for _, v := range cuttable(t) {
		t.Run(v.ID, func(t *testing.T) {
			check(t, v, feed(t, v, []read{{at: v.Reads[len(v.Reads)-1].at, bytes: concat(v.Reads)}}), false)
		})
	}
}

// TestConformanceEveryCut feeds every body in two reads, cut at every byte (at
// every 997th of the long one).
func TestConformanceEveryCut(t *testing.T) {
	for _, v := range cuttable(t) {
		t.Run(v.ID, func(t *testing.T) {
			body, step := concat(v.Reads), 1
			if len(body) > 10_000 {
				step = 997
			}
			want := feed(t, v, []read{{at: time.Second, bytes: body}})
			check(t, v, want, false)
			for cut := step; cut < len(body); cut += step {
				got := feed(t, v, []read{{at: time.Second, bytes: body[:cut]}, {at: time.Second, bytes: body[cut:]}})
				if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(bench.Chunk{}, "Read"), cmpopts.EquateNaNs()); diff != "" {
					t.Fatalf("cut at %d (-whole +cut):\n%s", cut, diff)
				}
			}
		})
	}
}

func concat(reads []read) []byte {
	var body []byte
	for _, r := range reads {
		body = append(body, r.bytes...)
	}
	return body
}

// check compares an answer with the expectation of a vector.
func check(t *testing.T, v vector, a bench.Answer, times bool) {
	t.Helper()
	want := v.Expect
	checkFailure(t, v, a.Failure)
	checkEvents(t, want, a, times)
	for name, side := range map[string]struct {
		want perChoice[string]
		got  func(bench.Choice) string
	}{
		"text":      {want.Text, func(c bench.Choice) string { return c.Text }},
		"reasoning": {want.Reasoning, func(c bench.Choice) string { return c.Reasoning }},
		"refusal":   {want.Refusal, func(c bench.Choice) string { return c.Refusal }},
		"finish":    {asStrings(want.Finish), func(c bench.Choice) string { return string(c.Finish) }},
	} {
		got := perChoice[string]{}
		for _, c := range a.Choices {
			if s := side.got(c); s != "" {
				got[c.Index] = s
			}
		}
		if diff := cmp.Diff(side.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var calls []bench.ToolCall
	if len(a.Choices) > 0 {
		calls = a.Choices[0].ToolCalls
	}
	if diff := cmp.Diff(want.ToolCalls, calls, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("tool calls (-want +got):\n%s", diff)
	}
	warnings := make([]string, 0, len(a.Warnings))
	for name := range a.Warnings {
		warnings = append(warnings, name)
	}
	slices.Sort(warnings)
	slices.Sort(want.Warnings)
	if diff := cmp.Diff(want.Warnings, warnings, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	checkUsage(t, want.Usage, a.Usage)
}

func asStrings(finish perChoice[bench.Finish]) perChoice[string] {
	out := perChoice[string]{}
	for i, f := range finish {
		out[i] = string(f)
	}
	return out
}

func checkFailure(t *testing.T, v vector, got *bench.Failure) {
	t.Helper()
	want := v.Expect.Error
	if want == nil {
		if got != nil {
			t.Errorf("failure = %v, want none", got)
		}
		return
	}
	if got == nil {
		t.Errorf("no failure, want %s", want.Class)
		return
	}
	if got.Class != want.Class || !strings.Contains(got.Message, want.Message) {
		t.Errorf("failure = %v, want %s with %q", got, want.Class, want.Message)
	}
	if want.Code != nil && got.Code != fmt.Sprint(want.Code) {
		t.Errorf("code = %q, want %v", got.Code, want.Code)
	}
	if want.Status != nil && got.Status != *want.Status {
		t.Errorf("status = %d, want %d", got.Status, *want.Status)
	}
	if want.RetryAfter != nil && got.RetryAfter != time.Duration(*want.RetryAfter*float64(time.Second)) {
		t.Errorf("retry after = %v, want %v s", got.RetryAfter, *want.RetryAfter)
	}
}

// checkEvents compares content events; payloads are cut back out of the
// assembled texts by their lengths.
func checkEvents(t *testing.T, want expectation, a bench.Answer, times bool) {
	t.Helper()
	if len(a.Chunks) != len(want.Events) {
		t.Errorf("%d content events, want %d: %+v", len(a.Chunks), len(want.Events), a.Chunks)
		return
	}
	rest := map[string]string{}
	for _, c := range a.Choices {
		rest[key(c.Index, "text")], rest[key(c.Index, "reasoning")] = c.Text, c.Reasoning
		rest[key(c.Index, "refusal")] = c.Refusal
	}
	var ttfo time.Duration
	for i, e := range want.Events {
		got := a.Chunks[i]
		at, _ := e[0].(float64)
		kind, _ := e[1].(string)
		payload, _ := e[2].(string)
		if checkItem(t, e, got, a, want.Rows) {
			continue
		}
		choice := 0.0
		if len(e) > 3 {
			choice, _ = e[3].(float64)
		}
		if times && got.At != millis(at) {
			t.Errorf("event %d at %v, want %v", i, got.At, millis(at))
		}
		if got.Kind.String() != kind || int(got.Choice) != int(choice) || int(got.Bytes) != len(payload) {
			t.Errorf("event %d = %+v, want %v", i, got, e)
			continue
		}
		if got.Kind != bench.Reasoning && ttfo == 0 {
			ttfo = got.At
		}
		if kind != "tool" {
			k := key(int(choice), kind)
			text, ok := strings.CutPrefix(rest[k], payload)
			if !ok {
				t.Errorf("event %d: %s continues %q, want %q", i, kind, rest[k], payload)
			}
			rest[k] = text
		}
		if want.Derived != nil && got.Tokens != want.Derived.Tokens[i] {
			t.Errorf("event %d carries %d tokens, want %d", i, got.Tokens, want.Derived.Tokens[i])
		}
	}
	if times {
		checkTimes(t, want, a, ttfo)
	}
}

func key(choice int, kind string) string { return kind + strconv.Itoa(choice) }

func checkTimes(t *testing.T, want expectation, a bench.Answer, ttfo time.Duration) {
	t.Helper()
	if len(want.Events) == 0 {
		return
	}
	first, last := a.Chunks[0].At, a.Chunks[len(a.Chunks)-1].At
	if want.LastContent == nil || last != millis(*want.LastContent) {
		t.Errorf("last content at %v, want %v ms", last, want.LastContent)
	}
	if a.Streamed != (want.TTFT != nil) {
		t.Errorf("streamed = %v, want %v", a.Streamed, want.TTFT != nil)
	}
	if want.TTFT != nil && first != millis(*want.TTFT) {
		t.Errorf("first content at %v, want %v ms", first, *want.TTFT)
	}
	if want.TTFO != nil && ttfo != millis(*want.TTFO) {
		t.Errorf("first output at %v, want %v ms", ttfo, *want.TTFO)
	}
}

func checkUsage(t *testing.T, want map[string]bench.Tokens, got *bench.Usage) {
	t.Helper()
	if len(want) == 0 {
		return
	}
	if got == nil {
		t.Errorf("no usage, want %v", want)
		return
	}
	fields := map[string]*bench.Tokens{
		"input": got.Input, "output": got.Output, "reasoning": got.Reasoning, "cached": got.Cached,
		"audio_in": got.AudioIn,
	}
	for name, n := range want {
		field, ok := fields[name]
		if !ok {
			t.Errorf("the test cannot compare usage %q", name)
		} else if field == nil || *field != n {
			t.Errorf("usage %s = %v, want %d", name, field, n)
		}
	}
}

package frame

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

const ms = time.Millisecond

var stream = Head{Status: 200, ContentType: "text/event-stream", Streaming: true}

// in is one read: when it returned and what it held.
type in struct {
	at   time.Duration
	data string
}

// cut feeds reads and ends the body.
func cut(h Head, how bench.End, reads ...in) *bench.Response {
	var f Framer
	f.Reset(h)
	for _, r := range reads {
		f.Feed(r.at, []byte(r.data))
	}
	f.Finish(time.Second, how)
	return f.Response()
}

// show renders a response as text: one line an event, then what else is known.
func show(r *bench.Response) string {
	var b strings.Builder
	for e := range r.Events.All() {
		fmt.Fprintf(&b, "%v #%d", e.At, e.Read)
		if e.Name != "" {
			fmt.Fprintf(&b, " %s", e.Name)
		}
		fmt.Fprintf(&b, " %q", e.Data)
		if e.Comment != "" {
			fmt.Fprintf(&b, " : %q", e.Comment)
		}
		b.WriteByte('\n')
	}
	if r.Body != nil {
		fmt.Fprintf(&b, "body %v %q\n", r.BodyAt, r.Body)
	}
	fmt.Fprintf(&b, "framing %d", r.Framing)
	if r.Done {
		b.WriteString(" done")
	}
	if r.Failure != nil {
		fmt.Fprintf(&b, " %s/%s", r.Failure.Class, r.Failure.Code)
	}
	if len(r.Warnings) > 0 {
		fmt.Fprintf(&b, " %v", r.Warnings)
	}
	return b.String()
}

func TestChoice(t *testing.T) {
	const html = "<!DOCTYPE html><title>T</title>"
	for _, tt := range []struct {
		name  string
		head  Head
		reads []in
		want  string
	}{
		{
			"parameters and case", Head{Status: 200, ContentType: "Text/Event-Stream; charset=utf-8"},
			[]in{{1, "data: 1\n\n"}}, "1ns #1 \"1\"\nframing 2",
		},
		{
			"lines", Head{Status: 200, ContentType: "application/x-ndjson"},
			[]in{{1, bom + "{\"a\":1}\r\n\n{\"b\""}, {2, ":2}\n"}, {3, "{\"c\":3}"}},
			"1ns #1 \"{\\\"a\\\":1}\"\n2ns #2 \"{\\\"b\\\":2}\"\n3ns #3 \"{\\\"c\\\":3}\"\nframing 3",
		},
		{
			"lines, the last one cut", Head{Status: 200, ContentType: "application/jsonl"},
			[]in{{1, "{\"a\":1}\n{\"b\""}}, "1ns #1 \"{\\\"a\\\":1}\"\nframing 3 map[malformed_event:1]",
		},
		{
			"lines that say they are one document", Head{Status: 200, ContentType: "application/json", Streaming: true},
			[]in{{1, "{\"a\":1}\n"}, {2, "{\"b\":2}\n{\"c\":3}\n"}},
			"1ns #1 \"{\\\"a\\\":1}\"\n2ns #2 \"{\\\"b\\\":2}\"\n2ns #2 \"{\\\"c\\\":3}\"\nframing 3",
		},
		{
			"one document in several lines", Head{Status: 200, ContentType: "application/json", Streaming: true},
			[]in{{1, "{\n\"a\":1}\n"}}, "body 1ns \"{\\n\\\"a\\\":1}\\n\"\nframing 1",
		},
		{
			"one document in one line", Head{Status: 200, ContentType: "application/problem+json", Streaming: true},
			[]in{{1, "{\"a\":1}\n"}, {2, "\n"}}, "body 2ns \"{\\\"a\\\":1}\\n\\n\"\nframing 1",
		},
		{
			"lines count only where a stream was asked for", Head{Status: 200, ContentType: "application/json"},
			[]in{{1, "{}\n{}\n"}}, "body 1ns \"{}\\n{}\\n\"\nframing 1",
		},
		{
			"a stream without type", Head{Status: 200},
			[]in{{1, "\n e"}, {2, "vent"}, {3, ": x\ndata: 1\n\n"}}, "3ns #3 x \"1\"\nframing 2 map[sniffed_sse:1]",
		},
		{
			"a stream as plain text after a byte order mark", Head{Status: 200, ContentType: "text/plain"},
			[]in{{1, "\xef"}, {2, "\xbb\xbf: hi\n\n"}}, "framing 2 map[sniffed_sse:1]",
		},
		{
			"a stream that ends while it is looked at", Head{Status: 200},
			[]in{{1, "data:1"}}, "1ns #1 \"1\"\nframing 2 map[sniffed_sse:1 unterminated_final_event:1]",
		},
		{
			"a document as plain text", Head{Status: 200, ContentType: "text/plain"},
			[]in{{1, " "}, {2, " [1]"}}, "body 2ns \"[1]\"\nframing 1",
		},
		{
			"text that could have been a field", Head{Status: 200, ContentType: "text/plain"},
			[]in{{1, "dat"}}, "body 1ns \"dat\"\nframing 4",
		},
		{
			"metrics", Head{Status: 200, ContentType: "application/openmetrics-text; version=1.0.0; charset=utf-8"},
			[]in{{1, "a 1\n# EOF\n"}}, "body 1ns \"a 1\\n# EOF\\n\"\nframing 4",
		},
		{
			"html", Head{Status: 200, ContentType: "text/html; charset=x"},
			[]in{{1, html}}, fmt.Sprintf("body 1ns %q\nframing 5", html),
		},
		{
			"html without type", Head{Status: 200},
			[]in{{1, html}}, fmt.Sprintf("body 1ns %q\nframing 5", html),
		},
		{"audio", Head{Status: 200, ContentType: "audio/wav"}, []in{{1, "RIFF"}}, "framing 6"},
		{"an unknown type", Head{Status: 200, ContentType: "application/pdf"}, []in{{1, "%PDF-1"}}, "framing 6"},
		{"nothing", Head{Status: 204}, nil, "framing 0"},
		{"white space without type", Head{Status: 200}, []in{{1, " \n"}}, "framing 0"},
		{
			"an error is a document whatever it says", Head{Status: 429, ContentType: "text/event-stream", Streaming: true},
			[]in{{1, "data: 1\n\n"}}, "body 1ns \"data: 1\\n\\n\"\nframing 4",
		},
		{
			"an error as JSON", Head{Status: 500, ContentType: "text/plain"},
			[]in{{1, " {}"}}, "body 1ns \" {}\"\nframing 1",
		},
		{"an error as HTML", Head{Status: 502}, []in{{1, "<html>"}}, "body 1ns \"<html>\"\nframing 5"},
		{"an error without body", Head{Status: 503}, nil, "framing 0"},
		{
			"an encoding we cannot undo", Head{Status: 200, ContentType: "text/event-stream", ContentEncoding: "br"},
			[]in{{1, "xx"}}, "framing 0 unexpected_content/content_encoding",
		},
		{"the same on an error", Head{Status: 500, ContentEncoding: "zstd"}, []in{{1, "xx"}}, "framing 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, show(cut(tt.head, bench.EndEOF, tt.reads...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDone(t *testing.T) {
	for _, tt := range []struct {
		name string
		head Head
		data string
		want bool
	}{
		{"running", stream, "data: 1\n\n", false},
		{"marker", stream, "data: [DONE]\n\n", true},
		{"marker not ended", stream, "data: [DONE]\n", false},
		{"error event", stream, "event: error\n\n", true},
		{"error object", stream, "data: {\"error\":\"x\"}\n\n", true},
		{"short error body", Head{Status: 500}, "x", false},
		{"long error body", Head{Status: 500}, strings.Repeat("x", MaxErrorBody+1), true},
		{"unknown encoding", Head{Status: 200, ContentEncoding: "br"}, "", true},
	} {
		var f Framer
		f.Reset(tt.head)
		f.Feed(1, []byte(tt.data))
		if got := f.Done(); got != tt.want {
			t.Errorf("%s: Done() = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestReset(t *testing.T) {
	var f Framer
	f.Reset(stream)
	f.Feed(1*ms, []byte("event: x\ndata: {\"error\":\"e\"}\n\nevent: error\ndata: [DONE]\n\ndata: half"))
	f.Finish(2*ms, bench.EndReset)
	if r := f.Response(); r.End != bench.EndReset || r.EndAt != 2*ms || r.Status != 200 || !r.Done {
		t.Errorf("first response = %+v", r)
	}
	f.Feed(3*ms, []byte("data: late\n\n"))
	if got := f.Response().Events.Len(); got != 1 {
		t.Errorf("%d events after Finish, want 1", got)
	}
	f.Reset(stream)
	f.Feed(5*ms, []byte("data: 1\n\n"))
	f.Finish(6*ms, bench.EndEOF)
	if got, want := show(f.Response()), "5ms #1 \"1\"\nframing 2"; got != want {
		t.Errorf("second response:\n%s\nwant\n%s", got, want)
	}
}

// TestFeedAllocations holds the hot path to no allocation once buffers have
// grown.
func TestFeedAllocations(t *testing.T) {
	var f Framer
	event := []byte("event: delta\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word\"}}]}\n\n")
	half := len(event) / 2
	run := func() {
		f.Reset(stream)
		for i := range 200 {
			f.Feed(time.Duration(i), event)
			f.Feed(time.Duration(i), event[:half])
			f.Feed(time.Duration(i), event[half:])
		}
	}
	run()
	if n := testing.AllocsPerRun(20, run); n != 0 {
		t.Errorf("%v allocations for 400 events, want 0", n)
	}
	if got := f.resp.Events.Len(); got != 400 {
		t.Errorf("%d events, want 400", got)
	}
}

// readNumber finds the numbers of reads in what show returns.
var readNumber = regexp.MustCompile(`(?m)^(\S+) #\d+`)

// FuzzFrame checks that the place of a cut between two reads changes nothing
// but times.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		"data: 1\r\n\r\ndata: [DONE]\n\n", bom + "event: error\n: x\n\n", "data: {\"a\":\"x\ny\"}\n\n",
		"{\"a\":1}\n{\"b\":2}\n", ":\r\rdata:{}", " {\"a\"}",
		"data: [\"a\"]\n\ndata: [\"b\"]\n\ndata: [\"c\"]\n\ndata: [\"\\\"\"]\r\n\r\ndata: [\"\"]\ndata\n\n",
		"[\"a\"]\n[\"b\"]\n[\"c\"]\n [\"d\"]\n[\"e\"]\r\n[\"f\"]",
	} {
		for kind := range uint8(5) {
			f.Add([]byte(seed), uint16(3), kind)
		}
	}
	types := []string{"text/event-stream", "application/x-ndjson", "application/json", "", "text/plain"}
	f.Fuzz(func(t *testing.T, body []byte, at uint16, kind uint8) {
		h := Head{Status: 200, ContentType: types[int(kind)%len(types)], Streaming: true}
		i := int(at) % (len(body) + 1)
		render := func(reads ...in) string {
			return readNumber.ReplaceAllString(show(cut(h, bench.EndEOF, reads...)), "$1")
		}
		single := make([]in, 0, len(body))
		for i := range body {
			single = append(single, in{1, string(body[i : i+1])})
		}
		whole := render(in{1, string(body)})
		if diff := cmp.Diff(whole, render(in{1, string(body[:i])}, in{1, string(body[i:])})); diff != "" {
			t.Errorf("cut at %d (-whole +cut):\n%s", i, diff)
		}
		if diff := cmp.Diff(whole, render(single...)); diff != "" {
			t.Errorf("byte by byte (-whole +bytes):\n%s", diff)
		}
	})
}

// BenchmarkFeed measures the cost of an event of some 240 bytes: alone in its
// read, and together with 63 others, each with another text.
func BenchmarkFeed(b *testing.B) {
	for _, events := range []int{1, 64} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) {
			reads := make([][]byte, 64)
			for i := range 64 * events {
				reads[i/events] = fmt.Appendf(reads[i/events], `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,`+
					`"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" %d"},"logprobs":null,"finish_reason":null}]}`+"\n\n", i)
			}
			var f Framer
			f.Reset(stream)
			b.ReportAllocs()
			b.SetBytes(int64(len(reads[0])))
			fed, i := 0, 0
			for b.Loop() {
				if fed += events; fed > 640 {
					f.Reset(stream)
					fed = events
				}
				f.Feed(time.Duration(fed), reads[i&63])
				i++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
		})
	}
}

// What comes under the label of an event stream and is none is taken for what it is.
func TestMislabelledBody(t *testing.T) {
	for _, tt := range []struct {
		name, body, want string
		streaming        bool
	}{
		{"an error", "\r\n" + `{"error":{"message":"no"}}`, "body 3ms \"{\\\"error\\\":{\\\"message\\\":\\\"no\\\"}}\"\nframing 1", true},
		{"a list", `[1]`, "body 3ms \"[1]\"\nframing 1", false},
		{"a page", "\xef\xbb\xbf<html><title>Bad Gateway</title>", "body 3ms \"<html><title>Bad Gateway</title>\"\nframing 5", true},
		{"lines", "{\"a\":1}\n{\"a\":2}\n", "3ms #3 \"{\\\"a\\\":1}\"\n3ms #3 \"{\\\"a\\\":2}\"\nbody 3ms \"\"\nframing 3", false},
		{"events", "\n:hi\ndata: 1\n\ndata: [DONE]\n\n", "3ms #3 \"1\"\nframing 2 done", true},
		{"an unknown field first", "x\ndata: 1\n\ndata: [DONE]\n\n", "3ms #3 \"1\"\nframing 2 done", true},
		{"nothing", " \n", "framing 2", true},
	} {
		h := stream
		h.Streaming = tt.streaming
		got := show(cut(h, bench.EndEOF, in{1 * ms, tt.body[:1]}, in{2 * ms, tt.body[1:2]}, in{3 * ms, tt.body[2:]}))
		got = strings.Replace(got, "\nbody 3ms \"\"", "", 1)
		if want := strings.Replace(tt.want, "\nbody 3ms \"\"", "", 1); got != want {
			t.Errorf("%s: %s, want %s", tt.name, got, want)
		}
	}
	got := cut(stream, bench.EndEOF, in{1 * ms, "{\"a\":1}\n"}, in{2 * ms, "{\"a\":"}, in{3 * ms, "2}\n"})
	if want := "1ms #1 \"{\\\"a\\\":1}\"\n3ms #3 \"{\\\"a\\\":2}\"\nframing 3"; show(got) != want {
		t.Errorf("lines in several reads: %s, want %s", show(got), want)
	}
}

// After many events without an end of the watch, it is called less often.
func TestWatchIsRare(t *testing.T) {
	var f Framer
	f.Reset(Head{Status: 200, ContentType: "text/event-stream", Streaming: true})
	defer f.Free()
	calls := 0
	f.Watch(func(*bench.Response) bool { calls++; return false })
	const events = 10_000
	for i := range events {
		f.Feed(time.Duration(i), []byte("data: x\n\n"))
	}
	// Each of the first 36, and then one for each growth by a quarter beyond 32.
	if calls < 36 || calls > 36+40 {
		t.Errorf("%d calls for %d events, want 36 to 76", calls, events)
	}
}

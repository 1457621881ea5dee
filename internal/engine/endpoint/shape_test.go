package endpoint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/openai"
	"aiperfd/internal/engine/eventlog"
	"aiperfd/internal/engine/transport/frame"
)

// decodePlain reads a stream with every event in full.
func decodePlain(g *answer.Grammar, resp *bench.Response) bench.Answer {
	full := *g
	full.Shapes = false
	return answer.Decode(&full)(resp, true)
}

// countingDialect counts the documents that are read in full.
type countingDialect struct {
	answer.Dialect

	n *int
}

func (d countingDialect) Document(doc *answer.Document) bool {
	*d.n++
	return d.Dialect.Document(doc)
}

// readsHoles reports whether any event of a stream is read only by its holes.
func readsHoles(g *answer.Grammar, resp *bench.Response) bool {
	count := func(shapes bool) (n int) {
		counting := *g
		counting.Shapes = shapes
		counting.Dialect = func(b *answer.Builder) answer.Dialect { return countingDialect{g.Dialect(b), &n} }
		answer.Decode(&counting)(resp, true)
		return n
	}
	return count(true) < count(false)
}

// checkShapes checks that a stream means the same whichever way it is read.
func checkShapes(t testing.TB, resp *bench.Response) {
	t.Helper()
	checkShapesOf(t, openai.Grammar(), resp)
}

func checkShapesOf(t testing.TB, g *answer.Grammar, resp *bench.Response) {
	t.Helper()
	if diff := cmp.Diff(decodePlain(g, resp), answer.Decode(g)(resp, true)); diff != "" {
		var b strings.Builder
		for e := range resp.Events.All() {
			fmt.Fprintf(&b, "%q\n", e.Data)
		}
		t.Fatalf("events\n%s(-each in full +by shape):\n%s", b.String(), diff)
	}
}

// many returns twelve events of one format, enough for shapes of many holes.
func many(format string, args ...func(i int) any) []string {
	var list []string
	for i := range 12 {
		values := make([]any, len(args))
		for k, arg := range args {
			values[k] = arg(i)
		}
		list = append(list, fmt.Sprintf(format, values...))
	}
	return list
}

func TestShapes(t *testing.T) {
	word := func(i int) any { return fmt.Sprintf("w%d", i) }
	number := func(i int) any { return 1700000000 + i }
	pair := func(i int) any { return i % 2 }
	const known, whole = true, false
	for _, tt := range []struct {
		name   string
		events []string
		want   bool // the last shape is read by its holes
	}{
		{"content", many(delta(`"content":"%s"`), word), known},
		{"reasoning", many(delta(`"content":null,"reasoning_content":"%s"`), word), known},
		{"reasoning in the other spelling", many(delta(`"reasoning":"%s","reasoning_content":""`), word), known},
		{"refusal", many(delta(`"refusal":"%s"`), word), known},
		{"text of completions", many(`{"id":"i","choices":[{"text":"%s","logprobs":null,"finish_reason":null}],"usage":null}`, word), known},
		{"a message that is sent in pieces", many(`{"choices":[{"message":{"content":"%s"}}]}`, word), known},
		{"arguments of a tool", many(delta(`"tool_calls":[{"index":1,"id":"c","type":"function","function":{"arguments":"%s"}}]`), word), known},
		{"a tool without index", many(delta(`"tool_calls":[{"function":{"arguments":"%s"}}]`), word), whole},
		{"a tool that says its name", many(delta(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"%s"}}]`), word), whole},
		{"names of tools", many(delta(`"tool_calls":[{"index":0,"function":{"name":"%s"}}]`), word), whole},
		{"two tools at once", many(delta(`"tool_calls":[{"index":0,"function":{"arguments":"%s"}},{"index":1}]`), word), whole},
		{"padding", many(`{"choices":[{"index":0,"delta":{"content":"%s"}}],"obfuscation":"%s"}`, word, word), known},
		{"padding with escapes", many(`{"choices":[{"index":0,"delta":{"content":"%s"}}],"obfuscation":"\\%s"}`, word, word), whole},
		{"times and numbers", many(`{"created":%d,"choices":[{"index":0,"delta":{"content":"%s"}}],"sequence":%d}`, number, word, number), known},
		{"index as a hole", many(`{"choices":[{"index":%d,"delta":{"content":"%s"}}]}`, pair, word), known},
		{"the same text again and again", many(delta(`"content":"x"`)), known},
		{"events that say nothing", many(`{"type":"ping"}`), known},
		{"choices that say nothing", many(delta(``)), known},
		{"ids before one is known", many(`{"id":"%s","choices":[{"text":"x"}]}`, word), known},
		{"models before one is known", many(`{"model":{"a":"%s"},"choices":[{"text":"x"}]}`, word), known},
		{"usage in every chunk", many(`{"choices":[{"text":"%s"}],"usage":{"completion_tokens":%d}}`, word, number), whole},
		{"usage that stays", many(`{"choices":[{"text":"%s"}],"usage":{"completion_tokens":3}}`, word), whole},
		{"finish reasons", many(`{"choices":[{"text":"x","finish_reason":"%s"}]}`, word), whole},
		{"a finish reason that stays", many(`{"choices":[{"text":"%s","finish_reason":"stop"}]}`, word), whole},
		{"log-probabilities", many(`{"choices":[{"text":"%s","logprobs":{"tokens":["x"]}}]}`, word), whole},
		{"token ids", many(`{"choices":[{"text":"%s","token_ids":[1]}]}`, word), whole},
		{"two choices in a chunk", many(`{"choices":[{"index":0,"text":"%s"},{"index":1,"text":"%s"}]}`, word, word), whole},
		{"content and text", many(`{"choices":[{"delta":{"content":"%s"},"text":"%s"}]}`, word, word), whole},
		{"content beside a text", many(`{"choices":[{"delta":{"content":"%s"},"text":"t"}]}`, word), known},
		{"text behind a content", many(`{"choices":[{"delta":{"content":"c"},"text":"%s"}]}`, word), whole},
		{"one spelling behind the other", many(delta(`"reasoning":"%s","reasoning_content":"x"`), word), whole},
		{"member twice", many(delta(`"content":"%s","content":"y"`), word), whole},
		{"member twice, the last counts", many(delta(`"content":"y","content":"%s"`), word), known},
		{"typed parts", many(delta(`"content":[{"type":"text","text":"%s"}]`), word), whole},
		{"token ids without text", many(`{"choices":[{"token_ids":[1],"x":"%s"}]}`, word), whole},
		{"usage that does not count output", many(`{"choices":[{"text":"%s"}],"usage":{"prompt_tokens":3}}`, word), whole},
		{"what looks like a mark", many(`{"choices":[{"text":"%s"}],"x":"`+"\u2402hole 0\u2403"+`"}`, word), whole},
		{"audio", many(delta(`"audio":{"transcript":"%s"}`), word), whole},
		{"not finite", many(`{"choices":[{"text":"%s","logprobs":NaN}]}`, word), whole},
		{"no UTF-8", many(`{"x":"`+"\xff"+`","choices":[{"text":"%s"}]}`, word), whole},
		{"a type", many(`{"type":"%s","choices":[{"text":"x"}]}`, word), whole},
		{"lists", many(`["%s"]`, word), whole},
		{"scalars", many(`"%s"`, word), whole},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp := sse(append(tt.events, stop, "[DONE]")...)
			checkShapes(t, resp)
			last := eventlog.NoTemplate
			for c := resp.Events.Cursor(); c.Next(); {
				last = max(last, c.Template)
			}
			if last == eventlog.NoTemplate {
				t.Fatal("no two events have a shape")
			}
			if got := readsHoles(openai.Grammar(), resp); got != tt.want {
				t.Errorf("read by its holes: %v, want %v", got, tt.want)
			}
		})
	}
}

// TestShapeMixed checks events that mean something else after other events.
func TestShapeMixed(t *testing.T) {
	text := func(s string) string { return delta(`"content":"` + s + `"`) }
	beside := func(s string) string { return `{"choices":[{"delta":{"content":"` + s + `"},"text":"t"}]}` }
	named := func(id string) string { return `{"id":"` + id + `","choices":[{"text":"x"}]}` }
	prompt := func(s, n string) string {
		return `{"choices":[{"text":"` + s + `"}],"usage":{"prompt_tokens":` + n + `}}`
	}
	call := func(i int) any { return i % 2 }
	word := func(i int) any { return fmt.Sprintf("w%d", i) }
	for _, tt := range []struct {
		name   string
		events []string
	}{
		{"an empty text gives way to another", []string{beside("a"), beside("b"), beside("c"), beside(""), beside("d")}},
		{"the first id is found late", []string{named(`\q`), named(""), named("x"), named("y")}},
		{"tokens that came before", []string{text("a"), text("b"), text("c"), `{"choices":[],"usage":{"completion_tokens":5}}`, text("d"), text("e")}},
		{"token ids that came before", append(many(`{"choices":[{"token_ids":[1],"x":"%s"}]}`, word), text("a"))},
		{"the last usage counts", []string{prompt("a", "1"), prompt("b", "1"), prompt("c", "1"), prompt("d", "2"), prompt("e", "1")}},
		{"calls with an id in several choices", append(
			[]string{text("a"), `{"choices":[{"index":1,"text":"a"}]}`, `{"choices":[{"text":"a","index":2}]}`, `{"choices":[]}`, `{}`, `{"a":[]}`, `{"b":[]}`, `{"c":[]}`, `{"d":[]}`},
			many(`{"choices":[{"index":%d,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"arguments":"%s"}}]}}]}`, func(i int) any { return i % 3 }, word)...)},
		{"a choice that is new", append(many(`{"choices":[{"index":%d,"text":"%s"}]}`, call, word), `{"choices":[{"index":7,"text":"x"}]}`, `{"choices":[{"index":7,"text":"y"}]}`, `{"choices":[{"index":99999,"text":"y"}]}`)},
		{"too many values", []string{text("a"), text("b"), text("c"), text(strings.Repeat(",", mostValues+1)), text("d")}},
		{"an end in the middle", []string{text("a"), text("b"), text("c"), `{"error":{"message":"m"}}`, text("d")}},
	} {
		t.Run(tt.name, func(t *testing.T) { checkShapes(t, sse(append(tt.events, stop, "[DONE]")...)) })
	}
}

// genStream draws a stream of a few kinds of events in any order, some of them
// damaged.
func genStream(t *rapid.T) *bench.Response {
	formats := []string{
		delta(`"content":"%s"`), delta(`"reasoning_content":"%s","content":null`), delta(`"reasoning":"%s","reasoning_content":"%s"`),
		delta(`"role":"assistant","content":"%s"`), delta(`"tool_calls":[{"index":%d,"function":{"arguments":"%s"}}]`),
		delta(`"tool_calls":[{"index":0,"id":"%s","function":{"name":"f","arguments":""}}]`), delta(`"refusal":"%s","content":"x"`),
		`{"id":"%s","created":%d,"choices":[{"index":%d,"delta":{"content":"%s"},"finish_reason":null}],"obfuscation":"%s"}`,
		`{"choices":[{"text":"%s","index":%d}],"usage":{"completion_tokens":%d}}`, `{"model":"%s","choices":[],"usage":null}`,
		`{"choices":[{"index":%d,"text":"%s","delta":{"content":"%s"}}]}`, `{"object":"%s","choices":[{"message":{"content":"%s"}}]}`,
		`{"choices":[{"text":"%s","logprobs":{"tokens":["%s"]}}]}`, `{"error":"%s"}`, `{"choices":[{"delta":{"content":"x"},"finish_reason":"%s"}]}`,
	}
	text := rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", " token", `\n`, `\"`, `\\`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, "é", "\xff", "\xe2\x82", `\q`, "stop", "error"}),
		rapid.String(),
	)
	used := rapid.SliceOfNDistinct(rapid.SampledFrom(formats), 1, 4, rapid.ID[string]).Draw(t, "formats")
	var events []string
	for range rapid.IntRange(1, 40).Draw(t, "events") {
		var b strings.Builder
		rest := rapid.SampledFrom(used).Draw(t, "format")
		for rest != "" {
			head, tail, found := strings.Cut(rest, "%")
			b.WriteString(head)
			if !found {
				break
			}
			if tail[0] == 's' {
				b.WriteString(text.Draw(t, "text"))
			} else {
				fmt.Fprint(&b, rapid.SampledFrom([]string{"0", "1", "2", "-1", "1.5", "1e2", "01", "99999999999"}).Draw(t, "number"))
			}
			rest = tail[1:]
		}
		event := b.String()
		if rapid.IntRange(0, 30).Draw(t, "damage") == 0 {
			cut := rapid.IntRange(0, len(event)-1).Draw(t, "cut")
			event = event[:cut] + rapid.SampledFrom([]string{"", " ", `"`, "1", "}"}).Draw(t, "instead") + event[cut+1:]
		}
		events = append(events, event)
	}
	return sse(append(events, stop, "[DONE]")...)
}

func TestShapesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		resp := genStream(t)
		if diff := cmp.Diff(decodePlain(openai.Grammar(), resp), answer.Decode(openai.Grammar())(resp, true)); diff != "" {
			t.Fatalf("(-each in full +by shape):\n%s", diff)
		}
	})
}

// FuzzStream feeds a body in two reads through the framer into the codec: it must
// not panic, and have the same result as when every event is read in full.
func FuzzStream(f *testing.F) {
	line := func(events []string) string {
		return "data: " + strings.Join(append(events, stop, "[DONE]"), "\n\ndata: ") + "\n\n"
	}
	word := func(i int) any { return fmt.Sprintf("w%d", i) }
	number := func(i int) any { return i % 3 }
	f.Add([]byte(line(many(delta(`"content":"%s"`), word))), uint16(100), false)
	f.Add([]byte(line(many(`{"id":"%s","choices":[{"index":%d,"text":"\n%s"}],"padding":"%s"}`, word, number, word, word))), uint16(100), false)
	f.Add([]byte(line(many(delta(`"tool_calls":[{"index":%d,"function":{"arguments":"%s"}}]`), number, word))), uint16(100), false)
	f.Add([]byte(line(many(`{"choices":[{"delta":{"reasoning":"%s"}}],"usage":{"completion_tokens":%d}}`, word, number))), uint16(100), false)
	f.Add([]byte(strings.Join(many(delta(`"content":"%s"`), word), "\n")), uint16(50), true)
	f.Fuzz(func(t *testing.T, body []byte, at uint16, lines bool) {
		head := frame.Head{Status: 200, ContentType: "text/event-stream", Streaming: true}
		if lines {
			head.ContentType = "application/x-ndjson"
		}
		var framer frame.Framer
		framer.Reset(head)
		i := int(at) % (len(body) + 1)
		framer.Feed(1, body[:i])
		framer.Feed(2, body[i:])
		framer.Finish(3, bench.EndEOF)
		checkShapes(t, framer.Response())
	})
}

// Tokens returns a stream of n tokens as OpenAI's servers write it.
func tokens(n int, padded bool) *bench.Response {
	const head = `{"id":"chatcmpl-123456","object":"chat.completion.chunk","created":1700000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":`
	events := []string{head + `[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`}
	for i := range n {
		text, tail := fmt.Sprintf(" tok%d", i), "}"
		if i%10 == 0 {
			text = `.\n\n`
		}
		if padded {
			tail = fmt.Sprintf(`,"obfuscation":"%x"}`, i*i)
		}
		events = append(events, head+`[{"index":0,"delta":{"content":"`+text+`"},"logprobs":null,"finish_reason":null}]`+tail)
	}
	events = append(events, head+`[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		head+`[],"usage":{"prompt_tokens":10,"completion_tokens":64,"total_tokens":74}}`, "[DONE]")
	return sse(events...)
}

// TestDecodeAllocations checks that the number of events does not matter to the
// number of allocations.
func TestDecodeAllocations(t *testing.T) {
	count := func(events int) float64 {
		resp, decode := tokens(events, true), answer.Decode(openai.Grammar())
		return testing.AllocsPerRun(20, func() { decode(resp, true) })
	}
	few, more := count(100), count(2000)
	if more > few+200 { // buffers that grow, and pools that the collector empties
		t.Errorf("%v allocations for 100 events, %v for 2,000", few, more)
	}
}

// BenchmarkDecodeChat measures the decoding of a stream of 600 tokens.
func BenchmarkDecodeChat(b *testing.B) {
	for name, padded := range map[string]bool{"plain": false, "padded": true} {
		b.Run(name, func(b *testing.B) {
			resp, decode := tokens(600, padded), answer.Decode(openai.Grammar())
			b.ReportAllocs()
			for b.Loop() {
				if a := decode(resp, true); len(a.Chunks) != 600 {
					b.Fatalf("%d chunks", len(a.Chunks))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*resp.Events.Len()), "ns/event")
		})
	}
}

// TestShapeUnusualText has texts that cannot be copied as they are.
func TestShapeUnusualText(t *testing.T) {
	for _, inside := range []string{
		`\`, `\x`, `\u12`, `\u12g4`, `\ud83d`, `\ud83dx`, `\ud83d\n`, `\ude00\ud83d`, "\xff", "\xff\\n", "a\\n\xe2\x82", "", "é", `\u0041`, "c d",
	} {
		checkShapes(t, sse(delta(`"content":"a"`), delta(`"content":"b"`), delta(`"content":"`+inside+`"`), delta(`"content":"z"`), stop, "[DONE]"))
	}
	checkShapes(t, sse(delta(`"content":"a"`), delta(`"content":"b"`), delta(`"content":"`+strings.Repeat("x,", bigBody)+`"`), stop, "[DONE]"))
}

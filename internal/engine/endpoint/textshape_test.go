package endpoint

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/anthropic"
	"aiperfd/internal/engine/endpoint/openai"
)

// TestShapesOfTextAPIs: deltas of the newer APIs are read by their holes, and mean
// the same.
func TestShapesOfTextAPIs(t *testing.T) {
	word := func(i int) any { return fmt.Sprintf("w%d", i) }
	number := func(i int) any { return 7 + i }
	const place = `"item_id":"i","output_index":0,"content_index":0`
	const known, whole = true, false
	for _, tt := range []struct {
		name   string
		g      *answer.Grammar
		events []string
		want   bool // the last shape is read by its holes
	}{
		{"text", openai.ResponsesGrammar(), many(ev("output_text.delta", `"sequence_number":%d,`+place+`,"delta":"%s","logprobs":[]`), number, word), known},
		{"text that may be empty at first", openai.ResponsesGrammar(), append([]string{ev("output_text.delta", place+`,"delta":""`)}, many(ev("output_text.delta", place+`,"delta":"%s"`), word)...), known},
		{"padding", openai.ResponsesGrammar(), many(ev("output_text.delta", place+`,"delta":"%s","obfuscation":"%s"`), word, word), known},
		{"reasoning", openai.ResponsesGrammar(), many(ev("reasoning_text.delta", place+`,"delta":"%s"`), word), known},
		{"refusal", openai.ResponsesGrammar(), many(ev("refusal.delta", place+`,"delta":"%s"`), word), known},
		{"arguments", openai.ResponsesGrammar(), many(ev("function_call_arguments.delta", place+`,"delta":"%s"`), word), whole},
		{"log-probabilities", openai.ResponsesGrammar(), many(ev("output_text.delta", place+`,"delta":"%s","logprobs":[{}]`), word), whole},
		{"items", openai.ResponsesGrammar(), many(ev("output_text.delta", `"item_id":"%s","delta":"%s"`), word, word), whole},
		{"what nobody looks at", openai.ResponsesGrammar(), many(ev("x.searching", `"query":"%s"`), word), whole},
		{"the text of messages", anthropic.Grammar(), many(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}`, word), known},
		{"thoughts", anthropic.Grammar(), many(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"%s"}}`, word), known},
		{"arguments of messages", anthropic.Grammar(), many(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"%s"}}`, word), whole},
		{"blocks", anthropic.Grammar(), many(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":"%s"}}`, number, word), whole},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tail := []string{ev("output_text.done", place+`,"text":"all"`), completed}
			if strings.Contains(tt.events[0], "content_block") {
				tail = []string{blockStop(0), messageStop}
			}
			resp := sse(append(tt.events, tail...)...)
			checkShapesOf(t, tt.g, resp)
			got := readsHoles(tt.g, resp)
			if got != tt.want {
				t.Errorf("read by holes: %t, want %t", got, tt.want)
			}
		})
	}
}

// TestTextShapesAtRandom draws streams of a few kinds of events with few texts, so
// that shapes repeat, and reads them both ways.
func TestTextShapesAtRandom(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "a", "bc", `\n`, "é", "\\ud83d\\ude00"})
	place := rapid.SampledFrom([]string{`"output_index":0`, `"output_index":1,"item_id":"i"`, `"item_id":"i"`, `"output_index":0,"content_index":1`})
	event := rapid.Custom(func(t *rapid.T) string {
		kind := rapid.SampledFrom([]string{
			"output_text.delta", "output_text.delta", "output_text.delta", "reasoning_text.delta", "reasoning_summary_text.delta", "refusal.delta", "function_call_arguments.delta",
		}).Draw(t, "kind")
		member := "delta"
		if rapid.IntRange(0, 9).Draw(t, "done") == 0 {
			kind, member = strings.TrimSuffix(kind, "delta")+"done", rapid.SampledFrom([]string{"text", "refusal", "arguments"}).Draw(t, "member")
		}
		return ev(kind, fmt.Sprintf(`"sequence_number":%d,%s,"%s":"%s"`, rapid.IntRange(0, 99).Draw(t, "number"), place.Draw(t, "place"), member, text.Draw(t, "text")))
	})
	block := rapid.Custom(func(t *rapid.T) string {
		i := rapid.IntRange(0, 2).Draw(t, "index")
		return rapid.SampledFrom([]string{
			fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":"%s"}}`, i, text.Draw(t, "text")),
			fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"thinking_delta","thinking":"%s"}}`, i, text.Draw(t, "text")),
			fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":"%s"}}`, i, text.Draw(t, "text")),
			blockStart(i, `"type":"tool_use","name":"f"`), blockStop(i), messageDelta("", ""),
		}).Draw(t, "event")
	})
	rapid.Check(t, func(t *rapid.T) {
		checkShapesIn(t, openai.ResponsesGrammar(), append(rapid.SliceOfN(event, 0, 60).Draw(t, "events"), completed))
		checkShapesIn(t, anthropic.Grammar(), append(rapid.SliceOfN(block, 0, 60).Draw(t, "blocks"), messageStop))
	})
}

// checkShapesIn is checkShapesOf for a drawn stream.
func checkShapesIn(t *rapid.T, g *answer.Grammar, events []string) {
	t.Helper()
	plain, byShape := show(decodePlain(g, sse(events...))), show(answer.Decode(g)(sse(events...), true))
	if plain != byShape {
		t.Fatalf("%s\nin full:  %s\nby shape: %s", strings.Join(events, "\n"), plain, byShape)
	}
}

// BenchmarkDecodeResponses reads 500 deltas, by their shape and in full.
func BenchmarkDecodeResponses(b *testing.B) {
	var events []string
	for i := range 500 {
		events = append(events, ev("output_text.delta", fmt.Sprintf(`"sequence_number":%d,"item_id":"msg_6e789e6aa1b965f4beeb8da1658eec67","output_index":1,"content_index":0,"delta":" word%d","logprobs":[]`, i, i)))
	}
	resp := sse(append(events, completed)...)
	full := openai.ResponsesGrammar()
	full.Shapes = false
	for name, g := range map[string]*answer.Grammar{"shape": openai.ResponsesGrammar(), "full": full} {
		decode := answer.Decode(g)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var a bench.Answer
			for b.Loop() {
				a = decode(resp, true)
			}
			if len(a.Chunks) != 500 {
				b.Fatalf("%d chunks", len(a.Chunks))
			}
		})
	}
}

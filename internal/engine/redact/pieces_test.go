package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"aiperfd/internal/engine/redact"
)

// chunk is an event of a stream as servers of the OpenAI API send it.
func chunk(index int, text string) string {
	return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":%d,"delta":{"content":%s},"finish_reason":null}]}`, index, quoted(text))
}

func quoted(text string) string {
	b, _ := json.Marshal(text) //nolint:errchkjson // a text encodes
	return string(b)
}

// TestPieces sends a secret in pieces of every size, in every shape of events.
func TestPieces(t *testing.T) {
	const secret = `x"<s3cret&>/+\é41 value'x`
	set := redact.NewSet("Bearer " + secret)
	for name, event := range map[string]func(i int, text string) string{
		"chat": func(_ int, text string) string { return chunk(0, text) },
		"counted": func(i int, text string) string {
			return fmt.Sprintf(`{"index":%d,"token":{"id":7,"text":%s}}`, i, quoted(text))
		},
		"second item": func(_ int, text string) string { return `{"choices":["a",{"x":{"y":"z"}},` + quoted(text) + `]}` },
		"line":        func(_ int, text string) string { return "data: " + chunk(0, text) },
		"text":        func(_ int, text string) string { return text },
		"broken":      func(_ int, text string) string { return `{"a":[` + quoted(text) },
	} {
		for _, e := range []encoder{{"plain", func(s string) string { return s }}, {"base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }}, {"json", jsonText}} {
			runes := []rune("before " + e.encode(secret) + " behind")
			for size := 1; size < len(runes); size++ {
				var events []string
				for piece := range slices.Chunk(runes, size) {
					events = append(events, event(len(events), string(piece)))
				}
				before := slices.Clone(events)
				set.Pieces(events)
				text := strings.Join(events, "")
				if !strings.Contains(text, redact.Placeholder) || !strings.Contains(contents(events), "before") && size > 7 {
					t.Errorf("%s, %s, size %d: %q", name, e.name, size, events)
				}
				for i, e := range events {
					if name != "text" && !json.Valid([]byte(e)) && json.Valid([]byte(before[i])) {
						t.Errorf("%s: %s became %s", name, before[i], e)
					}
				}
				if readable(contents(events), "s3cret") || readable(contents(events), "value") {
					t.Errorf("%s, %s, size %d: %q", name, e.name, size, events)
				}
				again := slices.Clone(events)
				if set.Pieces(again); !slices.Equal(again, events) {
					t.Errorf("%s, %s, size %d: not idempotent:\n%q\n%q", name, e.name, size, events, again)
				}
			}
		}
	}
}

// contents joins the strings that events have in one place.
func contents(events []string) string {
	var out strings.Builder
	for _, e := range events {
		var all []string
		for i, part := range strings.Split(e, `"`) {
			if i%2 == 1 && part != "content" && part != "text" {
				all = append(all, part)
			}
		}
		switch {
		case strings.Contains(e, "choices\":[{"):
			for i, part := range all {
				if part == "delta" {
					out.WriteString(all[i+1])
				}
			}
		case len(all) == 0:
			out.WriteString(e)
		default:
			out.WriteString(all[len(all)-1])
		}
	}
	return out.String()
}

// TestPiecesInTurns sends two texts in turns.
func TestPiecesInTurns(t *testing.T) {
	set := redact.NewSet("secret-value")
	events := []string{
		chunk(0, "a sec"), chunk(1, "plain "), chunk(0, "ret-"), chunk(1, "sec"), chunk(0, "val"), chunk(1, "ret-text"), chunk(0, "ue b"),
	}
	want := []string{
		chunk(0, "a <redacted>"), chunk(1, "plain "), chunk(0, "<redacted>"), chunk(1, "sec"), chunk(0, "<redacted>"), chunk(1, "ret-text"), chunk(0, "<redacted> b"),
	}
	for i := range want {
		want[i] = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(want[i])
	}
	if set.Pieces(events); !slices.Equal(events, want) {
		t.Errorf("events:\n got %q\nwant %q", events, want)
	}
	kept := slices.Clone(want)
	redact.NewSet("other-secret").Pieces(kept)
	redact.NewSet().Pieces(kept)
	if !slices.Equal(kept, want) {
		t.Errorf("events without secrets became %q", kept)
	}
}

func FuzzPieces(f *testing.F) {
	f.Add("secret-value", chunk(0, "a sec")+"\x00"+chunk(0, "ret-value"))
	f.Add("secret-value", "{\"a\"\x00[[,\"\\\x00}]:data: sec\x00ret-value")
	f.Fuzz(func(t *testing.T, secret, text string) {
		events := strings.Split(text, "\x00")
		before := slices.Clone(events)
		redact.NewSet(secret).Pieces(events)
		for i := range events {
			if json.Valid([]byte(before[i])) && !json.Valid([]byte(events[i])) && !strings.ContainsAny(secret, `"{}[]:,`) {
				t.Errorf("secret %q: %q became %q", secret, before[i], events[i])
			}
		}
	})
}

func BenchmarkPieces(b *testing.B) {
	set := redact.NewSet("Bearer sk-0123456789abcdefghijklmnopqrstuvwxyz")
	events, size := make([]string, 500), 0
	words := strings.Fields("the quick brown fox jumps over lazy dogs and runs away from it")
	for i := range events {
		events[i] = chunk(0, " "+words[i*7%len(words)])
		size += len(events[i])
	}
	b.Run("together", func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			set.Pieces(events)
		}
	})
	b.Run("each", func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			for _, e := range events {
				set.Exact(e)
			}
		}
	})
}

// TestLines has secrets over the lines of a text, with a part that counts by itself on one
// of them, and in the events of a stream that was not declared.
func TestLines(t *testing.T) {
	set := redact.NewSet("sk-live-Qx8ZkT2mNv5w")
	for _, tc := range []struct{ name, in, want string }{
		{"broken", "{\"key\":\"sk-live-\nQx8ZkT2mNv5w\"}", `{"key":"R"}`},
		{"broken twice", "refused {\"key\":\"sk-\nlive\n-Qx8ZkT2mNv5w", `refused {"key":"R`},
		{"events", `data: {"t":"sk-live-Qx8Zk"}` + "\n\n" + `data: {"t":"T2mNv5w"}` + "\n", `data: {"t":"R"}` + "\n\n" + `data: {"t":"R"}` + "\n"},
		{"a part of it in events", `data: {"t":"live-Qx8"}` + "\n\n" + `data: {"t":"ZkT2mNv5w"}` + "\n", `data: {"t":"R"}` + "\n\n" + `data: {"t":"R"}` + "\n"},
		{"none", "sk-live\nQx8Z\n", "sk-live\nQx8Z\n"},
	} {
		if got, want := set.Lines(tc.in), strings.ReplaceAll(tc.want, "R", redact.Placeholder); got != want {
			t.Errorf("%s: Lines(%q)\n got %q\nwant %q", tc.name, tc.in, got, want)
		}
	}
}

package view

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"a b c", 10, "a b c"},
		{"aaa bbb ccc", 7, "aaa bbb\nccc"},
		{"aaaaaaaaaa bb", 4, "aaaa\naaaa\naa\nbb"},
		{"one\ntwo", 10, "one\ntwo"},
		{"", 10, ""},
		{"日本語", 4, "日本\n語"},
		{"日本", 1, "日本"},
		{"a bbbbbb c", 4, "a\nbbbb\nbb c"},
		{"TTFT 87.1/95.3 ms, then 12 s", 15, "TTFT\n87.1/95.3 ms,\nthen 12 s"},
		{"a 1234 ms b", 5, "a\n1234\nms b"},
	} {
		if got := Wrap(c.text, c.width); got != c.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// The line of live numbers of a log at 80 columns: a number stays with its unit.
func TestHangUnits(t *testing.T) {
	const line = "18:57:25.000 INF [realtime 00:10] 24.9 req/s  1,196 tok/s  TTFT 61.2/95.3 ms  ITL 12.0/13.1 ms"
	const want = "18:57:25.000 INF [realtime 00:10] 24.9 req/s  1,196 tok/s  TTFT\n    61.2/95.3 ms  ITL 12.0/13.1 ms"
	if got := Hang(strings.Split(line, " "), 74, "\n    "); got != want {
		t.Errorf("the line is\n%s\nwant\n%s", got, want)
	}
}

// A word of two million bytes is wrapped in the time that reading it takes, not
// in its square.
func TestWrapLongWord(t *testing.T) {
	const size = 2 << 20
	got := Wrap(strings.Repeat("x", size), 128)
	if lines := strings.Count(got, "\n") + 1; lines != size/128 {
		t.Errorf("%d lines, want %d", lines, size/128)
	}
}

func TestCompact(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.012345: "0.012", 1.005: "1", 5: "5", 38.94: "38.9", 647.4: "647", 999.9: "1,000", 999.4: "999",
		1454.2: "1,454", 1234567: "1,234,567", -0.5: "-0.5", -12345: "-12,345",
	} {
		if got := Compact(&v); got != want {
			t.Errorf("Compact(%v) = %s, want %s", v, got, want)
		}
	}
	if got := Compact(nil); got != Absent {
		t.Errorf("Compact(nil) = %s", got)
	}
}

func TestEscapeMarkdown(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "qwen-7b, 30 req/s (p99 = 1.5)", "qwen-7b, 30 req/s (p99 = 1.5)"},
		{"end of a cell", "a | b\nc\r\n|", `a \| b c  \|`},
		{"HTML", `<img src=x onerror="alert(1)"> &amp;`, `&lt;img src=x onerror="alert(1)"&gt; &amp;amp;`},
		{"emphasis and code", "*a* _b_ `c` ~d~ ![e](f) \\", "\\*a\\* \\_b\\_ \\`c\\` \\~d\\~ \\!\\[e\\](f) \\\\"},
		{"mention", "@everyone a@b", "@\u200beveryone a@\u200bb"},
		{"reference", "see #12", "see \\#\u200b12"},
		{"link", "https://evil.example/x", "https:\u200b//evil.example/x"},
		{"direction of writing", "a\u202eb\x1b[31mc", `ab\[31mc`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := EscapeMarkdown(tt.in); got != tt.want {
				t.Errorf("EscapeMarkdown(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

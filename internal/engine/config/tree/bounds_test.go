package tree

import (
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// fill repeats a text up to 1 MiB.
func fill(s string) string { return strings.Repeat(s, (1<<20)/len(s)) }

// Small documents whose parse would take gigabytes or minutes are refused.
func TestBounds(t *testing.T) {
	var fields, deep strings.Builder
	for i := range 80_000 {
		fields.WriteString(`"k` + strconv.Itoa(i) + `": 1,`)
	}
	long := strings.Repeat("x", 8000)
	for range 60 {
		deep.WriteString(`{"` + long + `":`)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"flow keys without values", "{" + fill("a,"), ""},
		{"brackets", fill("["), "signs of YAML"},
		{"list in flow style", "[" + fill("1,") + "]", "signs of YAML"},
		{"percent signs", fill("%"), "signs of YAML"},
		{"quotes", fill(`"`), "signs of YAML"},
		{"tags", fill("!!a "), "signs of YAML"},
		{"anchors", "[" + fill("&a x,") + "]", "signs of YAML"},
		{"comments", fill("#\n"), "signs of YAML"},
		{"bullets", fill("- 1\n"), "signs of YAML"},
		{"objects in flow style", "[" + fill("{a: 1},") + "]", "signs of YAML"},
		{"JSON values", `{"a":[` + fill("1,") + "1]}", "more than"},
		{"JSON brackets", `{"a":` + fill("["), ""},
		{"JSON members", "{" + fields.String() + `"k":1}`, ""},
		{"a long name around many values", `{"` + strings.Repeat("x", 500_000) + `":[` + strings.Repeat("1,", 90_000) + "1]}", "names of members are too long"},
		{"long names around each other", deep.String() + "[" + strings.Repeat("1,", 90_000) + "1]" + strings.Repeat("}", 60), "names of members are too long"},
		{"merged objects", "a: &a {" + strings.Repeat("k: 1,", 9_000) + "}\nb: {<<: {" + strings.ReplaceAll(fields.String()[:300_000], `"`, "") + "x: 1}}", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, format := range []Format{Auto, YAML} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, _, err := Parse([]byte(tt.text), format, MaxValues)
				runtime.ReadMemStats(&after)
				if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 300 {
					t.Errorf("format %q: %d MiB were allocated", format, made)
				}
				var malformed *Malformed
				if tt.want != "" && (!errors.As(err, &malformed) || !strings.Contains(malformed.Detail, tt.want) && !strings.HasPrefix(tt.text, "{")) {
					t.Errorf("format %q: %v, want an error with %q", format, err, tt.want)
				}
			}
		})
	}
}

// What people write is not refused: a document of 1 MiB whose prompts are prose or code.
func TestLargeDocuments(t *testing.T) {
	prose := strings.Repeat("  The quick brown fox, who was quick, jumped: over the lazy dog's \"back\" - twice.\n", 10_000)
	for _, text := range []string{
		"prompt: |\n" + prose,
		`{"records":[` + strings.Repeat(`{"text":"a, b: c - d"},`, 30_000) + `{"text":"x"}]}`,
	} {
		if _, _, err := Parse([]byte(text), YAML, MaxValues); err != nil {
			t.Errorf("%.30q, %d bytes: %v", text, len(text), err)
		}
	}
}

package jinja

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

// render returns the output of a template for some texts.
func render(source string, o Options) (string, error) {
	t, err := Parse(source, o)
	if err != nil {
		return "", err
	}
	texts := []any{"one", "two", "three"}
	out, err := t.Render(map[string]any{
		"text": "a & b", "texts": texts, "n": 3,
		"messages": []any{
			map[string]any{"role": "system", "content": " be brief "},
			map[string]any{"role": "user", "content": "hi"},
		},
	})
	return string(out), err
}

func TestRender(t *testing.T) {
	chat := Options{Functions: true, Lenient: true, TrimBlocks: true}
	for _, tt := range []struct {
		name, source, want string
		options            Options
	}{
		{"a variable", `{{ text }}`, "a & b", Options{}},
		{"operators", `{{ 2 * 3 + 4 }} {{ 7 % 4 }} {{ "ab" * 2 ~ n }} {{ 2 * 1.5 }} {{ texts + ["x"] }}`, "10 3 abab3 3.0 ['one', 'two', 'three', 'x']", Options{}},
		{"comparisons", `{{ n > 2 and "one" in texts and text == "a & b" }}`, "True", Options{}},
		{"filters", `{{ texts|join(", ")|upper }} {{ text|replace("a", "c")|length }} {{ text|indent(2) }}`, "ONE, TWO, THREE 5 a & b", Options{}},
		{"map and select", `{{ texts|map("upper")|select("in", ["ONE"])|list|join }}`, "ONE", Options{}},
		{"loops", `{% for t in texts if t != "two" %}{{ loop.index }}{{ t[0] }}{{ t[1:] }};{% else %}none{% endfor %}`, "1one;2three;", Options{}},
		{"break", `{% for t in texts %}{% if loop.index > 1 %}{% break %}{% endif %}{{ t }}{% endfor %}`, "one", Options{}},
		{"set, with, filter", `{% set a = "x" ~ n %}{% with b = a * 2 %}{% filter upper %}{{ b }}{% endfilter %}{% endwith %}`, "X3X3", Options{}},
		{"methods", `{{ " x ".strip().upper() }}{{ "a,b".split(",")[1] }}{{ "-".join(texts) }}{{ text.replace("a", "z") }}`, "Xbone-two-threez & b", Options{}},
		{"methods of expressions", `{{ ("a" ~ n).upper() }}{{ (text|trim).split()[0] }}{{ (text.split("&")|last).lstrip().upper() }}{{ (text).title() }}{{ " c  d ".rsplit()[1] }}{{ "\n e\t".strip() }}{{ "\nf ".lstrip() }}{{ " g\n".rstrip() }}{{ "xhy".strip("xy") }}`, "A3aBA & Bdef  gh", Options{}},
		{"namespace and append", `{% set ns = namespace(n=0, l=[]) %}{% for t in texts %}{% set ns.n = ns.n + 1 %}{% set ns.l = ns.l + [t] %}{% endfor %}{{ ns.n }}{{ ns.l|length }}`, "33", chat},
		{"range", `{% for i in range(3) %}{{ i }}{% endfor %}{{ range(1, 4)|join }}`, "012123", chat},
		{"macros", `{% macro m(x, y=2) %}{{ x * y }}{% endmacro %}{{ m(4) }} {{ m(1, y=5) }}`, "8 5", chat},
		{"a chat", "{% for m in messages %}\n<|{{ m['role'] }}|>{{ m.content | trim }}\n{% endfor %}\n{% if add %}x{% endif %}", "<|system|>be brief\n<|user|>hi\n", chat},
		{"reversed", `{{ messages[::-1][0]['role'] }}{{ messages[-1].role }}`, "useruser", chat},
		{"tests", `{{ x is defined }}{{ text is string }}{{ n is odd }}{{ n is eq 3 }}`, "FalseTrueTrueTrue", chat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := render(tt.source, tt.options)
			if err != nil || got != tt.want {
				t.Errorf("%s = %q, %v; want %q", tt.source, got, err, tt.want)
			}
		})
	}
}

func TestFaultsSayWhatIsWrong(t *testing.T) {
	for source, want := range map[string]string{
		`{{ nobody }}`:      `Unable to evaluate name "nobody"`,
		`{{ 1 % 0 }}`:       "divide by zero",
		`{% include "x" %}`: "include",
		`{% for x in texts recursive %}{{ loop(texts) }}{% endfor %}`: "recursive",
		`{{ text|nothing }}`: "nothing",
		`{{ range(3) }}`:     "range",
	} {
		if _, err := render(source, Options{}); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%s: %v, want a short error with %q", source, err, want)
		}
	}
}

// bombs are small templates that exceed the budget.
func bombs() []string {
	// As a text this list has many GiB.
	heavy := `{% set a = ["a"] %}` + strings.Repeat(`{% set a = [a, a] %}`, 50)
	return []string{
		`{{ "a" * 300000000 }}`,
		`{{ "a" * -1 * 9223372036854775807 }}{{ ("a" * 100000000) * 100000000 }}`,
		`{% set a='a'|center(2000000000) %}`,
		`{{ "a"|indent(2000000000) }}`,
		`{{ "a\nb\nc"|indent("x" * 60000000) }}`,
		`{{ texts|tojson(indent=2000000000) }}`,
		`{{ texts|join("x" * 60000000) }}`,
		`{{ ("a" * 100000)|replace("a", "b" * 100000) }}`,
		`{{ ("a" * 100000)|replace("", "b" * 100000) }}`,
		`{% set a = "a" * 100000 %}{{ a.replace("a", "b" * 100000) }}`,
		`{% set a = "a" * 100000 %}{{ a.join(("b" * 100000)|list) }}`,
		`{{ "%2000000000d"|format(1) }}`,
		`{{ "a".center(2000000000) }}`, `{{ "a".ljust(2000000000) }}`, `{{ "1".zfill(2000000000) }}`, `{{ "\t".expandtabs(2000000000) }}`,
		`{{ texts|slice(2000000000) }}`, `{{ texts|batch(2000000000, "x") }}`,
		`{{ texts|map("center", 2000000000)|list }}`,
		`{{ range(2000000000) }}`,
		`{% set a = "a" * 1000 %}` + strings.Repeat(`{% set a = a ~ a %}`, 60) + `{{ a|length }}`,
		`{% set a = "a" * 1000 %}` + strings.Repeat(`{% set a = a + a %}`, 60) + `{{ a|length }}`,
		`{% set a = ["a"] %}` + strings.Repeat(`{% set a = a + a %}`, 60) + `{{ a|length }}`,
		`{% set a = ["a"] %}` + strings.Repeat(`{% set a = [a, a] %}`, 50) + `{{ a }}`,
		`{% set a = ["a"] %}` + strings.Repeat(`{% set a = {"x": a, "y": a} %}`, 50) + `{{ a|tojson }}`,
		`{% set a = ["a"] %}` + strings.Repeat(`{% set a = [a, a] %}`, 50) + `{{ a == a }}`,
		`{% set a = namespace() %}{% set a.a = a %}{{ a }}`,
		`{% set a = "a" * 200 %}` + strings.Repeat(`{% for x in a %}`, 8) + `x` + strings.Repeat(`{% endfor %}`, 8),
		`{% set a = "a" * 200 %}` + strings.Repeat(`{% for x in a %}`, 8) + strings.Repeat(`{% endfor %}`, 8),
		`{% set a = "a" * 5000000 %}{% for x in a %}{% endfor %}`,
		`{% set ns = namespace(a="aaaaaaaaaa") %}{% for x in range(100000) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}`,
		`{% set b %}{% for x in range(100000) %}` + strings.Repeat("text ", 2000) + `{% endfor %}{% endset %}`,
		`{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}`,
		`{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}`,
		`{% macro m0() %}x{% endmacro %}` + macros(40) + `{{ m40() }}`,
		`{{ "a"` + strings.Repeat(`.strip()`, 200) + ` }}`,
		`{% set a = "a" * 60000000 %}` + strings.Repeat(`{{ a|upper|lower|length }}`, 100),
		`{% set a = "a" * 60000000 %}` + strings.Repeat(`{% set b = a[1:] %}`, 100),
		`{{ nobody|default("y" * 60000000)|escape }}`,
		`{% set a = "a" * 1000000 %}{% for x in range(100000) %}{% if a|length %}{% endif %}{% endfor %}`,
		`{% set a = "a" * 1000000 %}{% for x in range(100000) %}{% if a|first %}{% endif %}{% endfor %}`,
		`{% set a = "a" * 1000000 %}{% for x in range(100000) %}{% if a|int %}{% endif %}{% endfor %}`,
		`{% set a = "\n" * 50000000 %}{% set b = a.splitlines() %}`,
		`{% set a = "a " * 30000000 %}{% set b = a.split(" ") %}`,
		`{% set a = "a " * 30000000 %}{% set b = a.rsplit() %}`,
		`{% set a = "a b" * 1000000 %}{% set b = a|sort %}`,
		`{% set a = "a" * 10000000 %}{% set b = a|batch(1)|list %}`,
		heavy + `{{ a|int }}`, heavy + `{{ a|float }}`, heavy + `{{ a|abs }}`, heavy + `{{ 3|round(a) }}`, heavy + `{{ "x"|attr(a) }}`,
		heavy + `{{ a * 2 }}`, heavy + `{{ 2 * a }}`, heavy + `{{ "abc"[a:] }}`, heavy + `{{ "abc"[:a] }}`, heavy + `{{ "abc"[::a] }}`,
		heavy + `{{ -a }}`, heavy + `{{ {"x": 1}[a] }}`, heavy + `{{ range(a) }}`, heavy + `{{ a is odd }}{{ 1 is divisibleby(a) }}`,
	}
}

// macros are n macros of which each calls the one before it twice.
func macros(n int) string {
	var b strings.Builder
	names := "0123456789"
	number := func(i int) string {
		if i < 10 {
			return names[i : i+1]
		}
		return names[i/10:i/10+1] + names[i%10:i%10+1]
	}
	for i := 1; i <= n; i++ {
		b.WriteString(`{% macro m` + number(i) + `() %}{{ m` + number(i-1) + `() }}{{ m` + number(i-1) + `() }}{% endmacro %}`)
	}
	return b.String()
}

func TestBombsAreDefused(t *testing.T) {
	for _, source := range bombs() {
		name := source[:min(len(source), 60)]
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			_, err := render(source, Options{Functions: true})
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Fatal("no error")
			}
			if len(err.Error()) > 500 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			const most = 1 << 30 // in all; the collector frees most of it on the way
			if made := after.TotalAlloc - before.TotalAlloc; made > most {
				t.Errorf("%d MiB were allocated: %v", made>>20, err)
			}
			t.Logf("%v, %d MiB: %v", took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20, err)
		})
	}
}

func TestBudgetIsAnErrorOfItsOwn(t *testing.T) {
	for _, source := range []string{`{{ "a" * 300000000 }}`, `{% set a = "a " * 30000000 %}{{ a.split() }}`, `{% set a = "a" * 100000 %}{{ a.replace("a", "b" * 1000) }}`} {
		if _, err := render(source, Options{}); !errors.Is(err, ErrBudget) || len(err.Error()) > 200 {
			t.Errorf("%s: %.300v, want ErrBudget", source, err)
		}
	}
}

func TestSource(t *testing.T) {
	for _, source := range []string{strings.Repeat("x", MaxSource+1), strings.Repeat("(", 5000)} {
		if _, err := Parse(source, Options{}); err == nil {
			t.Errorf("%d bytes of %q were accepted", len(source), source[:1])
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, s := range bombs()[:18] { // the others take long, and have a test
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		out, err := render(source, Options{Functions: true})
		if err == nil && len(out) > MaxRendered {
			t.Errorf("%d bytes", len(out))
		}
	})
}

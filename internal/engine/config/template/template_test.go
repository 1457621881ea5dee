package template

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
)

// rendered evaluates a document and returns its member x as JSON, or its problems.
func rendered(t *testing.T, document string) string {
	t.Helper()
	root, _, err := tree.Parse([]byte(document), tree.YAML, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var r problem.Report
	Render(root, &r)
	if err := r.Err(); err != nil {
		return err.Error()
	}
	return string(root.Get("x").JSON())
}

// The results of Jinja 3.1 with the coercion of AIPerf 0.13.
func TestExpressions(t *testing.T) {
	const variables = `
variables: {users: 8, rate: 2.5, name: llama, flag: true, items: [3, 1, 2], dataset: mine, double: "{{ users * 2 }}", quad: "{{ double * 2 }}"}
benchmark:
  models: {items: [{name: m1}]}
  endpoint: {urls: ["http://h:1"]}
  datasets: [{name: default, prompts: {isl: {mean: 512}}}]
  phases:
    - {name: warm, kind: warmup, requests: 3}
    - {name: load, type: concurrency, concurrency: "{{ users }}", grace_period: 10}
`
	for _, tt := range []struct{ expression, want string }{
		{"{{ users * 2 }}", "16"},
		{"{{ users // 3 }}", "2"},
		{"{{ users / 2 }}", "4.0"},
		{"{{ users % 3 }}", "2"},
		{"{{ rate * 3 }}", "7.5"},
		{"{{ 0.1 + 0.2 }}", "0.30000000000000004"},
		{"{{ 'a' if users > 4 else 'b' }}", `"a"`},
		{"{{ (rate * users) | int }}", "20"},
		{"{{ users | float }}", "8.0"},
		{"{{ 2.5 | round }}", "2.0"},
		{"{{ (users / 3) | round(2) }}", "2.67"},
		{"{{ (users / 3) | round(1, 'floor') }}", "2.6"},
		{"{{ 15 | round(-1) }}", "20.0"},
		{"{{ [users, 3] | min }}", "3"},
		{"{{ [users, 3] | max }}", "8"},
		{"{{ nope | default(5) }}", "5"},
		{"{{ items | join(',') }}", `"3,1,2"`},
		{"{{ name | upper }}-{{ name | lower }}", `"LLAMA-llama"`},
		{"{{ name.upper() }}", `"LLAMA"`},
		{"{{ items | tojson }}", `"[3,1,2]"`},
		{"{{ flag }}", "true"},
		{"{{ users == 8 and rate < 3 }}", "true"},
		{"{{ name ~ '-' ~ users }}", `"llama-8"`},
		{"{{ items[0] }}", "3"},
		{"{% if flag %}7{% else %}y{% endif %}", "7"},
		{"{% for i in items %}{{ i }};{% endfor %}", `"3;1;2;"`},
		{"{% for name in items %}{{ name }}{% endfor %}", "312"},
		{"{% set users = 1 %}{{ users }}", "1"},
		{"{{ name is defined }}", "true"},
		{"{{ nope is defined }}", "false"},
		{"{% raw %}{{ users }}{% endraw %}", `"{{ users }}"`},
		{"{# users #}{{ users }}", "8"},
		{"{{ quad }}", "32"},
		{"{{ variables.users }}", "8"},
		{"{{ variables['users'] }}", "8"},
		{"{{ phases.load.concurrency * 2 }}", "16"},
		{"{{ benchmark.phases.load.concurrency }}", "8"},
		{"{{ phases.profiling.gracePeriod }}", "10"},
		{"{{ phases.warmup.requests }}", "3"},
		{"{{ phases[1].name }}", `"load"`},
		{"{{ phases.1.name }}", `"load"`},
		{"{{ phases | length }}", "2"},
		{"{{ datasets.main.prompts.isl.mean // 2 }}", "256"},
		{"{{ datasets.main.isl.mean }}", "512"},
		{"{{ dataset }}", `"mine"`},
		{"{{ benchmark.dataset.isl.mean }}", "512"},
		{"{{ model }}", `"m1"`},
		{"{{ endpoint.url }}", `"http://h:1"`},

		{"{{ nope }}", "line 9: x: nope is not defined"},
		{"{{ user }}", "line 9: x: user is not defined; did you mean \"users\"?"},
		{"{{ phases.load.rats }}", "line 9: x: phases.load.rats is not defined"},
		{"{{ benchmark }}", "line 9: x: benchmark is not"},
		{"{{ variables }}", "line 9: x: variables is not"},
		{"{{ users / 0 }}", "line 9: x: the template cannot be evaluated: the result is not a number; it divides by zero"},
		{"{{ x }}", "line 9: x: the templates of x → x need each other's result"},
		{"{{ open('/etc/passwd') }}", "line 9: x: the template cannot be evaluated"},
		{"{{ users", "line 9: x: the template cannot be evaluated"},
		{"{% include '/etc/passwd' %}", "line 9: x: the template cannot be evaluated"},
	} {
		got := rendered(t, strings.TrimPrefix(variables, "\n")+`x: "`+tt.expression+`"`)
		if got != tt.want && !(strings.HasPrefix(tt.want, "line") && strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s gives %s, want %s", tt.expression, got, tt.want)
		}
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	got := rendered(t, `
variables:
  a: "{{ b }}"
  b: "{{ c }}"
  c: "{{ a }}"
x: "{{ nope }}"
y: "{{ a }}"
`)
	want := "line 3: variables/a: the templates of variables.a → variables.b → variables.c → variables.a need each other's result\n" +
		"line 6: x: nope is not defined"
	if got != want {
		t.Errorf("problems:\n%s\nwant:\n%s", got, want)
	}
}

// An error may quote a value, and the result of an expression with a secret is one.
func TestSecrets(t *testing.T) {
	key := tree.TextNode("sk-canary")
	key.Secrets = []string{"sk-canary"}
	derived, broken := tree.TextNode("{{ key | upper }}"), tree.TextNode("{{ key[99] + nope.x }}{{ key // 2 }}")
	root := tree.ObjectNode(
		tree.Member{Name: "variables", Value: tree.ObjectNode(tree.Member{Name: "key", Value: key})},
		tree.Member{Name: "x", Value: derived}, tree.Member{Name: "y", Value: broken},
	)
	root.Locate("#")
	var r problem.Report
	Render(root, &r)
	if err := r.Err(); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("problems: %v", err)
	}
	if derived.Scalar != "SK-CANARY" || !strings.Contains(strings.Join(derived.Secrets, " "), "SK-CANARY") {
		t.Errorf("result %q with the secrets %q", derived.Scalar, derived.Secrets)
	}
}

func TestNotRendered(t *testing.T) {
	root, _, err := tree.Parse([]byte(`
benchmark:
  endpoint: {template: {body: "{{ texts }}"}, extra: {payload_template: "{{ x }}"}}
  artifacts: {user_files: [{path: a, content: "{{ epoch }}"}]}
`), tree.YAML, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var r problem.Report
	if Render(root, &r) || r.Err() != nil {
		t.Errorf("templates of requests and files were rendered: %v", r.Err())
	}
}

// The fuzzer stops an input that takes longer than 10 seconds.
func FuzzRender(f *testing.F) {
	for _, s := range []string{
		"a: '{{ b }}'\nb: '{{ a }}'", "variables: {a: [1, 2]}\nx: '{{ a | join }}{% for i in a %}{{ i }}{% endfor %}'",
		"x: '{{ range(1000000000) | join }}'", "x: '{{ \"x\" * 1000000000 }}'", "x: '{% set a = 1 %}{{ a[", "x: '{{ a['''", "x: '{% raw %}{{'",
		"variables: {a: '{{ b }}{{ b }}', b: '{{ c }}{{ c }}', c: 'xxxxxxxxxxxxxxxx'}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, document string) {
		root, _, err := tree.Parse([]byte(document), tree.Auto, 1000)
		if err != nil || len(document) > 1<<16 {
			return
		}
		var r problem.Report
		Render(root, &r)
		root.Walk(func(n *tree.Node) {
			if n.Shape == tree.Number && !tree.IsNumber(n.Scalar) {
				t.Errorf("the number %q", n.Scalar)
			}
		})
	})
}

package endpoint

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/jinja"
)

// templated returns the body that a template makes of a request.
func templated(t *testing.T, body string, r *Request) (string, error) {
	t.Helper()
	k, err := Templated(body, "")
	if err != nil {
		t.Fatalf("Templated(%q): %v", body, err)
	}
	b, err := k.Body(nil, r)
	return string(b), err
}

func templateRequest() *Request {
	return &Request{
		Model: "org/m", System: "be brief",
		Turn: bench.Turn{
			Texts: []string{"a \"quoted\"\nline with é and <b>", "second"}, MaxTokens: 7,
			Named:  []bench.NamedTexts{{Name: "query", Texts: []string{"q1"}}, {Name: "passages", Texts: []string{"p1", "p\\2"}}},
			Images: []bench.Media{{MIME: "image/png", Data: []byte{1, 2, 3}}},
		},
		Settings: &Settings{Streaming: true, Extra: []Field{{Name: "temperature", Value: []byte("0.5")}}},
	}
}

func TestTemplateBodies(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"a text between quotes is escaped", `{"x": "{{ text }}"}`, `{"x":"a \"quoted\"\nline with é and <b>","temperature":0.5}`},
		{"tojson of a text", `{"x": {{ text|tojson }}}`, `{"x":"a \"quoted\"\nline with é and <b>","temperature":0.5}`},
		{"tojson of a list", `{"x": {{ passages|tojson }}}`, `{"x":["p1","p\\2"],"temperature":0.5}`},
		{"a built-in name", `nv-embedqa`, `{"text": ["a \"quoted\"\nline with é and <b>","second"],"temperature":0.5}`},
		{"numbers and booleans", `{"n": {{ max_tokens }}, "s": {{ stream|tojson }}}`, `{"n":7,"s":true,"temperature":0.5}`},
		{"loop, set and if", `{% set q = query %}{"x":[{% for p in passages %}["{{ q }}",{{ p|tojson }}]{% if not loop.last %},{% endif %}{% endfor %}]}`,
			`{"x":[["q1","p1"],["q1","p\\2"]],"temperature":0.5}`},
		{"upper keeps escapes whole", `{"x": "{{ text|upper }}"}`, `{"x":"A \"QUOTED\"\nLINE WITH É AND <B>","temperature":0.5}`},
		{"lengths are those of the text", `{"x": {{ text|length }}, "y": {{ passages|length }}}`, `{"x":30,"y":2,"temperature":0.5}`},
		{"base64", `{"x": "{{ query|b64encode }}"}`, `{"x":"cTE=","temperature":0.5}`},
		{"media", `{"x": "{{ image }}", "y": {{ audios|tojson }}}`, `{"x":"data:image/png;base64,AQID","y":[],"temperature":0.5}`},
		{"named texts", `{"x": {{ texts_by_name.passages[1]|tojson }}, "m": "{{ model }}"}`, `{"x":"p\\2","m":"org/m","temperature":0.5}`},
		{"messages", `{"x": {{ messages[0]|tojson }}}`, `{"x":{"content":"be brief","role":"system"},"temperature":0.5}`},
		{"default", `{"x": "{{ query|default('none') }}"}`, `{"x":"q1","temperature":0.5}`},
		{"extra inputs win", `{"temperature": 1}`, `{"temperature":0.5}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := templated(t, tt.body, templateRequest())
			if err != nil {
				t.Fatal(err)
			}
			// The members of the outer object are written without blanks, values as they stand.
			if diff := cmp.Diff(strings.ReplaceAll(tt.want, `"text": [`, `"text":[`), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTemplateFaults(t *testing.T) {
	for body, want := range map[string]string{
		`[1]`:                         "must make a JSON object",
		`{"x": {{ nobody }}}`:         "nobody",
		`{"x": {% for %}}`:            "read template",
		`{% include "/etc/passwd" %}`: "include",
		`{{ range(10) }}`:             "range",
	} {
		k, err := Templated(body, "")
		if err == nil {
			_, err = k.Body(nil, templateRequest())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", body, err, want)
		}
	}
	for _, field := range []string{"a.[", "$.a["} {
		if _, err := Templated("{}", field); err == nil || !strings.Contains(err.Error(), "response field") {
			t.Errorf("response field %q: %v, want an error that names it", field, err)
		}
	}
}

// A body that exceeds the limits in every request is refused before the run.
func TestTemplateBudget(t *testing.T) {
	for _, body := range []string{
		`{"x": "{{ "a" * 300000000 }}"}`,
		`{% set a = 'a'|center(2000000000) %}{}`,
		`{"x": {{ texts|tojson|indent(2000000000) }}}`,
	} {
		if _, err := Templated(body, ""); !errors.Is(err, jinja.ErrBudget) {
			t.Errorf("%s: %v, want it to be refused for its budget", body, err)
		}
	}
	k, err := Templated(`{"x": "{{ text * 100000 }}"}`, "") // that depends on the data
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Body(nil, &Request{Turn: bench.Turn{Texts: []string{strings.Repeat("x", 100_000)}}, Settings: &Settings{}})
	if !errors.Is(err, jinja.ErrBudget) {
		t.Errorf("%v, want the request to be refused for its budget", err)
	}
}

// The place of an output may not multiply the answer: a few bytes of an expression
// can allocate any amount of memory.
func TestFieldBudget(t *testing.T) {
	answer := []byte(`{"a":[1,2,3],"s":"` + strings.Repeat("\"", 1000) + `"}`)
	for _, field := range []string{
		"[@,@][]" + strings.Repeat("|[@,@][]", 29),
		"{a:@,b:@}.*" + strings.Repeat("|{a:@,b:@}.*", 17),
		"[@,@]" + strings.Repeat("|[@,@]", 5) + "[][][][][]|[@,@,@]",
		"[`[1,2]`,@,@,@,@,@,@,@,@][][]|[@,@,@,@,@,@,@,@]",
		strings.Repeat("to_string(", 20) + "@" + strings.Repeat(")", 20),
		"join(s, a)",
		"join(to_string(@), a)",
		"a" + strings.Repeat("[]", 600),
		"$[0,0]" + strings.Repeat("[0,0]", 29),
		"$..a..b..c",
		"$..[?(@..b == 1)]",
	} {
		k, err := Templated("{}", field)
		if err == nil {
			k.Decode(&bench.Response{Status: 200, Framing: bench.FramingJSON, Body: answer, BodyAt: 1}, false)
			t.Errorf("response field %q is accepted", field)
		} else if !strings.Contains(err.Error(), "response field") {
			t.Errorf("response field %q: %v, want an error that names it", field, err)
		}
	}
	for _, field := range []string{
		"choices[0].message.content", "choices[*].text | join('', @)", "[data.x, data.y]", "{text: a.b, id: c}", "outputs[?type=='text'].text | [0]",
		"sort_by(data, &index)[*].embedding", "to_string(a)", "$.a.b", "$['a','b']", "$..text", "$.a[?(@.t == 'x')].v",
	} {
		if _, err := Templated("{}", field); err != nil {
			t.Errorf("response field %q: %v", field, err)
		}
	}
}

// The value at the named place determines what an answer holds, or, without
// one, the usual place of the output.
func TestOutputsOfUnknownAPIs(t *testing.T) {
	tests := []struct {
		field, body string
		text        string
		kinds       string
		vectors     []bench.Vector
		ranks       []bench.Rank
		failure     bench.Class
	}{
		{field: "a.b", body: `{"a":{"b":"hi"}}`, text: "hi", kinds: "text"},
		{field: "$.a.b", body: `{"a":{"b":"hi"}}`, text: "hi", kinds: "text"},
		{field: "$.a[*].t", body: `{"a":[{"t":"x"},{"t":"y"}]}`, text: "xy", kinds: "text text"},
		{field: "v", body: `{"v":[0.1,0.2,0.3]}`, kinds: "embedding", vectors: []bench.Vector{{Dim: 3, Rows: 1}}},
		{field: "n", body: `{"n":42}`, text: "42", kinds: "text"},
		{field: "a.x", body: `{"a":{"b":"hi"}}`, failure: bench.MalformedResponse},
		{field: "a", body: `{"a":"x","error":{"message":"boom","code":500}}`, failure: bench.ServerError},
		{body: `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`, text: "hi", kinds: "text"},
		{body: `{"generated_text":"hi"}`, text: "hi", kinds: "text"},
		{body: `{"content":[{"type":"text","text":"hi"}]}`, text: "hi", kinds: "text"},
		{body: `{"data":[{"embedding":[1,2],"index":0},{"embedding":[3,4],"index":1}]}`, kinds: "embedding",
			vectors: []bench.Vector{{Index: 0, Dim: 2, Rows: 1}, {Index: 1, Dim: 2, Rows: 1}}},
		{body: `[[1,2,3]]`, kinds: "embedding", vectors: []bench.Vector{{Dim: 3, Rows: 1}}},
		{body: `{"results":[{"index":1,"relevance_score":0.5},{"index":0,"relevance_score":0.25}]}`, kinds: "ranking",
			ranks: []bench.Rank{{Index: 1, Score: 0.5}, {Index: 0, Score: 0.25}}},
		{body: `{"data":[{"b64_json":"QUJD"}]}`, kinds: "image"},
		{body: `{"id":1}`, failure: bench.MalformedResponse},
	}
	for _, tt := range tests {
		t.Run(tt.field+tt.body, func(t *testing.T) {
			k, err := Templated("{}", tt.field)
			if err != nil {
				t.Fatal(err)
			}
			a := k.Decode(&bench.Response{Status: 200, Framing: bench.FramingJSON, Body: []byte(tt.body), BodyAt: 1}, false)
			if (a.Failure != nil) != (tt.failure != "") || a.Failure != nil && a.Failure.Class != tt.failure {
				t.Fatalf("failure %v, want class %q", a.Failure, tt.failure)
			}
			var kinds []string
			for _, c := range a.Chunks {
				kinds = append(kinds, c.Kind.String())
			}
			text := ""
			if len(a.Choices) > 0 {
				text = a.Choices[0].Text
			}
			if got := strings.Join(kinds, " "); got != tt.kinds || text != tt.text {
				t.Errorf("%s with text %q, want %s with %q", got, text, tt.kinds, tt.text)
			}
			if diff := cmp.Diff(tt.vectors, a.Vectors); diff != "" {
				t.Errorf("vectors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.ranks, a.Ranks); diff != "" {
				t.Errorf("ranks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRawPayloads(t *testing.T) {
	k, _ := Lookup("raw")
	r := &Request{Turn: bench.Turn{Payload: []byte(`{"any": [1,  2]}`)}, Settings: &Settings{}}
	if b, err := k.Body(nil, r); err != nil || string(b) != `{"any": [1,  2]}` {
		t.Errorf("%s, %v; want the payload as it is", b, err)
	}
	if _, err := k.Body(nil, &Request{Turn: bench.Turn{Texts: []string{"x"}}, Settings: &Settings{}}); err == nil {
		t.Error("a turn without a payload was encoded")
	}
}

func FuzzGeneric(f *testing.F) {
	for _, s := range []string{`{"a":[[1],{}]}`, `[]`, `[{"index":-1}]`, `{"data":[{"embedding":[]}]}`, `{"results":[1]}`, `{"error":1}`} {
		f.Add([]byte(s), "a.b")
	}
	f.Fuzz(func(_ *testing.T, body []byte, field string) {
		k, err := Templated("{}", field)
		if err != nil {
			return
		}
		k.Decode(&bench.Response{Status: 200, Framing: bench.FramingJSON, Body: body, BodyAt: 1}, false)
	})
}

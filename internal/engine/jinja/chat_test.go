package jinja

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const modelConfig = `{"bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>", "pad_token": null}`

func noon() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }

// TestGolden compares with Jinja, set up as Transformers does
// (scripts/tokenizer/chattemplates.py).
func TestGolden(t *testing.T) {
	const folder = "testdata"
	data, err := os.ReadFile(filepath.Join(folder, "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Conversations [][]Message
		Templates     map[string][]string
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for name, want := range golden.Templates {
		t.Run(name, func(t *testing.T) {
			source, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			tmpl, err := ParseChat([]byte(modelConfig), source, noon)
			if err != nil {
				t.Fatal(err)
			}
			for i, conversation := range golden.Conversations {
				got, err := tmpl.Render(conversation)
				if reason, refused := strings.CutPrefix(want[i], "error: "); refused {
					if err == nil || !strings.Contains(err.Error(), reason) {
						t.Errorf("conversation %d: error %v, want %q", i, err, reason)
					}
					continue
				}
				if diff := cmp.Diff(want[i], got); err != nil || diff != "" {
					t.Errorf("conversation %d: error %v (-jinja +ours):\n%s", i, err, diff)
				}
			}
		})
	}
}

func TestParse(t *testing.T) {
	hello := []Message{{"user", "hi"}}
	tests := []struct{ name, config, source, want, err string }{
		{"in the config", `{"chat_template": "{{ bos_token }}{{ messages[0].content }}", "bos_token": "<s>"}`, "", "<s>hi", ""},
		{"its own file wins", `{"chat_template": "x", "bos_token": "<s>"}`, "{{ bos_token }}!\n", "<s>!", ""},
		{"without a config", "", "{{ messages[0].role }}{{ bos_token }}", "user", ""},
		{"several with names", `{"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]}`, "", "d", ""},
		{"none", `{"bos_token": "<s>"}`, "", "", "no chat template"},
		{"several without a default", `{"chat_template": [{"name": "rag", "template": "t"}]}`, "", "", "no chat template"},
		{"not JSON", `{`, "", "", "read tokenizer_config.json"},
		{"broken", "", "{% for %}", "", "read template"},
		{"large", "", strings.Repeat("x", maxChatSource+1), "", "at most"},
		{"a date", "", `{{ strftime_now("%d %b %Y %H:%M %%") }}`, "04 Mar 2026 05:06 %", ""},
		{"an unknown directive", "", `{{ strftime_now("%Q") }}`, "", "does not support %Q"},
		{"a refusal", "", `{{ raise_exception("not this one") }}`, "", "not this one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			tmpl, err := ParseChat([]byte(tt.config), []byte(tt.source), noon)
			if err == nil {
				got, err = tmpl.Render(hello)
			}
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q in it", err, tt.err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// TestBudget: a template of an untrusted repository cannot exhaust the process.
func TestBudget(t *testing.T) {
	for _, source := range []string{
		`{% for a in range(100000000) %}{% endfor %}`, `{{ "x" * 900000000 }}`,
		`{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}`,
	} {
		tmpl, err := ParseChat(nil, []byte(source), noon)
		if err == nil {
			_, err = tmpl.Render([]Message{{"user", "hi"}})
		}
		if !errors.Is(err, ErrBudget) {
			t.Errorf("%s: %v, want %v", source, err, ErrBudget)
		}
	}
}

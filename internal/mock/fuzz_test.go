package mock

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/text"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// FuzzRequest checks that no body makes a route panic, and that every accepted one
// results in choices, every other one in an error response.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"n":2}`,
		`{"prompt":[[1,2],[3]],"max_tokens":5,"stream":true,"stream_options":{"include_usage":true}}`,
		`{"prompt":"x","stream_options":null}`, `{"messages":null}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	s, err := New(options.Options{Fast: true, MaxModelLen: 64, Content: options.ContentEcho, OutputTokens: random.ConstLength(3)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, d := range []*api.Protocol{text.NewChat(), text.NewCompletions()} {
			q, refusal := d.Read(s.model, nil, body)
			if refusal != nil {
				if refusal.Status < 400 || refusal.Message == "" {
					t.Errorf("refusal %+v", refusal)
				}
				continue
			}
			if choices := s.model.Plan(q, true); len(choices) != len(q.Prompts)*q.N || len(choices) == 0 {
				t.Errorf("%d choices for %d prompts, n %d", len(choices), len(q.Prompts), q.N)
			}
		}
	})
}

// TestCutWithoutHijack checks that net/http aborts a connection that cannot be hijacked.
func TestCutWithoutHijack(t *testing.T) {
	s, err := New(options.Options{Fast: true, Faults: mustFaults(t, "reset:after_tokens:1")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer func() {
		p := recover()
		if err, _ := p.(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("panic = %v, want http.ErrAbortHandler", p)
		}
		if got := s.Truth(); len(got) != 1 || got[0].Outcome != "fault:reset:after_tokens:1" || got[0].OutputTokens != 1 {
			t.Errorf("truth = %+v", got)
		}
	}()
	s.Handler().ServeHTTP(&countingWriter{header: http.Header{}}, chatRequest(t.Context(), 3))
}

// FuzzCases checks that no file of cases causes a panic.
func FuzzCases(f *testing.F) {
	f.Add([]byte(`[{"id":"a","status":200,"reads":[{"t_ms":1,"text":"x"},{"t_ms":2,"b64":"eA=="}],"end":{"t_ms":3,"how":"eof"}}]`))
	f.Add([]byte(`[{"id":"a"},{"id":"a"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var list []options.Case
		if json.Unmarshal(data, &list) != nil {
			return
		}
		byID, errs := options.IndexCases(list)
		if len(errs) == 0 && len(byID) != len(list) {
			t.Errorf("%d of %d cases", len(byID), len(list))
		}
	})
}

package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/redact"
)

func TestWriteInputs(t *testing.T) {
	run := func(secrets *redact.Set, conversations ...InputsSession) string {
		t.Helper()
		var out bytes.Buffer
		w := NewInputsWriter(&out, secrets)
		for i := range conversations {
			if err := w.Add(&conversations[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	got := run(redact.NewSet("sk-hunter2", "123456"),
		InputsSession{ID: "session_000000", Payloads: []json.RawMessage{
			json.RawMessage(`{"messages":[{"role":"user","content":"a <b> \"sk-hunter2\"\n 123456"}],"n":123456,"extra":{}}`),
			json.RawMessage(`{"model":"m"}`),
		}},
		InputsSession{ID: "none"})
	const want = `{
  "data": [
    {
      "session_id": "session_000000",
      "payloads": [
        {
          "messages": [
            {
              "role": "user",
              "content": "a <b> \"<redacted>\"\n <redacted>"
            }
          ],
          "n": 123456,
          "extra": {}
        },
        {
          "model": "m"
        }
      ]
    },
    {
      "session_id": "none",
      "payloads": []
    }
  ]
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	if got, want := run(nil), "{\n  \"data\": []\n}\n"; got != want {
		t.Errorf("no inputs = %q, want %q", got, want)
	}
	one := &InputsSession{ID: "s", Payloads: []json.RawMessage{json.RawMessage("{")}}
	if err := NewInputsWriter(&bytes.Buffer{}, nil).Add(one); err == nil || !strings.Contains(err.Error(), "payload 0 of session s") {
		t.Errorf("broken payload: %v, want an error that names it", err)
	}
	if err := NewInputsWriter(&brokenInputs{}, nil).Close(); err == nil {
		t.Error("an error of the writer was lost")
	}
}

// brokenInputs fails.
type brokenInputs struct{}

func (*brokenInputs) Write([]byte) (int, error) { return 0, errors.New("broken") }

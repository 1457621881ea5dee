package request

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/endpoint/codec"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/transport"
)

// lines is a script of one message.
type lines string

func (l lines) AppendMessages(dst []byte, m bench.Mark) []byte {
	return fmt.Appendf(dst, `{"role":"user","content":"%s%s"}`, m.Text, string(l))
}

func (l lines) Messages(m bench.Mark) io.Reader {
	return strings.NewReader(string(l.AppendMessages(nil, m)))
}
func (l lines) Size(m bench.Mark) int          { return len(l.AppendMessages(nil, m)) }
func (l lines) Tokens(bench.Mark) bench.Tokens { return 1 }
func (l lines) Key() string                    { return string(l) }

func (l lines) AppendParts(dst []bench.PromptPart, _ bench.Mark) []bench.PromptPart { return dst }

// The bodies of all endpoint types that take messages are the same bytes, whether messages of a script are written while
// they are sent or before.
func TestScriptedBodies(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	whole, streamed := 0, 0
	for _, kind := range endpoint.Kinds() {
		if !kind.Messages {
			continue
		}
		for name, tt := range map[string]struct {
			extra []codec.Field
			turn  bench.Turn
		}{
			"plain":          {},
			"marked":         {turn: bench.Turn{Mark: bench.Mark{Text: "[rid:1] "}}},
			"options":        {extra: []codec.Field{{Name: "ignore_eos", Value: raw("true")}}, turn: bench.Turn{MaxTokens: 7}},
			"tools":          {turn: bench.Turn{Tools: raw(`[{"type":"function"}]`)}},
			"other messages": {extra: []codec.Field{{Name: "messages", Value: raw(`[]`)}}},
		} {
			t.Run(kind.Name+"/"+name, func(t *testing.T) {
				p := &plan.Plan{Measure: plan.Measure{Kind: kind}}
				p.Settings.Streaming, p.Settings.Extra = true, tt.extra
				tt.turn.Script = lines("text")
				c := &bench.Conversation{Mode: bench.MessageArrayWithResponses, Turns: []bench.Turn{tt.turn}}
				if kind.Caps.System {
					c.System = "be brief"
				}
				d := &load.Dialogue{Entry: c, Conversation: c}
				var r transport.Request
				_, err := NewEncoder(Options{Plan: p}).Encode(d, &bench.Record{Model: "m"}, &r)
				want, wantErr := kind.Body(nil, &endpoint.Request{Model: "m", System: c.System, Turn: tt.turn, Settings: &p.Settings})
				if fmt.Sprint(err) != fmt.Sprint(wantErr) || string(r.WholeBody()) != string(want) || r.BodySize() != len(want) {
					t.Errorf("%s of %d bytes, %v; want %s, %v", r.WholeBody(), r.BodySize(), err, want, wantErr)
				}
				if whole++; r.Content != nil {
					whole, streamed = whole-1, streamed+1
				}
			})
		}
	}
	if streamed != 4 || whole == 0 {
		t.Errorf("%d bodies are written while they are sent, %d before; want the 4 of chats that have the script", streamed, whole)
	}
}

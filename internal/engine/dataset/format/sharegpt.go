package format

import (
	"encoding/json"
	"errors"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// The bounds of a pair of prompt and answer in ShareGPT, in tokens, as AIPerf has them.
const (
	shareLeast  = 4
	sharePrompt = 1024
	sharePair   = 2048
)

// shareMessage is one message of a ShareGPT conversation.
type shareMessage struct {
	From  string `json:"from"`
	Value string `json:"value"`
}

// shareGPT reads conversations between people and an assistant.
func shareGPT() source.Format {
	return source.Format{
		Name:   "sharegpt",
		Counts: true,
		Needs:  "conversations, a list of messages",
		Detect: func(h *source.Head) bool {
			return h.HasAny("conversations") && source.HasAny(h.First("conversations"), "value")
		},
		New: func(o *source.Options) source.Decoder {
			return func(record file.Record) (source.Row, error) {
				var r struct {
					Conversations *[]shareMessage `json:"conversations"`
				}
				if err := decodeAny(record.Data, &r); err != nil {
					return source.Row{}, err
				}
				if r.Conversations == nil {
					return source.Row{}, errors.New("conversations is missing")
				}
				return shareRow(o, pairs(*r.Conversations)), nil
			}
		},
	}
}

// pairs returns the prompts and their answers, one after the other.
func pairs(messages []shareMessage) (out []string) {
	var known []shareMessage
	for _, m := range messages {
		if m.From == "human" || m.From == "gpt" {
			known = append(known, m)
		}
	}
	if len(known) == 0 && len(messages) > 1 { // texts without roles
		known = []shareMessage{{"human", messages[0].Value}, {"gpt", messages[1].Value}}
	}
	for i := 0; i+1 < len(known); i++ {
		prompt, answer := known[i], known[i+1]
		if prompt.From != "human" || answer.From != "gpt" {
			continue
		}
		if prompt.Value != "" && answer.Value != "" {
			out = append(out, prompt.Value, answer.Value)
		}
		i++
	}
	return out
}

// shareRow returns the conversation of some pairs. Without a tokenizer, as when a file is
// only checked, none is left out.
func shareRow(o *source.Options, texts []string) source.Row {
	if len(texts) == 0 {
		return source.Row{Skip: "without a prompt that is answered"}
	}
	var turns []bench.Turn
	for i := 0; i < len(texts); i += 2 {
		t := bench.Turn{Texts: texts[i : i+1]}
		if o.Tokenizer != nil {
			prompt, answer := o.Tokenizer.Count(texts[i]), o.Tokenizer.Count(texts[i+1])
			if prompt < shareLeast || prompt > sharePrompt || prompt+answer > sharePair || answer < shareLeast && !o.OSL.Given() {
				return source.Row{Skip: "with a prompt or answer that is too short or too long"}
			}
			t.InputTokens, t.MaxTokens = bench.Tokens(prompt), bench.Tokens(answer)
		}
		turns = append(turns, t)
	}
	return source.Row{Conversation: bench.Conversation{Turns: turns}}
}

// decodeAny decodes an object of which other members are ignored.
func decodeAny(raw []byte, to any) error {
	if err := json.Unmarshal(raw, to); err != nil || raw[0] != '{' {
		return notObject(raw, err)
	}
	return nil
}

package format

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/tokenizer"
)

// The bounds of the pairs of a conversation, which vllm bench and AIPerf have too, in
// tokens.
const (
	shareGPTLeast  = 4    // of a prompt and of an answer
	shareGPTPrompt = 1024 // at most
	shareGPTPair   = 2048 // at most, prompt and answer
)

// shareGPT reads recorded conversations between people and a model.
func shareGPT() source.Format {
	return source.Format{
		Name: "sharegpt",
		Doc: "Conversations in the form of ShareGPT_V3_unfiltered_cleaned_split.json: a JSON array, or JSONL. Every message " +
			"of a human that an answer of the model follows is a turn, whose maximum output is the length of the " +
			"recorded answer. A conversation is left out if any prompt has less than 4 or more than 1,024 tokens, any " +
			"answer less than 4 (unless an output length is set), or both together more than 2,048. Other members are ignored.",
		Fields: []source.Field{
			{Name: "conversations", Type: "list of {from, value}", Doc: "The messages; `from` is human or gpt, others are left out. Without `from`, the first two are a prompt and its answer."},
			{Name: "id", Type: "string", Doc: "Not used: parts of one conversation in the file may have the same."},
		},
		New: func(o *source.Options) func(file.Record) ([]source.Row, []string) {
			d := shareGPTDecoder{tokenizer: o.Tokenizer, osl: o.OSL.Given()}
			return d.decode
		},
	}
}

type shareGPTDecoder struct {
	tokenizer tokenizer.Tokenizer
	osl       bool // an output length is set
}

// pair is a prompt and its recorded answer.
type pair struct{ prompt, answer string }

func (d *shareGPTDecoder) decode(record file.Record) ([]source.Row, []string) {
	if d.tokenizer == nil {
		return nil, []string{"the conversations are chosen by their lengths, and there is no tokenizer: pass --tokenizer"}
	}
	if !utf8.Valid(record.Data) {
		return nil, []string{"the record is not valid UTF-8"}
	}
	var entry struct {
		Conversations []shareGPTMessage `json:"conversations"`
	}
	if err := json.Unmarshal(record.Data, &entry); err != nil {
		return nil, []string{"a record must be a JSON object with conversations, a list of {from, value}"}
	}
	var turns []bench.Turn
	for _, p := range pairs(entry.Conversations) {
		prompt, answer := d.tokenizer.Count(p.prompt), d.tokenizer.Count(p.answer)
		if prompt < shareGPTLeast || prompt > shareGPTPrompt || answer < shareGPTLeast && !d.osl || prompt+answer > shareGPTPair {
			return nil, nil
		}
		turns = append(turns, bench.Turn{Texts: []string{p.prompt}, MaxTokens: bench.Tokens(max(answer, 1)), InputTokens: bench.Tokens(prompt)})
	}
	if len(turns) == 0 {
		return nil, nil
	}
	return []source.Row{{Conversation: bench.Conversation{Turns: turns}}}, nil
}

// shareGPTMessage is a message of a conversation.
type shareGPTMessage struct {
	From  string `json:"from"`
	Value string `json:"value"`
}

// pairs returns the messages of the human that an answer follows, with it.
func pairs(all []shareGPTMessage) []pair {
	var messages []shareGPTMessage
	for _, m := range all {
		if m.From == "human" || m.From == "gpt" {
			messages = append(messages, m)
		}
	}
	if len(messages) == 0 && len(all) >= 2 {
		messages = []shareGPTMessage{{"human", all[0].Value}, {"gpt", all[1].Value}}
	}
	var out []pair
	for i := 0; i+1 < len(messages); i++ {
		if messages[i].From != "human" || messages[i+1].From != "gpt" {
			continue
		}
		if p := (pair{messages[i].Value, messages[i+1].Value}); strings.TrimSpace(p.prompt) != "" && p.answer != "" {
			out = append(out, p)
		}
		i++
	}
	return out
}

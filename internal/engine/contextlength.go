package engine

import (
	"fmt"
	"strings"

	"aiperfd/internal/engine/bench"
)

// checkLengths warns if conversations do not fit into the context of the model,
// which is unknown if it is 0. It checks the first 256.
func (x *preparation) checkLengths(limit bench.Tokens) {
	const most = 256
	if limit == 0 {
		return
	}
	checked, over, longest := 0, 0, bench.Tokens(0)
	for i := range min(x.data.first.Len(), most) {
		need := x.length(x.data.first.At(i))
		checked++
		longest = max(longest, need)
		if need > limit {
			over++
		}
	}
	if over > 0 {
		x.warn("context-length", fmt.Sprintf(
			"%d of %d conversations checked need more tokens than the context length of %d (max_model_len), up to %d; expect errors or truncated responses",
			over, checked, limit, longest))
	}
}

// length returns how many tokens a conversation needs at its end: all texts, and
// the longest responses that are requested. Texts count 0 without a tokenizer.
func (x *preparation) length(conversation *bench.Conversation) bench.Tokens {
	total := x.tokens.Count(conversation.System) + x.tokens.Count(conversation.Context)
	longest := bench.Tokens(0)
	for i := range conversation.Turns {
		t := &conversation.Turns[i]
		input := t.InputTokens
		if input == 0 {
			input = x.tokens.Count(strings.Join(t.Texts, " "))
		}
		if conversation.Mode == bench.MessageArrayWithResponses {
			longest = max(longest, total+input+t.MaxTokens)
			continue
		}
		total += input + t.MaxTokens
		longest = total
	}
	return longest
}

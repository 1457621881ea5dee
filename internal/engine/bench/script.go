package bench

import "io"

// Script is a prompt of many chat messages that is written when it is sent, because all prompts
// of a recorded session together are too long to be kept. It is immutable and safe for concurrent
// use.
type Script interface {
	// AppendMessages appends the messages as JSON, separated by commas, with a mark in one of them.
	AppendMessages(dst []byte, m Mark) []byte
	// Messages returns a reader of what AppendMessages appends. It never fails and never waits.
	Messages(m Mark) io.Reader
	// Size returns how many bytes the messages are.
	Size(m Mark) int
	// Tokens returns the tokens of all messages with the run's tokenizer.
	Tokens(m Mark) Tokens
	// Key is different for different prompts.
	Key() string
	// AppendParts appends the parts of the prompt, in the order in which a model reads them. Two prompts of a
	// recorded session begin alike as far as their parts are the same.
	AppendParts(dst []PromptPart, m Mark) []PromptPart
}

// PromptPart is a part of a prompt, such as a block.
type PromptPart struct {
	ID     uint64 // of its text, among the parts of the session's prompts
	Tokens int32
	Mark   bool // it is the mark, not a text of the session
}

// Mark is a text that is put into a message of a [Script], to make the prompt different from
// others. The zero value is none.
type Mark struct {
	Text   string // with the blank lines that separate it
	System bool   // into the system message if there is one; otherwise into the first one of a user
	Suffix bool   // after the message, not before it
}

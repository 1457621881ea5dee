package bench

import (
	"encoding/json"
	"time"
)

// Conversation is one entry of a dataset: one or more turns that belong
// together. It is immutable once the dataset is open.
type Conversation struct {
	ID      string // unique within the dataset
	System  string // system message; empty = none
	Context string // a user message before the first turn; empty = none
	Model   string // model for every turn; empty = the run decides
	Turns   []Turn // at least one
	// Independent: each turn is a complete request of its own and carries no
	// history (single_turn rows that share a session id).
	Independent bool
}

// Turn is one request of a conversation.
type Turn struct {
	Texts       []string     // user text; several = a batch or several parts
	Named       []NamedTexts // texts that have a part of their own to play: query, passages, …
	Images      []Media
	Audios      []Media
	Videos      []Media
	Payload     []byte          // replaces the whole body; nil = none
	Role        string          // empty = "user"
	Model       string          // overrides the conversation's; empty = not set
	MaxTokens   Tokens          // requested output cap; 0 = not sent
	Delay       time.Duration   // think time after the previous answer; 0 = none
	ExtraBody   json.RawMessage // a JSON object merged over the request body; nil = none
	InputTokens Tokens          // exact length of Texts and Named by the run's tokenizer; 0 = not counted
}

// NamedTexts are texts of a turn that an API has a member of its own for.
type NamedTexts struct {
	Name  string
	Texts []string
}

// Media is an image, an audio clip or a video: what it holds, or where it is.
type Media struct {
	Name string // of one that an API has a part of its own for: "mask"; mostly empty
	URL  string // http or https; the server fetches it; empty = Data is sent
	MIME string // type of Data, for example "image/png"
	Data []byte
}

// Tokens counts tokens of a model's vocabulary.
type Tokens int64

// Exchange is a turn with the answer it got, as it is replayed in the history
// of later turns.
type Exchange struct {
	Turn   Turn
	Answer Choice // choice 0 of the answer
}

package bench

import (
	"encoding/json"
	"time"
)

// Conversation is an entry of a dataset: a sequence of turns. It is immutable once
// the dataset is open.
type Conversation struct {
	ID      string // unique within the dataset
	System  string // system message; empty = none
	Context string // a user message before the first turn; empty = none
	Model   string // model of all turns; empty = the run's
	Turns   []Turn // at least one
	// Independent means that turns are sent without history (single_turn rows that
	// share a session id).
	Independent bool
}

// Turn is one request of a conversation.
type Turn struct {
	Texts       []string     // user text; several are a batch, or several parts
	Named       []NamedTexts // texts with a role in the API: query, passages, …
	Images      []Media
	Audios      []Media
	Videos      []Media
	Payload     []byte          // replaces the whole request body; nil = none
	Role        string          // empty = "user"
	Model       string          // overrides the model of the conversation; empty = not set
	MaxTokens   Tokens          // maximum output length; 0 = not sent
	Delay       time.Duration   // think time after the previous response; 0 = none
	ExtraBody   json.RawMessage // a JSON object merged into the request body; nil = none
	InputTokens Tokens          // exact length of Texts and Named with the run's tokenizer; 0 = not counted
}

// NamedTexts are texts of a turn that have a separate member in the API.
type NamedTexts struct {
	Name  string
	Texts []string
}

// Media is an image, an audio clip or a video, as data or as a URL.
type Media struct {
	Name string // role in the API, for example "mask"; usually empty
	URL  string // http or https, fetched by the server; empty = Data is sent
	MIME string // media type of Data, for example "image/png"
	Data []byte
}

// Tokens is a number of tokens of a model's vocabulary.
type Tokens int64

// Exchange is a turn and its answer, as sent in the history of later turns.
type Exchange struct {
	Turn   Turn
	Answer Choice // choice 0 of the answer
}

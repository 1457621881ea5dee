package bench

import (
	"encoding/json"
	"iter"
	"time"
)

// Conversation is an entry of a dataset: a sequence of turns, or an orchestrator, which
// sends nothing itself and starts children in rounds. It is immutable once it is made.
type Conversation struct {
	ID      string // unique within the dataset
	System  string // system message; empty = none
	Context string // a user message before the first turn; empty = none
	Model   string // model of all turns; empty = the run's
	// Category is what the dataset says of the kind of its prompts, for example coding; empty =
	// nothing.
	Category string
	Mode     ContextMode
	Turns    []Turn // at least one, unless there are rounds
	// Before are children that start with the conversation. Nothing waits for them.
	Before []*Conversation
	Rounds []Round // of an orchestrator, which has no turns
}

// Turn is one request of a conversation.
type Turn struct {
	Texts       []string     // user text; several are a batch, or several parts
	Named       []NamedTexts // texts with a role in the API: query, passages, …
	Images      []Media
	Audios      []Media
	Videos      []Media
	Messages    json.RawMessage // an array of chat messages, which replaces role, texts and media; nil = none
	Script      Script          // chat messages that are written when they are sent, instead of Messages; nil = none
	Mark        Mark            // in the messages of Script
	Tools       json.RawMessage // an array of tools as the chat API has them; nil = none
	Payload     []byte          // replaces the whole request body; nil = none
	Role        string          // empty = "user"
	Model       string          // overrides the model of the conversation; empty = not set
	MaxTokens   Tokens          // maximum output length; 0 = not sent
	Delay       time.Duration   // think time after the previous response; 0 = none
	At          time.Duration   // when the turn was sent originally, in the dataset's own time; see Timed
	Timed       bool            // At is known
	Recorded    *Recording      // of a recorded session; nil = the turn is not of one, or its times are not known
	ExtraBody   json.RawMessage // a JSON object merged into the request body; nil = none
	InputTokens Tokens          // exact length of Texts and Named with the run's tokenizer; 0 = not counted
	BlockIDs    []int64         // of the blocks of the whole prompt, in order, as a trace names them; nil = not known
	BlockSize   int             // tokens of a block; 0 without BlockIDs
	Forks       []Fork          // start after a successful answer to the turn
	Spawns      []Spawn         // start after a successful answer to the turn
}

// Recording is what a recorded session says of a turn. It is immutable once all turns of the session are made.
type Recording struct {
	Start, End time.Duration // from the beginning of the recording
	Session    *RecordedSession
	Number     int // among the turns of the session, from 0
	// Later is how many turns of the session were sent at Start or later; this one is one of them.
	Later int
	// Blocks is how many blocks the prompt has, and Seen how many of the leading ones an earlier request of the
	// recording had.
	Blocks, Seen int
	// After are the turns that it followed: the one before it in its stream, or the one that started its stream,
	// and the last ones of the streams that it waited for.
	After []*Recording
}

// RecordedSession is a recorded session as a whole.
type RecordedSession struct {
	ID     string
	Digest string       // SHA-256 of its record
	Turns  []*Recording // of all its streams; nil if the session is known by records, and they have none of the turn
}

// HasMessages reports whether the turn is chat messages.
func (t *Turn) HasMessages() bool { return t.Messages != nil || t.Script != nil }

// Fork is a child that continues the conversation: it has the history of its parent up
// to the answer to the turn that forks. A fork that is not in the background ends its
// parent, so that only the last turn may have one.
type Fork struct {
	Child      *Conversation
	Background bool // the parent goes on
}

// Spawn is a group of children with a history of their own.
type Spawn struct {
	Children []*Conversation
	// JoinAt is the number of the parent's turn that is sent once all children have
	// ended; it is larger than that of the turn that spawns. 0 = nothing waits for them.
	JoinAt int
}

// Round is one round of an orchestrator: after the think time the children start, and
// the next round begins when all of them have ended.
type Round struct {
	Think    time.Duration
	Children []*Conversation
}

// Requests returns the number of requests of the conversation and all its descendants,
// without repetitions of turns that fail.
func (c *Conversation) Requests() int64 {
	n := int64(len(c.Turns))
	for child := range c.Children() {
		n += child.Requests()
	}
	return n
}

// Children yields the children of the conversation in the order of their places.
func (c *Conversation) Children() iter.Seq[*Conversation] {
	return func(yield func(*Conversation) bool) {
		all := func(children []*Conversation) bool {
			for _, child := range children {
				if !yield(child) {
					return false
				}
			}
			return true
		}
		if !all(c.Before) {
			return
		}
		for i := range c.Rounds {
			if !all(c.Rounds[i].Children) {
				return
			}
		}
		for i := range c.Turns {
			for _, fork := range c.Turns[i].Forks {
				if !yield(fork.Child) {
					return
				}
			}
			for _, spawn := range c.Turns[i].Spawns {
				if !all(spawn.Children) {
					return
				}
			}
		}
	}
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
	UUID string // key in the server's cache; empty = none. With neither URL nor Data, the key alone is sent
	Data []byte
}

// Tokens is a number of tokens of a model's vocabulary.
type Tokens int64

// Exchange is a turn and its answer, as sent in the history of later turns.
type Exchange struct {
	Turn       Turn
	Answer     Choice // choice 0 of the answer
	Unanswered bool   // no answer is sent after the turn
}

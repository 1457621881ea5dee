package bench

// Caps are the capabilities of an endpoint type. They decide which documents are
// valid, what a request may contain, and which metrics apply.
type Caps struct {
	Streams        bool // can stream
	ProducesTokens bool // generates text
	ProducesItems  bool // answers with vectors or scores
	ProducesImages bool // generates images
	ProducesAudio  bool // generates audio
	ProducesVideo  bool // generates videos
	TokenizesInput bool // takes text
	Reasoning      bool // may report reasoning
	System         bool // takes a system message
	History        bool // takes earlier turns
	Images         bool // takes images
	Audio          bool // takes audio
	Video          bool // takes videos
	Messages       bool // takes chat messages and tools as the chat API has them
	Needs          Needs
	Named          bool // takes named texts; elsewhere their names have no meaning
	Ranks          bool // takes a query and passages, as named texts
	TokenIDs       bool // takes the token ids of the text
	Hints          bool // takes NVIDIA Dynamo's hints
	UsageUnasked   bool // its streams contain usage without a request for it
	Jobs           bool // answers are fetched by polling
}

// Needs lists what no request of an endpoint type is without.
type Needs struct{ Images, Audio bool }

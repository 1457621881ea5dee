package source

// Columns names columns of a table; of several names, the first one that a row has is
// used. None = those that are usual.
type Columns struct {
	Prompt       []string
	System       []string
	OutputTokens []string
	Image        []string
}

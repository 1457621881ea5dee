package schema

// The limits of values. Texts are measured in bytes.
const (
	// MaxText is the length of a text that has no limit of its own.
	MaxText = 4096
	// MaxName is the length of the name of a model, a dataset or a column.
	MaxName = 512
	// MaxPrompt is the length of a text for a model and of the template of a request.
	MaxPrompt = 1 << 20
	// MaxSecret is the length of an API key, a header and a URL parameter.
	MaxSecret = 64 << 10
	// MaxList is the number of elements of a list that has no limit of its own.
	MaxList = 1000
	// MaxSweepLabels is the length of the labels of all variations of a sweep together.
	MaxSweepLabels = 4 << 20
	// MaxMembers is the number of headers and of URL parameters.
	MaxMembers = 200
)

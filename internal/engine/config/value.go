package config

import (
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

// The types of plain values.
type (
	// Object is a JSON object whose members keep their order and their exact numbers.
	Object = schema.Object
	// Member is one name and value of an [Object].
	Member = schema.Member
	// Distribution describes how a quantity varies.
	Distribution = schema.Distribution
	// Headers are the headers of every request.
	Headers = schema.Headers
	// Params are the query parameters of every request.
	Params = schema.Params
	// Time is an instant.
	Time = schema.Time
	// Seconds is a length of time, see [schema.Seconds].
	Seconds = schema.Seconds
	// Labels are the labels of a run: name → value.
	Labels = schema.Labels
)

// Format is the notation of a document.
type Format = tree.Format

// The notations.
const (
	JSON = tree.JSON
	YAML = tree.YAML
)

// Malformed is the error for text that is not a document at all.
type Malformed = tree.Malformed

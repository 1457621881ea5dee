package config

import (
	"aiperfd/internal/engine/config/schema"
)

// The types of plain values.
type (
	// Object is a JSON object whose members keep their order and their exact numbers.
	Object = schema.Object
	// Member is one name and value of an [Object].
	Member = schema.Member
	// Distribution describes how a quantity varies.
	Distribution = schema.Distribution
	// Peak is one component of a mixture.
	Peak = schema.Peak
	// Headers are the headers of every request.
	Headers = schema.Headers
	// Params are the query parameters of every request.
	Params = schema.Params
	// Time is an instant.
	Time = schema.Time
	// Labels are the labels of a run: name → value.
	Labels = schema.Labels
)

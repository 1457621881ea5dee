package config

import "aiperfd/internal/engine/config/value"

// The types of plain values.
type (
	// Object is a JSON object whose members keep their order and their exact numbers.
	Object = value.Object
	// Member is one name and value of an [Object].
	Member = value.Member
	// Distribution describes how a quantity varies.
	Distribution = value.Distribution
	// Peak is one component of a mixture.
	Peak = value.Peak
	// Point is one value of an empirical distribution.
	Point = value.Point
	// Headers are the headers of every request.
	Headers = value.Headers
	// Params are the query parameters of every request.
	Params = value.Params
	// Time is an instant.
	Time = value.Time
	// Labels are the labels of a run: name → value.
	Labels = value.Labels
)

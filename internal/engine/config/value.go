package config

import "aiperfd/internal/engine/config/value"

// The types of plain values.
type (
	// Object is a JSON object whose members keep their order and their exact numbers.
	Object = value.Object
	// Member is one name and value of an [Object].
	Member = value.Member
)

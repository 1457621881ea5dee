// Package endpoint is the table of endpoint types: the codecs between a turn and an
// API. Codecs do no I/O and use neither clocks nor randomness.
//
// The packages below it share what dialects have in common: codec writes request
// bodies, answer reads responses, polling follows jobs. Each family of APIs is a
// separate package. To add an endpoint type, write one file with its [Kind], its
// encoder and its [answer.Dialect], and add one row to [Kinds].
package endpoint

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/codec"
	"aiperfd/internal/engine/endpoint/polling"
	"aiperfd/internal/engine/endpoint/runpod"
	"aiperfd/internal/engine/endpoint/template"
)

// Types of the packages below, for callers that perform requests.
type (
	// Kind is [codec.Kind].
	Kind = codec.Kind
	// Request is [codec.Request].
	Request = codec.Request
	// Settings is [codec.Settings].
	Settings = codec.Settings
	// Field is [codec.Field].
	Field = codec.Field
	// JobSettings is [polling.Settings].
	JobSettings = polling.Settings
	// Call is [polling.Call].
	Call = polling.Call
	// Tracker is [polling.Tracker].
	Tracker = polling.Tracker
)

// RunpodStream is [runpod.ModeStream].
const RunpodStream = runpod.ModeStream

// Templated is [template.New].
func Templated(body, responseField string) (Kind, error) { return template.New(body, responseField) }

// Retryable is [polling.Retryable].
func Retryable(resp *bench.Response) bool { return polling.Retryable(resp) }

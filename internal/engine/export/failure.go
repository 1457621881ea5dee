package export

import (
	"net/http"

	"aiperfd/internal/engine/bench"
)

// errorDetails is an error as AIPerf's files describe it.
type errorDetails struct {
	Code    int    `json:"code,omitempty"` // HTTP status; 0 = none
	Type    string `json:"type"`
	Message string `json:"message"`
	Class   string `json:"class"` // ours: see [bench.Class]
}

// cancelledCode is the status that AIPerf gives to requests it cancelled.
const cancelledCode = 499

// describeError names an error as AIPerf does: a bad status by its reason
// phrase, a cancellation by AIPerf's own name, anything else by its class.
func describeError(class bench.Class, status int, message string) errorDetails {
	d := errorDetails{Type: string(class), Message: message, Class: string(class)}
	switch {
	case class.Cancelled():
		d.Code, d.Type = cancelledCode, "RequestCancellationError"
	case class == bench.TimeoutSend:
		d.Type = "RequestSendTimeout"
	case status >= http.StatusMultipleChoices:
		d.Code = status
		if phrase := http.StatusText(status); phrase != "" {
			d.Type = phrase
		}
	}
	return d
}

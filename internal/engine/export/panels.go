package export

import (
	"strings"

	"aiperfd/internal/view"
)

// insight explains a frequent error with an unhelpful message: a server that
// rejects max_completion_tokens as an unknown field.
func (p *page) insight(r *Report) {
	for i := range r.Errors {
		g := &r.Errors[i]
		if g.Status < 400 || g.Status >= 500 || !strings.Contains(g.Example, "max_completion_tokens") || !refusesField(g.Example) {
			continue
		}
		p.line("")
		p.panel(yellow, "API Error Insight", "Problem: the server does not accept the field max_completion_tokens.\n\n"+
			"Cause: requests of the endpoint type chat limit the length of responses with max_completion_tokens, "+
			"which has replaced max_tokens in the OpenAI API. Older servers and strict gateways only know max_tokens.\n\n"+
			"To check: read the server's message in the error summary, and its log.\n\n"+
			"Fix: add --use-legacy-max-tokens, or upgrade the server.")
		return
	}
}

// refusesField reports whether an error message is about an unknown field.
func refusesField(message string) bool {
	message = strings.ToLower(message)
	for _, words := range []string{"extra", "unexpected", "unknown", "unrecognized", "unsupported", "not permitted", "not allowed", "not supported"} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

// panels prints the warnings for which AIPerf has panels.
func (p *page) panels(r *Report) {
	for _, known := range []struct{ code, title string }{
		{"usage-discrepancy", "Token Count Discrepancy Warning"},
		{"output-length", "Output Sequence Length Mismatch Warning"},
	} {
		for _, n := range r.Warnings {
			if n.Code == known.code {
				p.line("")
				p.panel(yellow, known.title, view.Printable(n.Detail))
			}
		}
	}
}

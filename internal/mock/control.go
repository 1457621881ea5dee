package mock

import (
	"fmt"
	"net/http"
	"strconv"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// Headers with which a request controls its own answer.
const (
	headerStatus = "X-Mock-Status" // answer with this error
	headerAction = "X-Mock-Action" // a fault rule, see options.ParseFault
	headerTTFT   = "X-Mock-Ttft"   // a distribution, see random.ParseDelay
	headerITL    = "X-Mock-Itl"
	headerTokens = "X-Mock-Tokens" // length of the answer
)

// control applies the control headers of a request. Errors become an error response.
func (x *exchange) control(h http.Header) *api.Error {
	if x.Options.NoControlHeaders {
		return nil
	}
	bad := func(name string, err error) *api.Error {
		return api.BadRequest(name, fmt.Sprintf("%s: %v", name, err))
	}
	rule := h.Get(headerAction)
	if status := h.Get(headerStatus); status != "" {
		rule = "status:" + status
	}
	if rule != "" {
		f, err := options.ParseFault(rule)
		if err != nil {
			return bad(headerAction, err)
		}
		x.fault.rule = &f
	}
	for name, to := range map[string]*random.Delay{headerTTFT: &x.ownTTFT, headerITL: &x.ownITL} {
		text := h.Get(name)
		if text == "" {
			continue
		}
		d, err := random.ParseDelay(text)
		if err == nil && x.s.accelerator != nil {
			err = fmt.Errorf("an accelerator gives the times")
		}
		if err != nil {
			return bad(name, err)
		}
		*to = d
	}
	if text := h.Get(headerTokens); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > x.Options.MaxModelLen {
			return api.BadRequest(headerTokens, fmt.Sprintf("%s is %q, want a whole number between 1 and %d",
				headerTokens, text, x.Options.MaxModelLen))
		}
		x.ownTokens = n
	}
	return nil
}

package transport

import (
	"net/http"
	"net/url"

	"aiperfd/internal/engine/bench"
)

// maxRedirects is the maximum number of redirects that a request follows.
const maxRedirects = 3

// redirected returns where a 307 or 308 points to, nil for anything else.
func redirected(resp *bench.Response, from *url.URL) *url.URL {
	if resp.Status != http.StatusTemporaryRedirect && resp.Status != http.StatusPermanentRedirect {
		return nil
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil
	}
	to, err := from.Parse(location)
	if err != nil || (to.Scheme != "http" && to.Scheme != "https") {
		return nil
	}
	return to
}

// refusal returns why a redirect is not followed; "" = it is.
func (o *Options) refusal(a *attempt, next *url.URL) string {
	if sameOrigin(a.target, next) {
		return ""
	}
	if a.target.Scheme == "https" && next.Scheme == "http" {
		return "it leads from https to http"
	}
	if err := o.Policy.Allow.URL(next); err != nil {
		return err.Error()
	}
	if o.Policy.Private != nil && o.Policy.Private(a.WholeBody()) {
		return "it leads to another server, and the body contains a secret"
	}
	return ""
}

// follow sends the attempt to where a redirect points. Another origin gets no header
// that was meant for the first one.
func (o *Options) follow(a *attempt, next *url.URL) {
	if !sameOrigin(a.target, next) {
		header := http.Header{}
		for name, values := range o.Policy.Foreign {
			if a.header[name] != nil { // requests without a body have no content type
				header[name] = values
			}
		}
		a.header = header
		r := *a.Request
		r.Host = ""
		a.Request = &r
	}
	a.target, a.fresh = next, false
}

// notFollowed returns the failure of a redirect that was refused.
func notFollowed(status int, next *url.URL, why string) *bench.Failure {
	return &bench.Failure{
		Class: bench.Redirect, Step: bench.StepHeaders, Status: status,
		Message: "the redirect to " + originOf(next) + " was not followed: " + why,
	}
}

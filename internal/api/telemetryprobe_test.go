package api

import (
	"context"
	"strings"
	"testing"

	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/telemetry/diagnose"
)

// fakeProbe says that all pages are of vLLM.
func fakeProbe(_ context.Context, pages []secret.URL) ([]diagnose.Probed, error) {
	var out []diagnose.Probed
	for _, page := range pages {
		out = append(out, diagnose.Probed{
			URL: page.String(), State: diagnose.OK, Servers: []string{"vLLM"}, GPUs: []string{}, Lacking: []string{"hit_rate"},
			Rows: []diagnose.Row{{Metric: "waiting", Server: "vLLM", Families: []string{"vllm:num_requests_waiting"}}}, Series: 1,
		})
	}
	return out, nil
}

func TestTelemetryProbe(t *testing.T) {
	var asked []string
	ts := newTestServer(t, func(o *Options) {
		o.ProbeTelemetry = func(_ context.Context, pages []secret.URL) ([]diagnose.Probed, error) {
			var out []diagnose.Probed
			for _, page := range pages {
				asked = append(asked, page.Reveal())
				if strings.Contains(page.Reveal(), "denied") {
					return nil, &allow.Denied{Target: "denied:80", Reason: "no pattern matches it"}
				}
				out = append(out, diagnose.Probed{URL: page.String(), State: "ok", Servers: []string{"vLLM"}})
			}
			return out, nil
		}
	})
	const route = "/api/telemetry/probe"
	for _, s := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"urls":["localhost:8000","http://u:hunter22@h/metrics"]}`, 200, `{"targets":[{"url":"http://localhost:8000","state":"ok","servers":["vLLM"],`},
		{`{"urls":[]}`, 400, "urls has 0 values; it must have 1 to 16"},
		{`{"urls":["a"` + strings.Repeat(`,"a"`, 16) + `]}`, 400, "urls has 17 values; it must have 1 to 16"},
		{`{"urls":["ftp://u:hunter22@h"]}`, 400, "urls[0] ftp://"},
		{`{"url":"a"}`, 400, "unknown field"},
		{`{"urls":["http://denied"]}`, 403, "denied:80 is not an allowed target"},
	} {
		w := ts.do("POST", route, s.body, jsonType)
		if w.Code != s.status || !strings.Contains(w.Body.String(), s.want) {
			t.Errorf("%.60s = %d %s, want %d and %s", s.body, w.Code, w.Body, s.status, s.want)
		}
		if strings.Contains(w.Body.String(), "hunter22") {
			t.Errorf("the password is in the answer: %s", w.Body)
		}
	}
	if len(asked) != 3 || asked[1] != "http://u:hunter22@h/metrics" {
		t.Errorf("asked for %v", asked)
	}
	without := newTestServer(t, func(o *Options) { o.ProbeTelemetry = nil })
	if w := without.do("POST", route, `{"urls":["a"]}`, jsonType); w.Code != 404 {
		t.Errorf("without telemetry: %d %s", w.Code, w.Body)
	}
}

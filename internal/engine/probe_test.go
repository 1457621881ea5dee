package engine_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/telemetry/diagnose"
)

// probed answers for each of several paths of a server.
func probed(t *testing.T, b *bed, urls ...string) []diagnose.Probed {
	t.Helper()
	pages := make([]secret.URL, len(urls))
	for i, u := range urls {
		pages[i] = secret.NewURL(u)
	}
	out, err := b.engine.ProbeTelemetry(t.Context(), pages)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Pages are told apart by what they answer; one that is slow takes ten seconds and not more.
func TestProbeTelemetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, batching(nil), func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasPrefix(r.URL.Path, "/trt"):
					if r.URL.Path == "/trt/prometheus/metrics" {
						_, _ = io.WriteString(w, "# TYPE trtllm_num_requests_waiting gauge\ntrtllm_num_requests_waiting 3\n")
						return
					}
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, "[]")
				case r.URL.Path == "/slow/metrics":
					<-r.Context().Done()
				case r.URL.Path == "/page/metrics":
					_, _ = io.WriteString(w, "<html>no metrics</html>")
				case r.URL.Path == "/secret/metrics":
					_, password, _ := r.BasicAuth()
					http.Error(w, "not "+password, http.StatusUnauthorized)
				case r.URL.Path == "/own/metrics":
					_, _ = io.WriteString(w, "# TYPE my_own gauge\nmy_own 3\nmy_own{x=\"1\"} NaN\n")
				default:
					h.ServeHTTP(w, r)
				}
			})
		})
		began := time.Now()
		all := probed(t, b, "http://mem", "http://mem/slow", "http://mem/page", "http://u:hunter22@mem/secret", "http://mem/own/metrics", "http://mem/dcgm/metrics")
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("it took %v, want 10s", took)
		}
		vllm := all[0]
		if vllm.URL != "http://mem/metrics" || vllm.State != diagnose.OK || !slices.Equal(vllm.Servers, []string{"vLLM"}) || vllm.Series < 10 {
			t.Errorf("vLLM: %+v", vllm)
		}
		var rows []string
		for _, r := range vllm.Rows {
			rows = append(rows, r.Metric+"="+strings.Join(r.Families, "+"))
		}
		if !slices.Contains(rows, "waiting=vllm:num_requests_waiting") || !slices.Contains(rows, "ttft=vllm:time_to_first_token_seconds") {
			t.Errorf("rows %v", rows)
		}
		if len(vllm.Rows)+len(vllm.Lacking) != 18 || !slices.Contains(vllm.Lacking, "hit_rate") {
			t.Errorf("%d rows, lacking %v", len(vllm.Rows), vllm.Lacking)
		}
		for i, want := range []diagnose.Probed{
			{State: diagnose.Unreachable, Error: "no answer within 10s"},
			{State: diagnose.NotPrometheus, Error: "HTTP 200 without metrics"},
			{State: diagnose.Unreachable, Error: "HTTP 401 Unauthorized"},
			{State: diagnose.OK, Series: 2, NonFinite: 1},
			{State: diagnose.OK},
		} {
			got := all[i+1]
			if got.State != want.State || got.Error != want.Error || want.Series > 0 && got.Series != want.Series || len(got.Servers) > 0 {
				t.Errorf("%s: %+v", got.URL, got)
			}
			if strings.Contains(got.URL+got.Error, "hunter22") {
				t.Errorf("the password is in %+v", got)
			}
		}
		if gpus := all[5].GPUs; !slices.Equal(gpus, []string{"nvidia"}) {
			t.Errorf("GPUs %v", gpus)
		}
	})
}

// A server that runs must not reach is not asked.
func TestProbeAllowed(t *testing.T) {
	patterns, err := allow.ParseAll([]string{"allowed:80"})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBedWith(t, batching(nil), nil, func(o *engine.Options) { o.Allow = allow.New(allow.Options{Patterns: patterns}) })
		_, err := b.engine.ProbeTelemetry(t.Context(), []secret.URL{secret.NewURL("http://allowed"), secret.NewURL("http://other/metrics")})
		var denied *allow.Denied
		if !errors.As(err, &denied) || denied.Target != "other:80" {
			t.Errorf("error %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if out, err := b.engine.ProbeTelemetry(ctx, []secret.URL{secret.NewURL("http://allowed")}); err != nil || out[0].State != diagnose.Unreachable {
			t.Errorf("a caller that does not wait: %+v, %v", out, err)
		}
	})
}

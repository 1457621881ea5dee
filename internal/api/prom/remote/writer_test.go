package remote

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// families reads an exposition.
func families(t *testing.T, text string) (out []*dto.MetricFamily) {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	byName, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 4 && f[1] == "TYPE" {
			out = append(out, byName[f[2]])
		}
	}
	return out
}

const exposition = `# TYPE a_total counter
a_total{run_id="r"} 3
# TYPE b gauge
b{zone="z",run_id="r"} 1.5
# TYPE c_seconds histogram
c_seconds_bucket{le="0.5"} 2
c_seconds_bucket{le="+Inf"} 5
c_seconds_sum 4
c_seconds_count 5
`

func TestSamples(t *testing.T) {
	var got []string
	for _, s := range samples(families(t, exposition), "j") {
		line := ""
		for _, l := range s.labels {
			line += l.name + "=" + l.value + " "
		}
		got = append(got, line+bound(s.value))
	}
	want := `__name__=a_total job=j run_id=r 3
__name__=b job=j run_id=r zone=z 1.5
__name__=c_seconds_bucket job=j le=0.5 2
__name__=c_seconds_bucket job=j le=+Inf 5
__name__=c_seconds_sum job=j 4
__name__=c_seconds_count job=j 5`
	if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
		t.Error(diff)
	}
	if !math.IsNaN(stale()) || math.Float64bits(stale()) != 0x7ff0000000000002 {
		t.Error("the stale marker is not that of Prometheus")
	}
}

// A receiver that fails gets the payload again, one that refuses it does not.
func TestWriterRetries(t *testing.T) {
	for _, tt := range []struct {
		status            int
		payloads, dropped int
	}{{http.StatusServiceUnavailable, 2, 0}, {http.StatusBadRequest, 1, 1}} {
		n := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n++; n == 1 {
				w.WriteHeader(tt.status)
			}
			if user, password, _ := r.BasicAuth(); user != "u" || password != "p" || r.URL.Path != writePath {
				t.Errorf("user %s, password %s, path %s", user, password, r.URL.Path)
			}
		}))
		to, err := url.Parse(strings.Replace(server.URL, "http://", "http://u:p@", 1))
		if err != nil {
			t.Fatal(err)
		}
		w := StartWriter(t.Context(), to, func(context.Context) ([]*dto.MetricFamily, error) { return families(t, exposition), nil })
		w.stop()
		<-w.done
		w.take(t.Context(), time.Now())
		w.send(t.Context())
		w.take(t.Context(), time.Now())
		w.send(t.Context())
		if got := w.written; got.Payloads != tt.payloads || got.Dropped != tt.dropped || got.Err == nil {
			t.Errorf("status %d: %+v, want %d payloads and %d dropped", tt.status, got, tt.payloads, tt.dropped)
		}
		server.Close()
	}
}

// A Pushgateway gets the metrics of the group in the text format.
func TestPush(t *testing.T) {
	got := ""
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.Path + "\n" + string(body)
	}))
	defer server.Close()
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := Push(t.Context(), to, families(t, exposition)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("PUT /metrics/job/aiperfd\n"+exposition, got); diff != "" {
		t.Error(diff)
	}
}

// The end of the process does not cut off what is being gathered: a payload of half the metrics would be wrong.
func TestWriterGathersToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := 0
		gather := func(ctx context.Context) ([]*dto.MetricFamily, error) {
			time.Sleep(time.Second)
			if ctx.Err() != nil {
				cut++
			}
			return nil, ctx.Err()
		}
		w := StartWriter(t.Context(), &url.URL{Scheme: "http", Host: "h"}, gather)
		time.Sleep(Period + time.Second/2)
		if written := w.Close(t.Context()); cut > 0 || written.Err != nil {
			t.Errorf("%d of 2 gatherings were cut off: %+v", cut, written)
		}
	})
}

package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/rs/zerolog"

	"aiperfd/internal/api/prom/remote"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/store"
)

// A Pushgateway and a receiver of remote writes do not wait for each other: here each answers when both were asked.
func TestReceiversAreAskedTogether(t *testing.T) {
	var asked, answered atomic.Int32
	both := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 2 {
			close(both)
		}
		select {
		case <-both:
			answered.Add(1)
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	parsed, err := flags.Parse([]string{"--model", "m", "--push-gateway", server.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	doc, _, err := parsed.Document()
	if err != nil {
		t.Fatal(err)
	}
	a, err := newApp(options{store: store.NewSingle(t.TempDir()), role: single, DaemonOptions: DaemonOptions{Log: zerolog.Nop()}})
	if err != nil {
		t.Fatal(err)
	}
	p := startPushing(t.Context(), a, doc, "v", zerolog.Nop())
	to := *p.gateway
	p.writer = remote.StartWriter(t.Context(), &to, func(context.Context) ([]*dto.MetricFamily, error) {
		return []*dto.MetricFamily{{
			Name: new("m"), Type: new(dto.MetricType_GAUGE), Metric: []*dto.Metric{{Gauge: &dto.Gauge{Value: new(1.0)}}},
		}}, nil
	})
	p.finish(t.Context(), time.Now(), true)
	if asked.Load() < 2 || answered.Load() < 2 {
		t.Errorf("%d requests, of which %d were answered; want both receivers", asked.Load(), answered.Load())
	}
}

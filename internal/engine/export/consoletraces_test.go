package export

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
)

// The table of HTTP timings is printed when it is wanted: in AIPerf's layout with AIPerf's
// rows, otherwise with ours among them.
func TestConsoleTraces(t *testing.T) {
	r := busyReport(t)
	r.Results = slices.DeleteFunc(slices.Clone(r.Results), func(m metric.Result) bool { return m.Def.Flags&catalogue.HTTPTraceOnly != 0 })
	for _, tag := range []string{"http_req_waiting", "http_req_tls", "http_req_chunks_sent", "http_req_blocked"} {
		def, ok := catalogue.Lookup(tag)
		if !ok {
			t.Fatal(tag)
		}
		m := metric.Result{Def: def}
		m.Set(metric.Avg, 1.5)
		r.Results = append(r.Results, m)
	}
	theirs := []string{"HTTP Blocked (ms)", "HTTP Waiting (TTFB) (ms)", "HTTP Chunks Sent (count)"}
	all := []string{"HTTP Blocked (ms)", "HTTP TLS Handshake (ms)", "HTTP Waiting (TTFB) (ms)", "HTTP Chunks Sent (count)"}
	for _, tt := range []struct {
		name string
		o    ConsoleOptions
		want []string
	}{
		{"brief", ConsoleOptions{Detail: Brief}, nil},
		{"brief, wanted", ConsoleOptions{Detail: Brief, Traces: true}, all},
		{"aiperf", ConsoleOptions{Detail: AIPerf}, nil},
		{"aiperf, wanted", ConsoleOptions{Detail: AIPerf, Traces: true}, theirs},
		{"full", ConsoleOptions{Detail: Full}, all},
		{"files", ConsoleOptions{}, all},
	} {
		var out strings.Builder
		tt.o.ASCII = true
		if err := Console(&out, r, tt.o); err != nil {
			t.Fatal(err)
		}
		var rows []string
		for line := range strings.Lines(out.String()) {
			if name, _, ok := strings.Cut(strings.Trim(line, "| \n"), " | "); ok && strings.HasPrefix(name, "HTTP ") {
				rows = append(rows, strings.TrimSpace(name))
			}
		}
		if diff := cmp.Diff(tt.want, rows); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

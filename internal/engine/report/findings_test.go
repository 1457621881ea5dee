package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
)

func TestUnwanted(t *testing.T) {
	server := func(kind string, codes ...string) diagnose.Phase {
		p := diagnose.Phase{Kind: kind, Canonical: []diagnose.Value{{Name: "running"}}}
		for _, code := range codes {
			p.Findings = append(p.Findings, diagnose.Finding{Code: code})
		}
		return p
	}
	card := gpu.Phase{Kind: "profiling", Devices: []gpu.Device{{}}, Findings: []diagnose.Finding{{Code: "hot"}}}
	for _, tt := range []struct {
		name   string
		server *diagnose.Server
		gpu    *gpu.Report
		want   []string
	}{
		{
			"nothing was read", nil, nil,
			[]string{
				"no finding kv-full: not known, met, but no metrics of a server were read",
				"no finding hot: not known, met, but no metrics of a GPU were read",
			},
		},
		{
			"no page answered", &diagnose.Server{Phases: []diagnose.Phase{{Kind: "profiling"}}}, &gpu.Report{},
			[]string{
				"no finding kv-full: not known, met, but no metrics of a server were read",
				"no finding hot: not known, met, but no metrics of a GPU were read",
			},
		},
		{
			"the warm-up does not count", &diagnose.Server{Phases: []diagnose.Phase{
				server("warmup", "kv-full"), server("profiling", "queueing"),
			}}, &gpu.Report{Phases: []gpu.Phase{card}},
			[]string{"no finding kv-full: none, met", "no finding hot: found in 1 phase, missed"},
		},
		{
			"two of three phases", &diagnose.Server{Phases: []diagnose.Phase{
				server("profiling", "kv-full", "queueing"), server("profiling"), server("profiling", "queueing", "kv-full"),
			}}, &gpu.Report{Phases: []gpu.Phase{card}},
			[]string{"no finding kv-full: found in 2 phases, missed", "no finding hot: found in 1 phase, missed"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, r := range unwanted([]string{"kv-full", "hot"}, &export.Report{Server: tt.server, GPU: tt.gpu}) {
				got = append(got, r.Line())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("unwanted: (-want +got)\n%s", diff)
			}
		})
	}
}

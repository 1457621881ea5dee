package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"

	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/paths"
)

// Server returns what the servers' metrics say; nil = they were not read.
func (r *Results) Server() (*diagnose.Server, error) {
	return reported(r, func(rep *export.Report) *diagnose.Server { return rep.Server })
}

// Devices returns what the accelerators did; nil = they were not read.
func (r *Results) Devices() (*gpu.Report, error) {
	return reported(r, func(rep *export.Report) *gpu.Report { return rep.GPU })
}

// Paths returns how the network behaved; nil = nothing was counted.
func (r *Results) Paths() (*paths.Report, error) {
	return reported(r, func(rep *export.Report) *paths.Report { return rep.Path })
}

// OTel returns what became of what was sent to OpenTelemetry collectors; nil = nothing was.
func (r *Results) OTel() (*otel.Report, error) {
	return reported(r, func(rep *export.Report) *otel.Report { return rep.OTel })
}

// ServerSpans returns what the spans of servers say of single requests; nil = none were received.
func (r *Results) ServerSpans() (*otel.ServerSpans, error) {
	return reported(r, func(rep *export.Report) *otel.ServerSpans { return rep.ServerSpans })
}

// reported returns a part of the report; nil for a run that measured nothing.
func reported[T any](r *Results, part func(*export.Report) *T) (*T, error) {
	report, _, err := r.Report()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // a run that measured nothing
	}
	if err != nil {
		return nil, err
	}
	return part(report), nil
}

// ServerSummaries returns the metrics of the servers by host and port; empty = there are none.
func (r *Results) ServerSummaries() (map[string]diagnose.Summary, error) {
	f, err := r.open(r.Names.ServerMetrics + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]diagnose.Summary{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadServerSummaries(f)
}

// ReadServerSummaries reads them from server_metrics_export.json.
func ReadServerSummaries(from io.Reader) (map[string]diagnose.Summary, error) {
	var file struct {
		Summary struct {
			Info map[string]diagnose.Info `json:"endpoint_info"`
		} `json:"summary"`
		Metrics map[string]struct {
			diagnose.Family
			Series []struct {
				URL string `json:"endpoint_url"`
				diagnose.Series
			} `json:"series"`
		} `json:"metrics"`
	}
	if err := json.NewDecoder(from).Decode(&file); err != nil {
		return nil, fmt.Errorf("read server metrics: %w", err)
	}
	all := map[string]diagnose.Summary{}
	keys := map[string]string{} // by URL
	for page, info := range file.Summary.Info {
		key := page
		if u, err := url.Parse(page); err == nil && u.Host != "" {
			key = u.Host
		}
		if _, taken := all[key]; taken { // two pages of one server
			key = page
		}
		keys[page], all[key] = key, diagnose.Summary{URL: page, Info: info, Metrics: map[string]diagnose.Family{}}
	}
	for name, m := range file.Metrics {
		for _, s := range m.Series {
			summary, known := all[keys[s.URL]]
			if !known {
				continue
			}
			family := summary.Metrics[name]
			family.Type, family.About, family.Unit = m.Type, m.About, m.Unit
			family.Series = append(family.Series, s.Series)
			summary.Metrics[name] = family
		}
	}
	return all, nil
}

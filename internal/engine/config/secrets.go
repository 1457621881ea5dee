package config

import (
	"encoding/json"
	"maps"
	"slices"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/redact"
)

// Secrets returns every text of the document that must not leave it: the API
// key, the values of headers, user information and key-like query values of
// URLs, values of sensitive members of extra, and what substitutions put into
// any of these. It is for the redactor's set of exact values; the order is
// without meaning, and no text is empty or occurs twice.
func (d *Document) Secrets() []string {
	var all []string
	e := &d.Benchmark.Endpoint
	all = append(all, e.APIKey.Reveal())
	for name, value := range e.Headers {
		if redact.SensitiveHeader(name) {
			all = append(all, value.Reveal())
		}
	}
	for _, u := range slices.Concat(e.addresses(), d.Benchmark.ServerMetrics.URLs, d.Benchmark.GPUTelemetry.URLs) {
		all = append(all, u.Secrets()...)
	}
	all = append(all, paramSecrets(e.URLParams)...)
	all = append(all, d.Benchmark.OTel.secrets()...)
	all = append(all, d.Benchmark.MLflow.secrets()...)
	for _, u := range []*secret.URL{d.Benchmark.Runtime.RemoteWrite, d.Benchmark.Runtime.PushGateway} {
		if u != nil {
			all = append(all, u.Secrets()...)
		}
	}
	all = append(all, objectSecrets(e.Extra)...)
	for _, dataset := range d.Benchmark.Datasets {
		for _, record := range dataset.Records {
			all = append(all, objectSecrets(record)...)
		}
	}
	all = append(all, d.injected...)
	if d.Sweep != nil {
		all = append(all, otherSecrets(d.Sweep.B)...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" })
}

// addresses returns all URLs and paths of servers.
func (e *Endpoint) addresses() []secret.URL {
	all := append([]secret.URL{e.Proxy}, e.URLs...)
	if e.Path != nil {
		all = append(all, secret.NewURL(*e.Path))
	}
	var optional []*secret.URL
	if r := e.ResetKVCache; r != nil {
		optional = append(optional, r.Path)
	}
	if p := e.ServerProfiler; p != nil {
		optional = append(optional, p.StartPath, p.StopPath)
	}
	for _, u := range optional {
		if u != nil {
			all = append(all, *u)
		}
	}
	return all
}

// Confidential returns the texts that ${secret:NAME} put into the document. No form of the
// document may show them, under any name.
func (d *Document) Confidential() []string { return d.confidential }

// hideMetadata removes secrets from the metadata, which is stored and shown as it is:
// values of labels with sensitive names, and the secrets of the document.
func hideMetadata(in *input) {
	m := &in.doc.Metadata
	for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
		value := m.Labels[name]
		if !redact.SensitiveName(name) || value == "" || value == redact.Placeholder {
			continue
		}
		in.doc.injected = append(in.doc.injected, value)
		m.Labels[name] = redact.Placeholder
		in.Warn(in.Where("metadata.labels"), problem.CodeHidden, "%s: the name is that of a secret; the value is shown as %s",
			problem.Clip(name), redact.Placeholder)
	}
	set, clean := redact.NewSet(in.doc.Secrets()...), make(Labels, len(m.Labels))
	for name, value := range m.Labels {
		clean[set.String(name)] = set.String(value)
	}
	if m.Labels != nil {
		m.Labels = clean
	}
	m.Name, m.Notes = set.String(m.Name), set.String(m.Notes)
}

// otherSecrets returns the texts that redact.Value hides in the part of the benchmark of another server.
func otherSecrets(t sweep.Tree) []string {
	value, err := json.Marshal(t)
	if err != nil {
		return nil
	}
	return secret.Hidden("benchmark", value)
}

// objectSecrets returns the texts that redact.Value hides in an object.
func objectSecrets(o Object) []string {
	var all []string
	for _, m := range o {
		all = append(all, secret.Hidden(m.Name, m.Value)...)
	}
	return all
}

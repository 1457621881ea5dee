package config

import (
	"net/url"
	"path"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/secret"
)

// otelPath is the canonical path of the section that sends metrics and spans to collectors.
const otelPath = "benchmark.otel"

// OTel is the collectors of OpenTelemetry that get the metrics and spans of the run while it is performed.
type OTel struct {
	MetricsURL    *secret.URL `json:"metricsUrl"` // nil = no metrics are sent
	StreamMetrics bool        `json:"streamMetricsEnabled"`
	StreamTiming  bool        `json:"streamTimingEnabled"`
	Attributes    Params      `json:"customResourceAttributes"`
	GenAIProvider *string     `json:"genAiProvider"` // nil = found by the server and the endpoint type

	Protocol    *string `json:"protocol"` // nil = found by the port of the URL
	Headers     Headers `json:"headers"`  // all are secret
	Timeout     Seconds `json:"timeout"`  // of one request
	Compression string  `json:"compression"`
	Histograms  string  `json:"histograms"`

	TracesURL    *secret.URL `json:"tracesUrl"`    // nil = no spans are sent
	TracesSample *float64    `json:"tracesSample"` // share of traces, from 0 to 1; nil = see Sample
	// which requests carry a traceparent: all, sampled, none; nil = sampled if spans are sent or received, else none
	Propagate *string `json:"propagate"`
	Receive   bool    `json:"receive"` // spans of servers at POST /v1/traces
}

// Sample returns the share of traces that are sampled: few of those that are sent, and all of which servers alone make
// spans.
func (o *OTel) Sample() float64 {
	const few, all = 0.01, 1
	switch {
	case o.TracesSample != nil:
		return *o.TracesSample
	case o.Receive && o.TracesURL == nil:
		return all
	}
	return few
}

// The values of propagate.
const (
	PropagateAll     = "all"
	PropagateSampled = "sampled"
	PropagateNone    = "none"
)

// Propagation returns which requests carry a traceparent.
func (o *OTel) Propagation() string {
	switch {
	case o.Propagate != nil:
		return *o.Propagate
	case o.TracesURL != nil, o.Receive:
		return PropagateSampled
	}
	return PropagateNone
}

// The protocols of OTLP.
const (
	OTLPHTTP = "http/protobuf"
	OTLPGRPC = "grpc"
)

// grpcPort is the port that is registered for OTLP over gRPC.
const grpcPort = "4317"

// Collector returns the URL of the collector of metrics and its protocol; nil = there is none.
func (o *OTel) Collector() (u *url.URL, protocol string) { return o.reached(o.MetricsURL) }

// TracesCollector returns the URL of the collector of spans and its protocol; nil = there is none.
func (o *OTel) TracesCollector() (u *url.URL, protocol string) { return o.reached(o.TracesURL) }

func (o *OTel) reached(collector *secret.URL) (u *url.URL, protocol string) {
	if collector == nil {
		return nil, ""
	}
	u, err := url.Parse(collector.Reveal())
	switch {
	case err != nil:
		return nil, "" // it was checked
	case o.Protocol != nil:
		return u, *o.Protocol
	case u.Port() == grpcPort:
		return u, OTLPGRPC
	}
	return u, OTLPHTTP
}

// secrets returns the texts that must not leave the section.
func (o *OTel) secrets() (all []string) {
	for _, u := range []*secret.URL{o.MetricsURL, o.TracesURL} {
		if u != nil {
			all = append(all, u.Secrets()...)
		}
	}
	for _, value := range o.Headers {
		all = append(all, value.Reveal())
	}
	return append(all, paramSecrets(o.Attributes)...)
}

// paramSecrets returns the values whose names are those of secrets.
func paramSecrets(p Params) (all []string) {
	for name, value := range p {
		if secret.SensitiveParam(name, value.Reveal()) {
			all = append(all, value.Reveal())
		}
	}
	return all
}

// mlflowPath is the canonical path of the section that writes results to MLflow.
const mlflowPath = "benchmark.mlflow"

// MLflow is a server that gets the results of the run when it has ended.
type MLflow struct {
	TrackingURI *secret.URL `json:"trackingUri"` // nil = nothing is sent
	Experiment  string      `json:"experiment"`
	RunName     *string     `json:"runName"`
	Tags        *Params     `json:"tags"`
	ParentRunID *string     `json:"parentRunId"`
	Globs       []string    `json:"artifactGlobs"` // nil = those of AIPerf

	Token secret.Text `json:"token"`
}

// secrets returns the texts that must not leave the section.
func (m *MLflow) secrets() (all []string) {
	if m.TrackingURI != nil {
		all = append(all, m.TrackingURI.Secrets()...)
	}
	if m.Tags != nil {
		all = append(all, paramSecrets(*m.Tags)...)
	}
	return append(all, m.Token.Reveal())
}

// checkMLflow checks that the fields of the section agree with each other.
func checkMLflow(in *input) {
	m := &in.doc.Benchmark.MLflow
	for i, glob := range m.Globs {
		if err := mlflowGlob(glob); err != "" {
			in.FailValue(in.At(schema.Join(mlflowPath+".artifactGlobs", strconv.Itoa(i))), problem.CodeOutOfRange, err)
		}
	}
	if in.Has(mlflowPath + ".trackingUri") {
		return
	}
	for name, differs := range map[string]bool{
		"experiment": m.Experiment != schema.Default[string](mlflowPath+".experiment"), "runName": m.RunName != nil,
		"tags": m.Tags != nil && len(*m.Tags) > 0, "parentRunId": m.ParentRunID != nil, "artifactGlobs": m.Globs != nil,
		"token": !m.Token.Empty(),
	} {
		if path := mlflowPath + "." + name; in.Has(path) && (differs || in.At(path).Flag != "") {
			in.Conflict(in.shown(path), "needs the URL of an MLflow server (trackingUri)")
		}
	}
}

// mlflowGlob returns the problem of a pattern of files, or "".
func mlflowGlob(glob string) string {
	for part := range strings.SplitSeq(glob, "/") {
		if _, err := path.Match(part, ""); err != nil || part == ".." || part == "" {
			return "must be a pattern of names below the folder of the run, such as *.json or plots/**/*.png"
		}
	}
	return ""
}

// checkOTel checks that the fields of the section agree with each other.
func checkOTel(in *input) {
	o := &in.doc.Benchmark.OTel
	metrics, traces := in.Has(otelPath+".metricsUrl"), in.Has(otelPath+".tracesUrl")
	needs := func(requirement string, given map[string]bool) {
		for name, differs := range given {
			if path := otelPath + "." + name; in.Has(path) && (differs || in.At(path).Flag != "") {
				in.Conflict(in.shown(path), requirement)
			}
		}
	}
	if !metrics {
		needs("needs the URL of a collector (metricsUrl)", map[string]bool{
			"streamMetricsEnabled": !o.StreamMetrics, "streamTimingEnabled": !o.StreamTiming,
		})
	}
	if !metrics && !traces {
		needs("needs the URL of a collector (metricsUrl or tracesUrl)", map[string]bool{
			"customResourceAttributes": len(o.Attributes) > 0, "genAiProvider": o.GenAIProvider != nil,
			"protocol": o.Protocol != nil, "headers": len(o.Headers) > 0,
		})
	}
	if !traces && o.Propagation() == PropagateNone {
		needs("needs the URL of a collector (tracesUrl), requests that carry it (propagate), or servers that send spans (receive)", map[string]bool{
			"tracesSample": o.TracesSample != nil,
		})
	}
	if o.Receive && o.Propagation() == PropagateNone {
		in.Conflict(in.shown(otelPath+".receive"), "needs requests that carry a traceparent: propagate must not be none")
	}
	if metrics && !o.StreamMetrics && !o.StreamTiming {
		in.Conflict(otelPath+".streamMetricsEnabled",
			"must not be off together with streamTimingEnabled: nothing would be sent")
	}
	for name, collector := range map[string]*secret.URL{"metricsUrl": o.MetricsURL, "tracesUrl": o.TracesURL} {
		if u, protocol := o.reached(collector); u != nil && protocol == OTLPGRPC && u.Path != "" && u.Path != "/" {
			in.FailValue(in.At(otelPath+"."+name), problem.CodeOutOfRange, "must have no path with the protocol grpc")
		}
	}
	checkPropagation(in)
}

// checkPropagation checks that requests get one traceparent.
func checkPropagation(in *input) {
	if in.doc.Benchmark.OTel.Propagation() == PropagateNone {
		return
	}
	for name := range in.doc.Benchmark.Endpoint.Headers {
		if strings.EqualFold(name, "traceparent") {
			in.Conflict(in.shown(schema.Join(endpointPath+".headers", name)),
				"must not be given while requests get this header of their own (otel.propagate is not none)")
		}
	}
}

package config

import (
	"net/url"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/secret"
)

// otelPath is the canonical path of the section that sends metrics to a collector.
const otelPath = "benchmark.otel"

// OTel is a collector of OpenTelemetry that gets the metrics of the run while it is performed.
type OTel struct {
	MetricsURL    *secret.URL `json:"metricsUrl"` // nil = nothing is sent
	StreamMetrics bool        `json:"streamMetricsEnabled"`
	StreamTiming  bool        `json:"streamTimingEnabled"`
	Attributes    Params      `json:"customResourceAttributes"`
	GenAIProvider *string     `json:"genAiProvider"` // nil = found by the server and the endpoint type

	Protocol    *string `json:"protocol"` // nil = found by the port of the URL
	Headers     Headers `json:"headers"`  // all are secret
	Timeout     Seconds `json:"timeout"`  // of one request
	Compression string  `json:"compression"`
	Histograms  string  `json:"histograms"`
}

// The protocols of OTLP.
const (
	OTLPHTTP = "http/protobuf"
	OTLPGRPC = "grpc"
)

// grpcPort is the port that is registered for OTLP over gRPC.
const grpcPort = "4317"

// Collector returns the URL of the collector and its protocol; nil = there is none.
func (o *OTel) Collector() (u *url.URL, protocol string) {
	if o.MetricsURL == nil {
		return nil, ""
	}
	u, err := url.Parse(o.MetricsURL.Reveal())
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
	if o.MetricsURL != nil {
		all = append(all, o.MetricsURL.Secrets()...)
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

// checkOTel checks that the fields of the section agree with each other.
func checkOTel(in *input) {
	o := &in.doc.Benchmark.OTel
	if !in.Has(otelPath + ".metricsUrl") {
		for name, differs := range map[string]bool{
			"streamMetricsEnabled": !o.StreamMetrics, "streamTimingEnabled": !o.StreamTiming,
			"customResourceAttributes": len(o.Attributes) > 0, "genAiProvider": o.GenAIProvider != nil,
			"protocol": o.Protocol != nil, "headers": len(o.Headers) > 0,
		} {
			if path := otelPath + "." + name; in.Has(path) && (differs || in.At(path).Flag != "") {
				in.Conflict(in.shown(path), "needs the URL of a collector (metricsUrl)")
			}
		}
		return
	}
	if !o.StreamMetrics && !o.StreamTiming {
		in.Conflict(otelPath+".streamMetricsEnabled",
			"must not be off together with streamTimingEnabled: nothing would be sent")
	}
	if u, protocol := o.Collector(); u != nil && protocol == OTLPGRPC && u.Path != "" && u.Path != "/" {
		in.FailValue(in.At(otelPath+".metricsUrl"), problem.CodeOutOfRange, "must have no path with the protocol grpc")
	}
}

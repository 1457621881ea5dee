package flags

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/redact"
)

// layVariables lays the environment variables that stand for options which were not typed.
func layVariables(b *overlay) {
	env := b.flags.Options.LookupEnv
	if env == nil {
		return
	}
	layKeyVariables(b)
	layVariable(b, "AIPERF_API_SERVER_PORT", "runtime.apiPort")
	if b.find("runtime.apiPort") != nil {
		layVariable(b, "AIPERF_API_SERVER_HOST", "runtime.apiHost")
	}
	layVariable(b, "AIPERF_HTTP_SSL_VERIFY", "endpoint.tlsVerify")
	layVariable(b, "AIPERF_DAG_FAIL_FAST", "dataset.dagFailFast")
	layVariable(b, "AIPERF_UI_REALTIME_METRICS_INTERVAL", "runtime.statsInterval")
	layVariable(b, "AIPERF_SERVER_METRICS_COLLECTION_INTERVAL", "serverMetrics.interval")
	layVariable(b, "AIPERF_GPU_COLLECTION_INTERVAL", "gpuTelemetry.interval")
	if b.find("endpoint.proxy") == nil && b.find("endpoint.unixSocket") == nil {
		layVariable(b, "AIPERF_HTTP_TRUST_ENV", "endpoint.proxyFromEnv")
	}
	if b.find("endpoint.unixSocket") == nil {
		layVariable(b, "AIPERF_HTTP_IP_VERSION", "endpoint.ipVersion")
	}
	layAffinityVariables(b)
	layOTelVariables(b)
	layMLflowVariables(b)
	for _, name := range ignoredVariables() {
		if value, ok := env(name); ok && value != "" {
			b.draft.Warn(tree.Place{Flag: name, Order: lateOrder}, problem.CodeNoEffect, "%s: not supported by aiperfd yet; it has no effect", name)
		}
	}
}

// lateOrder sorts problems of variables behind those of options.
const lateOrder = 1 << 20

// ignoredVariables lists variables that change what AIPerf measures or sends, and
// have no effect here, except those about its processes.
func ignoredVariables() []string {
	return []string{
		"AIPERF_HTTP_CONNECTION_LIMIT", "AIPERF_HTTP_KEEPALIVE_TIMEOUT",
		"AIPERF_HTTP_SO_RCVBUF", "AIPERF_HTTP_SO_SNDBUF", "AIPERF_HTTP_TCP_USER_TIMEOUT",
		"AIPERF_HTTP_VIDEO_POLL_INTERVAL", "AIPERF_ENDPOINT_FORCE_CONTENT_PARTS",
		"AIPERF_METRICS_OSL_MISMATCH_PCT_THRESHOLD", "AIPERF_METRICS_OSL_MISMATCH_MAX_TOKEN_THRESHOLD",
		"AIPERF_METRICS_USAGE_PCT_DIFF_THRESHOLD", "AIPERF_TIMING_CANCEL_DRAIN_TIMEOUT",
	}
}

// layAffinityVariables builds the list of headers that carry the session id from the
// variables that switch each of them.
func layAffinityVariables(b *overlay) {
	const path = "endpoint.affinityHeaders"
	if b.find(path) != nil {
		return
	}
	headers, changed := tree.ListNode(), false
	for _, v := range []struct {
		name, header string
		on           bool // without the variable
	}{
		{"AIPERF_HTTP_X_SESSION_AFFINITY_FROM_CORRELATION_ID", schema.Default[[]string]("benchmark.endpoint.affinityHeaders")[0], true},
		{"AIPERF_HTTP_X_SESSION_ID_FROM_CORRELATION_ID", "X-Session-ID", false},
		{"AIPERF_HTTP_X_SMG_ROUTING_KEY_FROM_CORRELATION_ID", "X-SMG-Routing-Key", false},
		{"AIPERF_HTTP_X_DYNAMO_SESSION_ID_FROM_CORRELATION_ID", "X-Dynamo-Session-ID", false},
	} {
		on := v.on
		if value, ok := b.flags.Options.LookupEnv(v.name); ok && value != "" {
			occ := &occurrence{spelling: v.name, order: lateOrder}
			switch boolText(value) {
			case "true":
				on = true
			case "false":
				on = false
			default:
				b.fail(occ, problem.CodeWrongType, "must be true or false")
				return
			}
		}
		changed = changed || on != v.on
		if header := b.find("endpoint.sessionHeader"); on && !(header != nil && strings.EqualFold(header.Scalar, v.header)) {
			headers.Items = append(headers.Items, tree.TextNode(v.header))
		}
	}
	if changed {
		b.set(path, &occurrence{spelling: "AIPERF_HTTP_X_…_FROM_CORRELATION_ID", order: lateOrder}, headers)
	}
}

// boolText reads a boolean as AIPerf's variables are written; "" = it is none.
func boolText(value string) string {
	switch strings.ToLower(value) {
	case "true", "1", "yes", "on":
		return "true"
	case "false", "0", "no", "off":
		return "false"
	}
	return ""
}

// layKeyVariables takes an API key from the environment if no other credentials are
// given.
func layKeyVariables(b *overlay) {
	if style := b.find("endpoint.authStyle"); b.find("endpoint.apiKeyFile") != nil || style != nil && style.Scalar == "none" {
		return
	}
	if headers := b.find("endpoint.headers"); headers != nil && slices.ContainsFunc(headers.Members, func(m tree.Member) bool {
		return strings.EqualFold(m.Name, "Authorization")
	}) {
		return
	}
	for _, name := range []string{"AIPERFD_API_KEY", "OPENAI_API_KEY"} {
		if value, ok := b.flags.Options.LookupEnv(name); ok && value != "" && b.find("endpoint.apiKey") == nil {
			layVariable(b, name, "endpoint.apiKey")
			b.draft.Infer("benchmark.endpoint.apiKey", redact.Placeholder, "the environment variable "+name)
		}
	}
}

// layVariable lays an environment variable, unless its path has a value.
func layVariable(b *overlay, name, path string) {
	value, ok := b.flags.Options.LookupEnv(name)
	if !ok || value == "" || b.find(path) != nil {
		return
	}
	occ := &occurrence{spelling: name, order: lateOrder, values: []string{value}}
	n := tree.TextNode(value)
	switch path {
	case "runtime.apiPort", "runtime.statsInterval", "otel.timeout", "serverMetrics.interval", "gpuTelemetry.interval":
		n = b.number(occ)
	case "endpoint.tlsVerify", "endpoint.proxyFromEnv", "dataset.dagFailFast":
		if known := boolText(value); known != "" {
			n = &tree.Node{Shape: tree.Boolean, Scalar: known}
		}
	}
	b.set(path, occ, n)
}

// layOTelVariables lays the standard variables of exporters of OpenTelemetry. A variable of one signal goes before
// that of all signals.
func layOTelVariables(b *overlay) {
	if _, off := otelVariable(b, "OTEL_SDK_DISABLED"); strings.EqualFold(off, "true") {
		return
	}
	if _, exporter := otelVariable(b, "OTEL_METRICS_EXPORTER"); exporter != "none" && b.find("otel.metricsUrl") == nil {
		_, protocol := otelVariable(b, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
		layCollector(b, protocol)
	}
	if _, exporter := otelVariable(b, "OTEL_TRACES_EXPORTER"); exporter != "none" {
		layVariable(b, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "otel.tracesUrl")
	}
	if b.find("otel.metricsUrl") == nil && b.find("otel.tracesUrl") == nil {
		return
	}
	name, value := exporterVariable(b, "PROTOCOL")
	layOTelText(b, "otel.protocol", name, value)
	name, value = exporterVariable(b, "COMPRESSION")
	layOTelText(b, "otel.compression", name, value)
	layVariable(b, "AIPERF_OTEL_REQUEST_TIMEOUT_SECONDS", "otel.timeout")
	name, value = exporterVariable(b, "TIMEOUT")
	if value != "" && b.find("otel.timeout") == nil {
		layOTelTimeout(b, name, value)
	}
	name, value = exporterVariable(b, "HEADERS")
	layOTelPairs(b, "otel.headers", name, value)
	name, value = otelVariable(b, "OTEL_RESOURCE_ATTRIBUTES")
	layOTelPairs(b, "otel.customResourceAttributes", name, value)
	if name, value = otelVariable(b, "OTEL_SERVICE_NAME"); value != "" {
		layOTelPairs(b, "otel.customResourceAttributes", name, "service.name="+url.PathEscape(value))
	}
}

// exporterVariable returns a setting of the exporters: that of the only signal that is sent, else that of all
// signals. If both signals are sent, that of one would count for the other, so that it is an error.
func exporterVariable(b *overlay, setting string) (name, value string) {
	const prefix = "OTEL_EXPORTER_OTLP_"
	all := prefix + setting
	metrics, traces := b.find("otel.metricsUrl") != nil, b.find("otel.tracesUrl") != nil
	if !metrics {
		return otelVariable(b, prefix+"TRACES_"+setting, all)
	}
	if !traces {
		return otelVariable(b, prefix+"METRICS_"+setting, all)
	}
	for _, signal := range []string{"METRICS_", "TRACES_"} {
		if name, value := otelVariable(b, prefix+signal+setting); value != "" {
			b.fail(&occurrence{spelling: name, order: lateOrder}, problem.CodeConflict,
				"must not be given if metrics and spans are sent: both have the same settings; give "+all)
		}
	}
	return otelVariable(b, all)
}

// layMLflowVariables lays the variables of MLflow's own clients that hold credentials.
func layMLflowVariables(b *overlay) {
	if b.find("mlflow.trackingUri") == nil {
		return
	}
	layVariable(b, "MLFLOW_TRACKING_TOKEN", "mlflow.token")
}

// otelVariable returns the first of some variables that has a value.
func otelVariable(b *overlay, names ...string) (name, value string) {
	for _, name := range names {
		if value, ok := b.flags.Options.LookupEnv(name); ok && value != "" {
			return name, value
		}
	}
	return "", ""
}

// layCollector takes the URL of the collector: that of metrics as it is, that of all signals without the path
// of metrics.
func layCollector(b *overlay, protocol string) {
	layVariable(b, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "otel.metricsUrl")
	const all = "OTEL_EXPORTER_OTLP_ENDPOINT"
	value, _ := b.flags.Options.LookupEnv(all)
	u, err := url.Parse(value)
	if value == "" || b.find("otel.metricsUrl") != nil {
		return
	}
	if err == nil && strings.Trim(u.Path, "/") != "" && protocol != config.OTLPGRPC {
		value = u.JoinPath("v1/metrics").String()
	}
	layOTelText(b, "otel.metricsUrl", all, value)
}

// layOTelText lays a text, unless its path has a value.
func layOTelText(b *overlay, path, name, value string) {
	if value != "" && b.find(path) == nil {
		b.set(path, &occurrence{spelling: name, order: lateOrder}, tree.TextNode(value))
	}
}

// layOTelTimeout lays a timeout, which variables give in milliseconds.
func layOTelTimeout(b *overlay, name, value string) {
	occ := &occurrence{spelling: name, order: lateOrder, values: []string{value}}
	ms, err := strconv.Atoi(value)
	if err != nil {
		b.fail(occ, problem.CodeWrongType, "must be a whole number of milliseconds")
		return
	}
	b.set("otel.timeout", occ, &tree.Node{Shape: tree.Number, Scalar: schema.FormatNumber(float64(ms) / 1000)})
}

// layOTelPairs lays name=value pairs, whose values are escaped as in URLs. Pairs that are given already stay.
func layOTelPairs(b *overlay, path, name, text string) {
	if text == "" {
		return
	}
	occ := &occurrence{spelling: name, order: lateOrder}
	into := b.find(path)
	if into == nil || into.Shape != tree.Object {
		into = tree.ObjectNode()
	}
	for piece := range strings.SplitSeq(text, ",") {
		key, escaped, ok := strings.Cut(strings.TrimSpace(piece), "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(escaped))
		_, given := into.Named(key)
		switch {
		case piece == "" || given:
		case !ok || key == "" || err != nil:
			b.fail(occ, problem.CodeWrongType, "must be name=value pairs with commas between them, their values escaped as in URLs")
			return
		default:
			put(into, key, tree.TextNode(value))
		}
	}
	b.set(path, occ, into)
	markPlaces(into, occ)
}

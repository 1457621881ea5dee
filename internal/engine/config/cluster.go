package config

// checkCluster checks that a run can be divided among load generators.
func checkCluster(in *input, c *Cluster) {
	const section = "benchmark.cluster"
	if c == nil {
		return
	}
	if !in.Has(section + ".workers") {
		in.require(section+".workers", "the number of load generators is required")
	}
	b := &in.doc.Benchmark
	for i := range b.Phases {
		if b.Phases[i].Seamless {
			in.Conflict(PhasePath(i)+".seamless",
				"cannot be combined with several load generators, which begin every phase together")
		}
	}
	const ofRecords = "with several load generators: the results are computed from the records"
	if b.Artifacts.KeepRecords != "all" {
		in.Conflict("benchmark.artifacts.keepRecords", "must be all "+ofRecords)
	}
	if b.Artifacts.RecordFormat != "jsonl" {
		in.Conflict("benchmark.artifacts.recordFormat", "must be jsonl "+ofRecords)
	}
	for _, field := range []struct {
		path  string
		given bool
	}{
		{"artifacts.level", b.Artifacts.Level == "raw"},
		{"artifacts.exportOutputsJson", b.Artifacts.ExportOutputs},
		{"endpoint.serverProfiler", b.Endpoint.ServerProfiler != nil},
		{"networkLatency.enabled", b.NetworkLatency.Enabled},
		{"client.certify", b.Client.Certify == "before" || b.Client.Certify == "after"},
		{"otel.metricsUrl", b.OTel.MetricsURL != nil},
		{"otel.tracesUrl", b.OTel.TracesURL != nil},
		{"otel.receive", b.OTel.Receive},
		{"mlflow.trackingUri", b.MLflow.TrackingURI != nil},
	} {
		if field.given {
			in.Conflict("benchmark."+field.path, "cannot be combined with several load generators")
		}
	}
}

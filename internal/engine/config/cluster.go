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
	for i := range in.doc.Benchmark.Phases {
		if p := &in.doc.Benchmark.Phases[i]; p.Seamless {
			in.Conflict(PhasePath(i)+".seamless",
				"cannot be combined with several load generators, which begin every phase together")
		}
	}
	const ofRecords = "the results are computed from the records"
	a := &in.doc.Benchmark.Artifacts
	if a.KeepRecords != "all" {
		in.Conflict("benchmark.artifacts.keepRecords", "must be all with several load generators: "+ofRecords)
	}
	if a.RecordFormat != "jsonl" {
		in.Conflict("benchmark.artifacts.recordFormat", "must be jsonl with several load generators: "+ofRecords)
	}
}

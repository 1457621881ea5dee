package config

import "aiperfd/internal/engine/config/problem"

const gpuTelemetryPath = "benchmark.gpuTelemetry"

// The collectors of GPU telemetry.
const (
	CollectorDCGM   = "dcgm"
	CollectorNVIDIA = "pynvml" // AIPerf's name for NVIDIA's cards of this machine
	CollectorAMD    = "amdsmi" // AIPerf's name for AMD's
)

// checkGPUTelemetry checks that the fields of the section agree with each other.
func checkGPUTelemetry(in *input, g *GPUTelemetry) {
	const urls, collector, mode = gpuTelemetryPath + ".urls", gpuTelemetryPath + ".collector", gpuTelemetryPath + ".mode"
	if g.Collector != CollectorDCGM && in.Has(urls) && len(g.URLs) > 0 {
		in.Conflict(urls, "conflicts with the collector "+g.Collector+", which reads the cards of this machine")
	}
	if in.Has(mode) && g.Mode == "realtime_dashboard" {
		in.Warn(in.Where(mode), problem.CodeNoEffect, "%s: realtime_dashboard has no effect: "+
			"GET /api/runs/{id}/telemetry has the GPUs while a run goes on", problem.Label(in.Where(mode)))
	}
	if off := in.At(gpuTelemetryPath + ".enabled"); !g.Enabled && off != nil && off.Flag != "" {
		for _, path := range []string{
			urls, collector, mode, gpuTelemetryPath + ".metricsFile", gpuTelemetryPath + ".idleBaseline",
		} {
			if in.Has(path) && in.At(path).Flag != "" {
				in.Conflict(path, "conflicts with --no-gpu-telemetry; use only one of them")
				break
			}
		}
	}
	if g.MetricsFile != nil {
		checkFile(in, gpuTelemetryPath+".metricsFile", *g.MetricsFile)
	}
}

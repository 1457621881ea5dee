package config

import (
	"aiperfd/internal/engine/config/problem"
)

// checkNetworkLatency checks that the fields of the section agree with each other.
func checkNetworkLatency(in *input, n *NetworkLatency) {
	const section = "benchmark.networkLatency"
	const interval, mean = section + ".pingInterval", section + ".meanMs"
	if in.Has(interval) && !n.Enabled && in.At(interval).Flag != "" {
		in.Fail(in.At(interval).Place, problem.CodeConflict,
			"--network-latency-ping-interval: needs --network-latency-automatic")
	}
	if in.Has(mean) && n.MeanMS != nil && !n.Enabled {
		in.noEffect(mean, ": has no effect, because networkLatency.enabled is not true")
	}
}

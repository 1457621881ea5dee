// Package plot draws the results of runs and sweeps as PNG and SVG files: throughput
// against latency, Pareto fronts, requests over time, distributions. It reads the
// result files, those of NVIDIA AIPerf included, and needs no browser.
package plot

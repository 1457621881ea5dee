package config

import (
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/secret"
)

const serverMetricsPath = "benchmark.serverMetrics"

// serverMetricsFormats are the formats of the files with the metrics of servers.
func serverMetricsFormats() []string { return []string{"json", "csv", "jsonl", "parquet"} }

// checkServerMetrics checks that the fields of the section agree with each other.
func checkServerMetrics(in *input, s *ServerMetrics) {
	const formats = serverMetricsPath + ".formats"
	if in.Has(formats) && !in.Failed[formats] {
		list := in.At(formats)
		for i := range s.Formats {
			s.Formats[i] = strings.ToLower(s.Formats[i])
			switch name := s.Formats[i]; {
			case !slices.Contains(serverMetricsFormats(), name):
				in.FailValue(list.Items[i], problem.CodeBadEnum, "must be json, csv, jsonl or parquet")
			case slices.Contains(s.Formats[:i], name):
				in.Fail(list.Items[i].Place, problem.CodeConflict, "%s: %s is given twice", problem.Label(list.Items[i].Place), name)
			}
		}
	}
	const urls = serverMetricsPath + ".urls"
	if off := in.At(serverMetricsPath + ".enabled"); !s.Enabled && off != nil && off.Flag != "" && in.Has(urls) && in.At(urls).Flag != "" {
		in.Conflict(urls, "conflicts with --no-server-metrics; use only one of them")
	}
	for i, u := range s.URLs {
		if name, ok := strings.CutPrefix(u.Reveal(), secret.TargetsFile); ok {
			checkFile(in, urls+"."+strconv.Itoa(i), name)
		}
	}
	if s.Map != nil {
		checkFile(in, serverMetricsPath+".map", *s.Map)
	}
}

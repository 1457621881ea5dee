package window

import (
	"regexp"
	"strings"
)

// unitSuffix is the end of a name that says what is counted.
type unitSuffix struct{ suffix, unit string }

// unitSuffixes are AIPerf's, the longest first.
func unitSuffixes() []unitSuffix {
	return []unitSuffix{
		{"request_success", "requests"},
		{"_milliseconds", "milliseconds"}, {"_microseconds", "microseconds"}, {"_nanoseconds", "nanoseconds"},
		{"_kilobytes", "kilobytes"}, {"_megabytes", "megabytes"}, {"_gigabytes", "gigabytes"},
		{"_requests", "requests"}, {"_percent", "percent"}, {"_celsius", "celsius"}, {"_seconds", "seconds"},
		{"_joules", "joules"}, {"_tokens", "tokens"}, {"_errors", "errors"}, {"_blocks", "blocks"}, {"_bytes", "bytes"},
		{"_watts", "watts"}, {"_ratio", "ratio"}, {"_count", "count"}, {"_reqs", "requests"}, {"_perc", "percent"},
		{"_gb_s", "gigabytes_per_second"}, {"_ms", "milliseconds"}, {"_us", "microseconds"}, {"_ns", "nanoseconds"},
	}
}

var (
	ratioHelp = regexp.MustCompile(
		`(?i)\(0(\.0)?\s*(-|to|–)\s*1(\.0)?\)|\b0(\.0)? to 1(\.0)?\b|1 means 100 percent`,
	)
	percentHelp = regexp.MustCompile(`(?i)\(0\s*(-|to|–)\s*100\)`)
	inHelp      = regexp.MustCompile(`(?i)(?:\bin |\()` +
		`(seconds|milliseconds|microseconds|nanoseconds|bytes|tokens|joules|watts|celsius)\b`)
)

// unitOf infers the unit of a family from its description and its name, as AIPerf does; "" = it is unknown.
func unitOf(name, help string) string {
	switch {
	case ratioHelp.MatchString(help):
		return "ratio"
	case percentHelp.MatchString(help):
		return "percent"
	}
	if found := inHelp.FindStringSubmatch(help); found != nil {
		return strings.ToLower(found[1])
	}
	bare := strings.TrimSuffix(name, "_total")
	for _, s := range unitSuffixes() {
		if strings.HasSuffix(bare, s.suffix) {
			return s.unit
		}
	}
	if strings.Contains(name, "num_requests_") {
		return "requests"
	}
	return ""
}

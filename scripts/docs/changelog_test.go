package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestChangelog: the headings are those of Keep a Changelog 1.1.0, what is not released
// first, then the versions with their dates, the latest first. scripts/dist.sh looks for
// the heading of the version that it builds.
func TestChangelog(t *testing.T) {
	kinds := []string{"### Added", "### Changed", "### Deprecated", "### Removed", "### Fixed", "### Security"}
	var seen []string // headings of the current version
	above := []int{math.MaxInt}
	for i, line := range strings.Split(text(t, "../../CHANGELOG.md"), "\n") {
		var major, minor, patch, year, month, day int
		switch _, err := fmt.Sscanf(line, "## [%d.%d.%d] - %d-%d-%d", &major, &minor, &patch, &year, &month, &day); {
		case err == nil && seen != nil:
			version := []int{major, minor, patch}
			if slices.Compare(version, above) >= 0 {
				t.Errorf("line %d: %s stands below version %v", i+1, line, above)
			}
			seen, above = []string{line}, version
		case line == "## [Unreleased]" && seen == nil:
			seen = []string{line}
		case slices.Contains(kinds, line) && seen != nil && !slices.Contains(seen, line):
			seen = append(seen, line)
		case strings.HasPrefix(line, "#") && i > 0:
			t.Errorf("line %d: %q; want [Unreleased] once and first, versions as [0.2.0] - 2026-05-04, and in each at most once %q", i+1, line, kinds)
		}
	}
	if len(above) != 3 {
		t.Error("no version")
	}
}

package main

import "runtime/debug"

// The linker sets these.
//
//nolint:gochecknoglobals // the linker can set nothing else
var (
	version    = "dev"
	commitDate = "" // such as 2026-05-04; empty = as the toolchain recorded it
)

// committed returns the date of the commit that was built, or "unknown date".
func committed() string {
	if commitDate != "" {
		return commitDate
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.time" && len(s.Value) >= len("2026-05-04") {
				return s.Value[:len("2026-05-04")]
			}
		}
	}
	return "unknown date"
}

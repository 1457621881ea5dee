package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// The linker sets these.
//
//nolint:gochecknoglobals // the linker can set nothing else
var (
	version    = "dev"
	revision   = "" // of the commit; empty = as recorded by the toolchain
	commitDate = "" // such as 2026-05-04T10:00:00Z; empty = as recorded by the toolchain
)

// build describes a binary. Commit and date are empty if it was built outside
// version control.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Date     string `json:"date"`     // of the commit, RFC 3339
	Modified bool   `json:"modified"` // there were uncommitted changes
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func thisBuild() build {
	b := build{
		Version: version, Commit: revision, Date: commitDate, Modified: strings.HasSuffix(version, "-dirty"),
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = cmp.Or(b.Commit, s.Value)
		case "vcs.time":
			b.Date = cmp.Or(b.Date, s.Value)
		case "vcs.modified":
			b.Modified = b.Modified || s.Value == "true"
		}
	}
	return b
}

// String returns the version and the build in one line.
func (b build) String() string {
	day, _, _ := strings.Cut(b.Date, "T")
	if day != "" {
		day += ", "
	}
	return fmt.Sprintf("%s (%s%s, %s/%s)", b.Version, day, b.Go, b.OS, b.Arch)
}

func newVersionCommand() *cobra.Command {
	var asJSON bool
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case format != "" && format != "json":
				return exitWith(exitUsage, fmt.Errorf("--output %q: must be json", format))
			case asJSON || format == "json":
				out := json.NewEncoder(cmd.OutOrStdout())
				out.SetIndent("", "  ")
				return out.Encode(thisBuild())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "aiperfd", thisBuild())
			return err
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "`format` of the output: json, with version, commit, date and Go version (default a line of text)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as -o json")
	return cmd
}

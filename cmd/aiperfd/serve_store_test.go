package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"aiperfd/internal/upkeep"
)

func TestStoreFlags(t *testing.T) {
	for _, test := range []struct {
		args string
		want upkeep.Rules
		err  string
	}{
		{"", upkeep.Rules{MaxRuns: 1000, MinFree: 1 << 30}, ""},
		{"--retain-runs 0 --retain-bytes 50GiB --retain-age 90d --min-free-disk 0", upkeep.Rules{MaxBytes: 50 << 30, MaxAge: 90 * 24 * time.Hour}, ""},
		{"--retain-bytes 1.5GB --retain-age 36h30m --min-free-disk 512MiB", upkeep.Rules{MaxRuns: 1000, MaxBytes: 15e8, MaxAge: 36*time.Hour + 30*time.Minute, MinFree: 512 << 20}, ""},
		{"--retain-bytes 1000 --retain-age 0.5d", upkeep.Rules{MaxRuns: 1000, MaxBytes: 1000, MaxAge: 12 * time.Hour, MinFree: 1 << 30}, ""},
		{"--retain-runs -1", upkeep.Rules{}, "--retain-runs -1: must be 0 or more"},
		{"--retain-bytes -1", upkeep.Rules{}, `"-1" for "--retain-bytes" flag: must be a number of bytes`},
		{"--retain-bytes NaN", upkeep.Rules{}, "must be a number of bytes"},
		{"--retain-bytes 9999999TiB", upkeep.Rules{}, "must be a number of bytes"},
		{"--min-free-disk GiB", upkeep.Rules{}, "must be a number of bytes, or one with a unit as 1GiB"},
		{"--retain-age 90", upkeep.Rules{}, `"90" for "--retain-age" flag: must be a length of time as 90d`},
		{"--retain-age -1d", upkeep.Rules{}, "must be a length of time"},
		{"--retain-age NaNd", upkeep.Rules{}, "must be a length of time"},
		{"--retain-age 1e9d", upkeep.Rules{}, "must be a length of time"},
	} {
		fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		fs.SetOutput(io.Discard)
		var f storeFlags
		f.add(fs)
		err := fs.Parse(strings.Fields(test.args))
		var got upkeep.Rules
		if err == nil {
			got, err = f.rules()
		}
		switch {
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s: %v, want an error with %q", test.args, err, test.err)
		case test.err == "" && err != nil:
			t.Errorf("%s: %v", test.args, err)
		case test.err == "":
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.args, diff)
			}
		}
	}
}

// The defaults are shown as they are typed.
func TestStoreFlagDefaults(t *testing.T) {
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	new(storeFlags).add(fs)
	for name, want := range map[string]string{"min-free-disk": "1GiB", "retain-bytes": "0", "retain-age": "0", "retain-runs": "1000"} {
		if got := fs.Lookup(name).DefValue; got != want {
			t.Errorf("default of --%s = %q, want %q", name, got, want)
		}
	}
}

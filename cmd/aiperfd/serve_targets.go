package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"aiperfd/internal/app"
	"aiperfd/internal/engine/allow"
)

// targetFlags say which servers submitted documents may reach.
type targetFlags struct{ allow []string }

func (f *targetFlags) add(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.allow, "allow-target", nil, "`pattern` of servers that submitted documents may reach: host[:port], *.suffix[:port], *, address or CIDR[:port], unix:/path (repeatable); default all but metadata services, link-local addresses and the daemon itself, and none if the API listens on a network address")
}

// options returns what the flags mean.
func (f *targetFlags) options() (app.TargetOptions, error) {
	patterns, err := allow.ParseAll(f.allow)
	if err != nil {
		return app.TargetOptions{}, fmt.Errorf("--allow-target: %w", err)
	}
	return app.TargetOptions{Patterns: patterns}, nil
}

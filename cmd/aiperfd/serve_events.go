package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"aiperfd/internal/api"
)

// eventFlags bound the streams of server-sent events.
type eventFlags struct{ streams int }

func (f *eventFlags) add(fs *pflag.FlagSet) {
	fs.IntVar(&f.streams, "max-event-streams", api.DefaultMaxStreams, "maximum `number` of streams of server-sent events")
}

// options checks the flags and returns the maximal number of streams.
func (f *eventFlags) options() (int, error) {
	if f.streams < 1 {
		return 0, fmt.Errorf("--max-event-streams %d: must be at least 1", f.streams)
	}
	return f.streams, nil
}

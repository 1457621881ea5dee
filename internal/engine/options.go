package engine

import (
	"context"
	"net"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/certify"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/run"
)

// Defaults of [Options].
const (
	DefaultMaxRuns   = 1
	DefaultMaxQueued = 100

	DefaultStopGrace   = 30 * time.Second
	DefaultStopTimeout = 65 * time.Second
)

// Options configure an [Engine].
type Options struct {
	Store     run.Store
	Publisher run.Publisher // nil = events are discarded
	Log       zerolog.Logger
	Version   string
	MaxRuns   int  // runs at a time; 0 = 1, because load generators disturb each other
	MaxQueued int  // 0 = 100
	Caps      Caps // of submissions; the zero value allows everything
	// Load configures the loading of documents that an earlier process queued.
	Load config.LoadOptions
	// Allow decides which servers runs may connect to; nil = all.
	Allow *allow.List
	// Dial opens connections to targets; nil = the system's. Tests use an
	// in-memory network.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Reference opens the network between the client and its reference server when
	// it certifies itself; nil = the loopback interface. Tests use one in memory.
	Reference func() (net.Listener, certify.Dial, error)
	// Idle is called when a run has ended and no other one is active or waits; nil = nothing
	// is done.
	Idle func()
	// Pacer returns the pacer with which open loops wait for due times; nil =
	// [pace.Timers]. [pace.Precise] is for real time only.
	Pacer func() pace.Waiter
	// Hub locates the tokenizers of models; with the zero value, none is found.
	Hub hub.Options
	// TraceCache is the folder for session graphs of recorded traces that were read; empty =
	// there is none.
	TraceCache string
	// Monitor configures how the engine monitors its process during a run; the zero
	// value monitors this process in real time. Tests in virtual time replace the
	// timer and the host.
	Monitor monitor.Options
	// DiskReserve is how many bytes of the disk the record files of a run leave free;
	// 0 = [collect.DefaultReserve].
	DiskReserve int64
	// Recovered is called when the runs of an earlier process are known; nil = nobody.
	// The results of interrupted ones may still be computed.
	Recovered func()
	// StopGrace bounds the grace period of requests in flight when the process stops;
	// 0 = DefaultStopGrace.
	StopGrace time.Duration
	// StopTimeout is how long active runs have to end and to write their results when the
	// process stops; 0 = DefaultStopTimeout. The next process ends those that have not.
	StopTimeout time.Duration
	// Fleet performs runs on several load generators; nil = there are none.
	Fleet Fleet
	// Switch stores whether the queue is paused; nil = this process only remembers it.
	Switch run.Switch
	// Wall reads the system clock for the times of runs; nil = [time.Now].
	Wall func() time.Time
}

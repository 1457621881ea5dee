package cluster_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"aiperfd/internal/cluster"
	"aiperfd/internal/cluster/bus"
	"aiperfd/internal/cluster/message"
)

const workerID = "0123456789abcdef"

// controlled runs a test with a controller and the connection of a worker, in virtual time.
func controlled(t *testing.T, test func(t *testing.T, c *cluster.Controller, worker bus.Bus)) {
	synctest.Test(t, func(t *testing.T) {
		var m bus.Memory
		own, worker := m.Connect("controller", bus.Everything()), m.Connect(workerID, bus.OfWorker(workerID))
		c := cluster.New(cluster.Options{Bus: own, Version: "test", Log: zerolog.Nop()})
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if err := c.Serve(ctx); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		test(t, c, worker)
		cancel()
		group.Wait()
		worker.Close()
		own.Close()
	})
}

// What a controller cannot read is answered with what is wrong with it, and changes nothing.
func TestControllerRefuses(t *testing.T) {
	controlled(t, func(t *testing.T, c *cluster.Controller, worker bus.Bus) {
		for _, tt := range []struct{ name, subject, payload, want string }{
			{"nothing", bus.Join, "", "does not begin with a version"},
			{"another version", bus.Join, "7 join 2\n{}", `version "7": this program speaks version 1`},
			{"another kind", bus.Join, "1 beat 2\n{}", `kind "beat": join is expected`},
			{"a field nobody knows", bus.Join, "1 join 12\n" + `{"colour":1}`, `unknown field "colour"`},
			{"no key", bus.Join, "1 join 10\n" + `{"id":"*"}`, "key: must be"},
			{"no question for the time", bus.Clock, "1 probe 7\n" + `{"a":1}`, `unknown field "a"`},
			{"an unknown subject", bus.FromWorker(workerID, "vote"), "1 vote 2\n{}", `kind "vote": beat and ready are accepted`},
			{"a beat without a number", bus.FromWorker(workerID, message.KindBeat), "1 beat 2\n{}", "sequence: must be above 0"},
			{"too much", bus.FromWorker(workerID, message.KindReady), strings.Repeat("x", 1<<20), "at most 4096 are accepted"},
		} {
			data, err := worker.Request(t.Context(), tt.subject, []byte(tt.payload))
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			refused := new(message.Refusal)
			if err := message.Decode(data, new(message.Answer)); !errors.As(err, &refused) || !strings.Contains(refused.Problem, tt.want) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
			}
		}
		if workers := c.Workers(); len(workers) != 0 {
			t.Errorf("workers: %+v", workers)
		}
	})
}

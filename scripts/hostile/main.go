// Command hostile attacks a daemon: with mutated documents, with clients that send slow,
// broken and endless requests, and with a server on loopback that answers the runs badly.
// Run it from the root of the repository:
//
//	go run ./scripts/hostile -addr 127.0.0.1:9097 -for 1h -seed 1 -pid PID -max-rss 1024
//
// With -dialects it submits runs of every endpoint type to the daemon, against a server on
// loopback whose responses are well formed and absurd, and fails as well if a run ends by an
// error of aiperfd or a response of the API is a 5xx.
//
// It submits runs, cancels and deletes them, so the daemon must be one for this purpose. It
// fails if /healthz does not answer 200 within a second, if the process ends, or if it
// takes more memory than allowed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"aiperfd/scripts/lab"
)

// options are the flags.
type options struct {
	addr   string
	pid    int
	maxRSS int // MiB; 0 = no limit
	seed   uint64
	writes int // clients that submit documents
	noise  int // clients that are no HTTP clients, at a time
	// dialects asks for runs of every endpoint type against absurd responses, and nothing else.
	dialects bool
}

func main() {
	log.SetFlags(log.Ltime)
	var o options
	length := flag.Duration("for", time.Hour, "how long")
	flag.StringVar(&o.addr, "addr", "127.0.0.1:9097", "`host:port` of the daemon")
	flag.IntVar(&o.pid, "pid", 0, "process of the daemon, whose memory is watched; 0 = do not watch")
	flag.IntVar(&o.maxRSS, "max-rss", 1024, "`MiB` that the daemon may have in memory; needs -pid")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the documents and of the clients")
	flag.IntVar(&o.writes, "writers", 8, "`clients` that submit and check documents")
	flag.IntVar(&o.noise, "noise", 40, "`clients` that send half requests, slow bodies, frames and the like")
	flag.BoolVar(&o.dialects, "dialects", false, "run every endpoint type against a server whose responses are well formed and absurd, and nothing else")
	flag.Parse()
	if err := attack(o, *length); err != nil {
		log.Fatal("hostile: ", err)
	}
}

// attack runs everything for a time or until SIGINT, and reports what was done.
func attack(o options, length time.Duration) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("open the hostile server: %w", err)
	}
	defer ln.Close()
	c := &counts{n: make(map[string]int)}
	var all sync.WaitGroup
	start := startAll
	if o.dialects {
		start = startDialects
	}
	if err := start(ctx, &all, o, ln, c); err != nil {
		return err
	}
	p := &probe{addr: o.addr, pid: o.pid, maxRSS: o.maxRSS, counts: c}
	var fault error
	all.Go(func() {
		if fault = p.run(ctx); fault != nil {
			cancel()
		}
	})
	all.Wait()
	log.Print(p)
	for _, name := range slices.Sorted(maps.Keys(c.n)) {
		log.Printf("%10d %s", c.n[name], name)
		if strings.HasSuffix(name, " 500") || strings.HasPrefix(name, wrong) {
			fault = errors.Join(fault, fmt.Errorf("%s: %d times", name, c.n[name]))
		}
	}
	return fault
}

// startAll starts the bad server, the writers and the bad clients.
func startAll(ctx context.Context, all *sync.WaitGroup, o options, ln net.Listener, c *counts) error {
	server := &target{rand: rand.New(rand.NewPCG(o.seed, 1)), counts: c}
	for i := range o.writes {
		w, err := newWriter(o, uint64(i), "http://"+ln.Addr().String(), c)
		if err != nil {
			return err
		}
		all.Go(func() { w.run(ctx) })
	}
	all.Go(func() { server.serve(ctx, ln) })
	for i := range o.noise {
		n := &noise{addr: o.addr, rand: rand.New(rand.NewPCG(o.seed, uint64(1000+i))), counts: c}
		all.Go(func() { n.run(ctx) })
	}
	return nil
}

// counts counts what happened, by name.
type counts struct {
	mu sync.Mutex
	n  map[string]int // guarded by mu
}

func (c *counts) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[name]++
}

// client returns an HTTP client without kept connections to the daemon.
func client(limit time.Duration) *http.Client {
	return &http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true}}
}

// pause waits for a random time up to limit, or until ctx ends.
func pause(ctx context.Context, r *rand.Rand, limit time.Duration) {
	lab.Pause(ctx, time.Duration(r.Int64N(int64(limit))))
}

// say writes a text. It reports whether the other side still takes it.
func say(c net.Conn, text string) bool {
	_, err := io.WriteString(c, text)
	return err == nil
}

// abort makes the end of a connection a reset.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the connection ends in any case
	}
}

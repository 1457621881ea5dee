//go:build !nobus

package broker

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"aiperfd/internal/cluster/bus"
)

// Server is a NATS server within this process. Make one with [Listen].
type Server struct {
	nats     *server.Server
	password string // of the controller; random
	scheme   string
	log      zerolog.Logger
}

const controller = "controller" // the user name; no worker can have it, see bus.ValidID

// The limits of a server.
const (
	// A worker that is gone without a word is noticed after three of these.
	pingEvery = 5 * time.Second
	// Workers have four subscriptions, a controller a few more.
	maxSubscriptions = 64
	// How long a client may take for TLS and its credentials.
	maxHandshake = 10 * time.Second
	// How often a failure of the start is looked for.
	startPoll = 20 * time.Millisecond
	// How long a receiver may take to answer; it needs a permission for it.
	maxAnswer = 5 * time.Minute
)

// Listen starts a server. It returns when the server accepts connections.
func Listen(ctx context.Context, o ServerOptions) (*Server, error) {
	options, err := o.nats()
	if err != nil {
		return nil, err
	}
	s := &Server{password: rand.Text(), scheme: "nats", log: o.Log}
	if options.TLSConfig != nil {
		s.scheme = "tls"
	}
	doorman := &doorman{password: s.password, authenticate: o.Authenticate, seats: map[string]seat{}, log: o.Log}
	options.CustomClientAuthentication = doorman
	s.nats, err = server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("start the bus: %w", err)
	}
	doorman.connected = func(client uint64) bool { return s.nats.GetClient(client) != nil }
	failed := make(chan string, 1)
	s.nats.SetLoggerV2(natsLog{o.Log, failed}, false, false, false)
	s.nats.Start()
	ctx, cancel := bus.WithPatience(ctx)
	defer cancel()
	for !s.nats.ReadyForConnections(startPoll) {
		select {
		case why := <-failed:
			s.Close()
			return nil, fmt.Errorf("start the bus on %s: %s", o.Listen, why)
		case <-ctx.Done():
			s.Close()
			return nil, fmt.Errorf("start the bus on %s: %w", o.Listen, ctx.Err())
		default:
		}
	}
	return s, nil
}

// nats returns the options of the server.
func (o *ServerOptions) nats() (*server.Options, error) {
	host, portText, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %q for the bus: %w; host:port is accepted", o.Listen, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("listen on %q for the bus: the port must be a number from 0 to 65535", o.Listen)
	}
	if o.Authenticate == nil {
		return nil, errors.New("listen for the bus: a token file is required")
	}
	out := &server.Options{
		Host: host, Port: int(port), ServerName: "aiperfd",
		NoSigs: true, DisableJetStreamBanner: true,
		MaxPayload: bus.MaxPayload, MaxSubs: maxSubscriptions,
		PingInterval: pingEvery, MaxPingsOut: 2, AuthTimeout: maxHandshake.Seconds(), TLSTimeout: maxHandshake.Seconds(),
	}
	if port == 0 {
		out.Port = server.RANDOM_PORT
	}
	if host == "" {
		out.Host = "0.0.0.0"
	}
	if o.Dir != "" {
		out.JetStream, out.StoreDir = true, o.Dir
		out.JetStreamMaxStore, out.JetStreamMaxMemory = o.maxBulk(), 1<<20
	}
	if out.TLSConfig, err = o.tls(); err != nil {
		return nil, err
	}
	out.TLSVerify = o.ClientCA != ""
	if o.Exposed() && !o.Insecure {
		const remedy = "give a certificate and its key, or listen on 127.0.0.1"
		return nil, fmt.Errorf("listen on %q for the bus: %w; %s", o.Listen, ErrExposed, remedy)
	}
	return out, nil
}

func (o *ServerOptions) maxBulk() int64 {
	if o.MaxBulk > 0 {
		return o.MaxBulk
	}
	return DefaultBulk
}

// URL returns where workers reach the server.
func (s *Server) URL() string { return s.scheme + "://" + s.nats.Addr().String() }

// Connect returns a connection of the controller. It does not use the network.
func (s *Server) Connect(ctx context.Context) (bus.Bus, error) {
	c := &conn{permissions: bus.Everything(), log: s.log}
	at := "nats://" + s.nats.Addr().String() // without TLS: nothing is on a network
	return c.open(ctx, at, controller, nats.InProcessServer(s.nats), nats.UserInfo(controller, s.password))
}

// Close ends all connections and the server.
func (s *Server) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}

// doorman decides who may connect. It is safe for concurrent use.
type doorman struct {
	password     string
	authenticate func(token string) (name string, most int, ok bool)
	connected    func(client uint64) bool
	log          zerolog.Logger

	mu    sync.Mutex
	seats map[string]seat // by instance id
}

// seat is the place of a worker.
type seat struct {
	token  string // its name
	client uint64 // the newest connection
}

var _ server.Authentication = (*doorman)(nil)

// Check implements server.Authentication: the user is the instance id of a worker, the password its token.
func (d *doorman) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	if c.Kind() != server.CLIENT {
		return false
	}
	if o.Username == controller {
		if subtle.ConstantTimeCompare([]byte(o.Password), []byte(d.password)) != 1 {
			return d.refuse(c, "it is not the controller")
		}
		c.RegisterUser(&server.User{Username: controller})
		return true
	}
	name, most, ok := d.authenticate(o.Password)
	switch {
	case !ok:
		return d.refuse(c, "its token is not valid")
	case !bus.ValidID(o.Username):
		return d.refuse(c, "its instance id is not valid")
	}
	if why := d.sit(o.Username, seat{name, c.GetID()}, most); why != "" {
		return d.refuse(c, why)
	}
	c.RegisterUser(worker(o.Username))
	return true
}

func (d *doorman) refuse(c server.ClientAuthentication, why string) bool {
	d.log.Warn().Stringer("remote", c.RemoteAddress()).Msg("the bus refuses a connection: " + why)
	return false
}

// sit gives a worker its place, or says why there is none. A worker that connects again takes the place that it had.
func (d *doorman) sit(id string, s seat, most int) (refused string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	others := 0
	for other, taken := range d.seats {
		switch {
		case !d.connected(taken.client):
			delete(d.seats, other)
		case other == id && taken.token != s.token:
			return "a worker with another token has its instance id"
		case other != id && taken.token == s.token:
			others++
		}
	}
	if others >= most {
		return fmt.Sprintf("the token %s is that of %d workers, and so many are connected", s.token, most)
	}
	d.seats[id] = s
	return ""
}

// worker returns a user with the permissions of a worker.
func worker(id string) *server.User {
	p, get := bus.OfWorker(id), directGet(bucketOf(""))
	return &server.User{Username: id, Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: append(p.Publish, get, get+".>")},
		Subscribe: &server.SubjectPermission{Allow: append(p.Subscribe, inboxOf("", id)+".>")},
		Response:  &server.ResponsePermission{MaxMsgs: 1, Expires: maxAnswer},
	}}
}

// natsLog hands on what the server logs and people should know.
type natsLog struct {
	log    zerolog.Logger
	failed chan string // gets the first reason why the server could not start
}

func (natsLog) Noticef(string, ...any) {}
func (natsLog) Debugf(string, ...any)  {}
func (natsLog) Tracef(string, ...any)  {}

func (l natsLog) Warnf(format string, v ...any)  { l.log.Warn().Msgf("bus: "+format, v...) }
func (l natsLog) Errorf(format string, v ...any) { l.log.Error().Msgf("bus: "+format, v...) }

// Fatalf is called once a start cannot succeed; the server goes on without what failed.
func (l natsLog) Fatalf(format string, v ...any) {
	select {
	case l.failed <- fmt.Sprintf(format, v...):
	default:
		l.log.Error().Msgf("bus: "+format, v...)
	}
}

package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aiperfd/internal/api/access"
	"aiperfd/internal/app"
	"aiperfd/internal/cluster"
)

const workerLong = `Perform parts of runs for a controller: aiperfd serve --bus-listen, or
aiperfd profile --workers N --bus-listen. The worker connects to the controller,
waits for a run, sends its share of the requests and gives its records back.

  aiperfd token new --name worker-1 --scope worker --file tokens > token
  aiperfd worker --join tls://10.0.0.1:4222 --token-file token

With --bus-creds, both meet at an existing NATS, whose URL --join has.

A worker that has not heard of its controller for nine seconds stops sending.`

// workerFlags are the flags of a load generator.
type workerFlags struct {
	app.WorkerOptions
	tokenFile string
	labels    []string
	targets   targetFlags
	process   processFlags
}

func newWorkerCommand() *cobra.Command {
	f := new(workerFlags)
	cmd := &cobra.Command{
		Use:   "worker --join URL --token-file FILE",
		Short: "Perform parts of runs for a controller",
		Long:  workerLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.complete(); err != nil {
				return exitWith(exitUsage, err)
			}
			limitMemory()
			return app.RunWorker(cmd.Context(), &f.WorkerOptions)
		},
	}
	host, _ := os.Hostname() // without one, --name is required
	fs := cmd.Flags()
	fs.StringVar(&f.URL, "join", "", "`URL` of the controller, or of an existing NATS: nats://HOST:PORT, or tls://HOST:PORT")
	fs.StringVar(&f.tokenFile, "token-file", "", "`file` with the token of this worker")
	fs.StringVar(&f.Creds, "bus-creds", "", "`file` with the credentials of this worker at an existing NATS: a JWT and its key, or the seed of a key")
	fs.StringVar(&f.Prefix, "bus-prefix", "", "`words`, with dots between them, before all subjects at an existing NATS; that of the controller")
	fs.StringVar(&f.Name, "name", host, "`name` of this worker in results; unique among those of the controller")
	fs.StringSliceVar(&f.labels, "label", nil, "`name=value` that describes the worker (repeatable)")
	fs.StringVar(&f.DataDir, "data-dir", "", "`folder` for the records of a run until the controller has them; default a temporary one")
	fs.BoolVar(&f.Once, "once", false, "end after the first run")
	fs.DurationVar(&f.LeaveAfter, "leave-after", 0, "`time` without the controller after which the worker ends; default never, with --once 30s")
	fs.StringVar(&f.CA, "ca-file", "", "`file` with the authorities that may have signed the certificate of that server; default those of the system")
	fs.StringVar(&f.Cert, "cert-file", "", "`file` with the certificate of this worker")
	fs.StringVar(&f.Key, "key-file", "", "`file` with the key of that certificate")
	fs.StringSliceVar(&f.targets.allow, "allow-target", nil, "`pattern` of servers that runs may reach: host[:port], *.suffix[:port], *, address or CIDR[:port], unix:/path (repeatable); default all but metadata services and link-local addresses")
	fs.Float64Var(&f.Caps.Rate, "max-rate", 0, "maximum arrivals per second that a controller may ask this worker for; 0 = unlimited")
	fs.IntVar(&f.Caps.Concurrency, "max-concurrency", 0, "maximum concurrency that a controller may ask this worker for; 0 = unlimited")
	fs.StringVar(&f.process.level, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&f.process.format, "log-format", logText, "text, or json for one object per line")
	fs.BoolVar(&f.Insecure, "insecure-bus", false, "connect to other machines without TLS: others on the network can read the token and the results")
	return cmd
}

// busTokens returns what authenticates load generators by a token file.
func busTokens(path string) (cluster.Tokens, error) {
	if path == "" {
		return nil, errors.New("--bus-token-file: a file with the tokens of load generators is required; aiperfd token new makes one")
	}
	guard, err := access.New(access.Options{Host: "127.0.0.1", TokenFile: path})
	if err != nil {
		return nil, fmt.Errorf("--bus-token-file: %w", err)
	}
	return guard.Worker, nil
}

// busFlags are the flags of the daemon that say where load generators join.
type busFlags struct {
	app.BusOptions
	tokens string // file
}

// add adds the flags to those of the command.
func (f *busFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.Listen, "bus-listen", "", "`address`, HOST:PORT, at which load generators join (aiperfd worker); default none")
	fs.StringVar(&f.URL, "bus-url", "", "`URL` of an existing NATS, nats://HOST:PORT or tls://HOST:PORT, at which load generators join instead")
	fs.StringVar(&f.Creds, "bus-creds", "", "`file` with the credentials of the daemon there: a JWT and its key, or the seed of a key")
	fs.StringVar(&f.Prefix, "bus-prefix", "", "`words`, with dots between them, before all subjects there; each controller needs its own")
	fs.StringVar(&f.CA, "bus-ca", "", "`file` with the authorities that may have signed the certificate of that server; default those of the system")
	fs.StringVar(&f.tokens, "bus-token-file", "", "`file` with the tokens of load generators (aiperfd token new --scope worker); default that of --token-file")
	fs.StringVar(&f.Cert, "bus-cert", "", "`file` with the certificate of --bus-listen, required unless it is a loopback address, or of the daemon at --bus-url")
	fs.StringVar(&f.Key, "bus-key", "", "`file` with the key of the certificate")
	fs.StringVar(&f.ClientCA, "bus-client-ca", "", "`file` with the authorities that must have signed the certificates of load generators")
	fs.BoolVar(&f.Insecure, "insecure-bus", false, "use the network without TLS: others can read tokens and results")
}

// options checks the flags. guard knows the tokens of the daemon, if it has some.
func (f *busFlags) options(guard *access.Guard, own string) (o app.BusOptions, err error) {
	if err := checkBus(&f.BusOptions); err != nil {
		return o, err
	}
	switch {
	case f.Listen == "" && f.URL == "":
		return o, nil
	case f.tokens == "" && own != "" && guard != nil:
		f.Tokens = guard.Worker
	default:
		f.Tokens, err = busTokens(f.tokens)
	}
	return f.BusOptions, err
}

// checkBus returns what is wrong with options together.
func checkBus(o *app.BusOptions) error {
	var errs []error
	needs := func(option, value, other, where string) {
		if value != "" && where == "" {
			errs = append(errs, fmt.Errorf("%s: needs %s", option, other))
		}
	}
	needs("--bus-creds", o.Creds, "--bus-url", o.URL)
	needs("--bus-prefix", o.Prefix, "--bus-url", o.URL)
	needs("--bus-ca", o.CA, "--bus-url", o.URL)
	needs("--bus-client-ca", o.ClientCA, "--bus-listen", o.Listen)
	needs("--bus-cert", o.Cert, "--bus-listen or --bus-url", o.Listen+o.URL)
	needs("--bus-key", o.Key, "--bus-listen or --bus-url", o.Listen+o.URL)
	if o.Insecure {
		needs("--insecure-bus", "true", "--bus-listen or --bus-url", o.Listen+o.URL)
	}
	if o.URL != "" && o.Listen != "" {
		errs = append(errs, errors.New("--bus-url: load generators join at an existing NATS; it conflicts with --bus-listen"))
	}
	if o.URL != "" && o.Creds == "" {
		errs = append(errs, errors.New("--bus-creds: a file with credentials for --bus-url is required"))
	}
	return errors.Join(errs...)
}

// complete checks the flags.
func (f *workerFlags) complete() error {
	var errs []error
	if f.URL == "" {
		errs = append(errs, errors.New("--join: the URL of the controller is required, for example nats://127.0.0.1:4222"))
	}
	if f.Name == "" {
		errs = append(errs, errors.New("--name: a name is required"))
	}
	if f.tokenFile == "" {
		errs = append(errs, errors.New("--token-file: a file with the token of the worker is required"))
	} else if text, err := os.ReadFile(f.tokenFile); err != nil {
		errs = append(errs, fmt.Errorf("--token-file: %w", err))
	} else if f.Token = strings.TrimSpace(string(text)); f.Token == "" || strings.ContainsAny(f.Token, " \t\r\n") {
		errs = append(errs, fmt.Errorf("--token-file %s: must have one token", f.tokenFile))
	}
	if f.Prefix != "" && f.Creds == "" {
		errs = append(errs, errors.New("--bus-prefix: needs --bus-creds"))
	}
	f.Labels = map[string]string{}
	for _, l := range f.labels {
		name, value, ok := strings.Cut(l, "=")
		if !ok || name == "" {
			errs = append(errs, fmt.Errorf("--label %s: must be name=value", l))
		}
		f.Labels[name] = value
	}
	var err error
	if f.Targets, err = f.targets.options(); err != nil {
		errs = append(errs, err)
	}
	if f.Caps.Rate < 0 || math.IsNaN(f.Caps.Rate) {
		errs = append(errs, fmt.Errorf("--max-rate %v: must be at least 0", f.Caps.Rate))
	}
	if f.Caps.Concurrency < 0 {
		errs = append(errs, fmt.Errorf("--max-concurrency %d: must be at least 0", f.Caps.Concurrency))
	}
	f.Version = version
	if f.Once && f.LeaveAfter == 0 {
		f.LeaveAfter = 30 * time.Second
	}
	if f.LeaveAfter < 0 {
		errs = append(errs, fmt.Errorf("--leave-after %v: must not be negative", f.LeaveAfter))
	}
	log, err := f.process.logger()
	f.Log = log
	return errors.Join(append(errs, err)...)
}

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aiperfd/internal/api/access"
	"aiperfd/internal/app"
)

const workerLong = `Perform parts of runs for a controller: aiperfd serve --bus-listen, or
aiperfd profile --workers N --bus-listen. The worker connects to the controller,
waits for a run, sends its share of the requests and gives its records back.

  aiperfd token new --name worker-1 --scope worker --file tokens > token
  aiperfd worker --join tls://10.0.0.1:4222 --token-file token

A worker that has not heard of its controller for nine seconds stops sending.`

// workerFlags are the flags of a load generator.
type workerFlags struct {
	app.WorkerOptions
	tokenFile string
	labels    []string
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
	fs.StringVar(&f.URL, "join", "", "`URL` of the controller: nats://HOST:PORT, or tls://HOST:PORT")
	fs.StringVar(&f.tokenFile, "token-file", "", "`file` with the token of this worker")
	fs.StringVar(&f.Name, "name", host, "`name` of this worker in results; unique among those of the controller")
	fs.StringSliceVar(&f.labels, "label", nil, "`name=value` that describes the worker (repeatable)")
	fs.StringVar(&f.DataDir, "data-dir", "", "`folder` for the records of a run until the controller has them; default a temporary one")
	fs.BoolVar(&f.Once, "once", false, "end after the first run")
	fs.DurationVar(&f.LeaveAfter, "leave-after", 0, "`time` without the controller after which the worker ends; default never, with --once 30s")
	fs.StringVar(&f.CA, "ca-file", "", "`file` with the authorities that may have signed the certificate of the controller; default those of the system")
	fs.StringVar(&f.Cert, "cert-file", "", "`file` with the certificate of this worker")
	fs.StringVar(&f.Key, "key-file", "", "`file` with the key of that certificate")
	fs.StringVar(&f.process.level, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&f.process.format, "log-format", logText, "text, or json for one object per line")
	fs.BoolVar(&f.Insecure, "insecure-bus", false, "connect to other machines without TLS: others on the network can read the token and the documents")
	return cmd
}

// busTokens returns what authenticates load generators by a token file.
func busTokens(path string) (func(token string) (name string, most int, ok bool), error) {
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
	tokens string
}

// add adds the flags to those of the command.
func (f *busFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.Listen, "bus-listen", "", "`address`, HOST:PORT, at which load generators join (aiperfd worker); default none")
	fs.StringVar(&f.tokens, "bus-token-file", "", "`file` with the tokens of load generators (aiperfd token new --scope worker); default that of --token-file")
	fs.StringVar(&f.Cert, "bus-cert", "", "`file` with the certificate of that address; required unless it is a loopback address")
	fs.StringVar(&f.Key, "bus-key", "", "`file` with the key of the certificate")
	fs.StringVar(&f.ClientCA, "bus-client-ca", "", "`file` with the authorities that must have signed the certificates of load generators")
	fs.BoolVar(&f.Insecure, "insecure-bus", false, "listen on the network without TLS: others can read tokens and documents")
}

// options checks the flags. guard knows the tokens of the daemon, if it has some.
func (f *busFlags) options(guard *access.Guard, own string) (o app.BusOptions, err error) {
	switch {
	case f.Listen == "":
		return o, nil
	case f.tokens == "" && own != "" && guard != nil:
		f.Tokens = guard.Worker
	default:
		f.Tokens, err = busTokens(f.tokens)
	}
	return f.BusOptions, err
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
	f.Labels = map[string]string{}
	for _, l := range f.labels {
		name, value, ok := strings.Cut(l, "=")
		if !ok || name == "" {
			errs = append(errs, fmt.Errorf("--label %s: must be name=value", l))
		}
		f.Labels[name] = value
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

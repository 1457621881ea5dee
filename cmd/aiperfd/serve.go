package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/prom"
	"aiperfd/internal/app"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/secret"
)

// defaultPort is the default port of the daemon.
const defaultPort = 9097

// serveFlags are the flags of the daemon.
type serveFlags struct {
	host, dataDir, portFile, names, secretsDir string
	port, maxRuns, maxQueued                   int
	dataRoots, allowEnv, hosts                 []string
	allowDownload                              bool
	store                                      storeFlags
	access                                     accessFlags
	bus                                        busFlags
	limits                                     limitFlags
	targets                                    targetFlags
	process                                    processFlags
}

const serveLong = `Run the daemon: it accepts benchmark documents by POST /api/runs, runs them one
after the other, shows them live and stores their results.

  curl -sS -X POST http://127.0.0.1:9097/api/runs \
    -H 'Content-Type: application/yaml' --data-binary @bench.yaml
  curl -sS http://127.0.0.1:9097/api/progress
  curl -sS http://127.0.0.1:9097/metrics

The API is documented at /docs. On SIGTERM the daemon ends the active run,
writes its results and exits; queued runs start when the daemon starts again.

Flags can be written to a YAML file (--config): its keys are the names of the
flags without dashes in front. A flag takes precedence over its environment
variable (--data-dir: AIPERFD_DATA_DIR), and that over the file.`

func newServeCommand() *cobra.Command {
	f := new(serveFlags)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon",
		Long:  serveLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.load(cmd.Flags())
			if err != nil {
				return exitWith(exitUsage, err)
			}
			if f.process.check {
				fmt.Fprintln(cmd.OutOrStdout(), "the configuration is valid")
				return nil
			}
			limitMemory()
			return app.Serve(cmd.Context(), o)
		},
	}
	f.add(cmd.Flags())
	return cmd
}

// add adds the flags to those of the command.
func (f *serveFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.host, "api-host", "127.0.0.1", "`address` to listen on; any other than loopback needs --token-file")
	fs.IntVar(&f.port, "api-port", defaultPort, "`port` to listen on; 0 picks a free one")
	fs.StringVar(&f.portFile, "port-file", "", "write the port number to this `file`")
	fs.StringVar(&f.dataDir, "data-dir", defaultDataDir(), "`folder` for the run index and the results")
	fs.IntVar(&f.maxRuns, "max-concurrent-runs", engine.DefaultMaxRuns, "concurrent runs; more than one distorts results")
	fs.IntVar(&f.maxQueued, "max-queued", engine.DefaultMaxQueued, "maximum number of queued runs")
	fs.StringSliceVar(&f.dataRoots, "data-root", nil, "`folder` with files that submitted documents may use (repeatable); default none")
	fs.StringSliceVar(&f.allowEnv, "allow-env", nil, "`name` of an environment variable that submitted documents may use as ${NAME} (repeatable)")
	fs.StringVar(&f.secretsDir, "secrets-dir", "", "`folder` whose files are secrets that submitted documents may use as ${secret:NAME}")
	fs.BoolVar(&f.allowDownload, "allow-download", false, "allow submitted documents to download tokenizers from the Hugging Face hub (tokenizer.allowDownload)")
	fs.StringSliceVar(&f.hosts, "allowed-host", nil, "additional host `name` that clients may use (repeatable)")
	f.targets.add(fs)
	fs.StringVar(&f.names, "metrics-names", prom.NamesAll, "metric names on /metrics: compat, native or all")
	f.limits.add(fs)
	f.store.add(fs)
	f.process.add(fs)
	f.access.add(fs)
	f.bus.add(fs)
}

// options checks the flags and returns what they mean. The error has a line for each
// problem. It opens no port and changes no file.
func (f *serveFlags) options() (app.DaemonOptions, error) {
	var errs []error
	check := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	log, err := f.process.logger()
	check(err)
	if f.names != prom.NamesAll && f.names != prom.NamesCompat && f.names != prom.NamesNative {
		check(fmt.Errorf("--metrics-names %s: must be compat, native or all", f.names))
	}
	if f.port < 0 || f.port > 65535 {
		check(fmt.Errorf("--api-port %d: must be from 0 to 65535", f.port))
	}
	limits, err := f.limits.options()
	check(err)
	secrets, err := secret.OpenFolder(f.secretsDir)
	if err != nil {
		check(fmt.Errorf("--secrets-dir: %w", err))
	}
	targets, err := f.targets.options()
	check(err)
	rules, err := f.store.rules()
	check(err)
	process, err := f.process.options()
	check(err)
	guard, err := f.access.open(f.host, f.dataDir, log)
	check(err)
	workers, err := f.bus.options(guard, f.access.tokenFile)
	check(err)
	return app.DaemonOptions{
		Host: f.host, Port: f.port, PortFile: f.portFile, DataDir: f.dataDir,
		MaxRuns: f.maxRuns, MaxQueued: f.maxQueued, AllowedHosts: f.hosts, Targets: targets, MetricNames: f.names, Limits: limits, Version: version,
		Keep: rules, Log: log, Access: guard, Process: process, Bus: workers,
		Load: config.LoadOptions{
			AllowEnv: f.allowEnv, DataRoots: f.dataRoots, LookupEnv: os.LookupEnv, AllowDownload: f.allowDownload,
			LookupSecret: secret.Lookup(secrets, os.LookupEnv), Reach: config.ReachOptions{SecretHosts: secrets.Hosts},
		},
	}, errors.Join(errs...)
}

// accessFlags are the flags of the daemon that say who may use its API.
type accessFlags struct {
	tokenFile, cert, key    string
	insecure, metricsPublic bool
	origins                 []string
}

// add adds the flags to those of the command.
func (f *accessFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.tokenFile, "token-file", "", "`file` with the hashes of bearer tokens; aiperfd token edits it. Callers need a token")
	fs.BoolVar(&f.insecure, "insecure-no-auth", false, "allow other machines to use the API without a token")
	fs.BoolVar(&f.metricsPublic, "metrics-public", false, "allow /metrics without a token")
	fs.StringVar(&f.cert, "tls-cert", "", "serve HTTPS with the certificate in this PEM `file`; needs --tls-key")
	fs.StringVar(&f.key, "tls-key", "", "PEM `file` with the key of the certificate")
	fs.StringSliceVar(&f.origins, "cors-origin", nil, "`origin` of web pages that may use the API, such as https://dashboard.example, or * (repeatable)")
}

// open reads the files and returns the guard of a daemon on a host.
func (f *accessFlags) open(host, dataDir string, log zerolog.Logger) (*access.Guard, error) {
	if len(f.origins) == 0 {
		var err error
		if f.origins, err = access.OriginsFromEnv(os.LookupEnv); err != nil {
			return nil, err
		}
	}
	return access.New(access.Options{
		Host: host, TokenFile: f.tokenFile, Insecure: f.insecure, MetricsPublic: f.metricsPublic, Origins: f.origins,
		Cert: f.cert, Key: f.key, AuditFile: filepath.Join(dataDir, "audit.jsonl"), Log: log,
	})
}

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

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// probeFlags are the address of the daemon, with the names of the flags of serve.
type probeFlags struct {
	url, host, portFile, cert string
	port                      int
	typed                     bool // --api-port was given and --port-file was not
}

func newHealthcheckCommand() *cobra.Command {
	var (
		f       probeFlags
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Check whether a running daemon is healthy; exit 0 if it is",
		Args:  cobra.NoArgs,
	}
	api := pflag.NewFlagSet("api", pflag.ContinueOnError)
	api.StringVar(&f.host, "api-host", "127.0.0.1", "`address` on which the daemon listens")
	api.IntVar(&f.port, "api-port", defaultPort, "`port` of the daemon")
	api.StringVar(&f.portFile, "port-file", "", "`file` with the port number, as written by serve --port-file")
	api.StringVar(&f.cert, "tls-cert", "", "use HTTPS, as serve does with this `file`; the certificate is not verified, as the check sends no secret")
	cmd.Flags().AddFlagSet(api)
	cmd.Flags().StringVar(&f.url, "url", "", "`URL` of the probe, instead of host and port")
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Second, "timeout")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if api.Changed("api-port") && !api.Changed("port-file") {
			f.typed = true
		}
		err := apiFromEnv(api, os.LookupEnv)
		if err == nil {
			err = f.resolve()
		}
		if err != nil {
			return exitWith(exitUsage, err)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
		defer cancel()
		return healthcheck(ctx, plainOut(cmd), f.client(), f.url)
	}
	return cmd
}

// apiFromEnv sets the flags of the daemon from its environment variables, and
// those that AIPerf has also from AIPerf's. An empty variable counts as not set.
func apiFromEnv(fs *pflag.FlagSet, lookup func(string) (string, bool)) error {
	given := func(name string) (string, bool) {
		value, ok := lookup(name)
		return value, ok && value != ""
	}
	if err := flagsFromEnv(fs, "AIPERFD_", given); err != nil {
		return err
	}
	for flag, name := range map[string]string{
		"api-host": "AIPERF_API_SERVER_HOST", "api-port": "AIPERF_API_SERVER_PORT",
		"max-websockets": "AIPERF_API_SERVER_WEBSOCKET_MAX_CONNECTIONS",
	} {
		value, ok := given(name)
		if !ok || fs.Lookup(flag) == nil || fs.Changed(flag) {
			continue
		}
		if err := fs.Set(flag, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// resolve sets the URL of the probe. For a daemon that listens on all addresses it
// is a loopback address.
func (f *probeFlags) resolve() error {
	if f.url != "" {
		return nil
	}
	port := f.port
	if f.portFile != "" && !f.typed {
		text, err := os.ReadFile(f.portFile)
		if err != nil {
			return fmt.Errorf("read port file: %w", err)
		}
		port, err = strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || port < 1 || port > 65535 {
			return fmt.Errorf("%s does not hold a port number", f.portFile)
		}
	}
	host := f.host
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "http"
	if f.cert != "" {
		scheme = "https"
	}
	f.url = scheme + "://" + net.JoinHostPort(host, strconv.Itoa(port)) + "/healthz"
	return nil
}

// client returns a client that trusts the certificate of the daemon, whose name is
// seldom that of a loopback address.
func (f *probeFlags) client() *http.Client {
	if f.cert == "" {
		return http.DefaultClient
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // see above
}

// healthcheck requests the probe and prints the response.
func healthcheck(ctx context.Context, out io.Writer, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return exitWith(exitUsage, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("query %s: %w", url, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		return fmt.Errorf("read answer of %s: %w", url, err)
	}
	answer := strings.TrimSpace(string(body))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d %s", url, resp.StatusCode, answer)
	}
	_, err = fmt.Fprintln(out, answer)
	return err
}

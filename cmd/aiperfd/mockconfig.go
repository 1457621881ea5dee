package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

// onlyOnCommandLine returns the flags that a configuration file cannot set.
func onlyOnCommandLine() []string { return []string{"config", "print-config", "help"} }

// printFlags writes the flags as a configuration file. Secrets are omitted.
func printFlags(w io.Writer, fs *pflag.FlagSet) error {
	var doc yaml.MapSlice
	fs.VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(onlyOnCommandLine(), flag.Name) || !flag.Changed && flag.DefValue == "" {
			return
		}
		var value any = flag.Value.String()
		switch flag.Value.Type() {
		case "stringArray":
			value, _ = fs.GetStringArray(flag.Name) // cannot fail: the type is right
			if len(value.([]string)) == 0 {
				return
			}
		case "rule":
			if flag.Value.String() == "" {
				return
			}
			value = strings.Split(flag.Value.String(), "\n")
		case "bool":
			value = flag.Value.String() == "true"
		}
		if flag.Name == "api-key" {
			value = "<redacted>"
		}
		doc = append(doc, yaml.MapItem{Key: flag.Name, Value: value})
	})
	text, err := yaml.Marshal(doc)
	if err != nil {
		return fmt.Errorf("print configuration: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// listen opens the socket of the simulated server.
func (f *mockFlags) listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	if f.uds == "" {
		return config.Listen(ctx, "tcp", net.JoinHostPort(f.host, strconv.Itoa(f.port)))
	}
	ln, err := config.Listen(ctx, "unix", f.uds)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return ln, err
	}
	// A socket that refuses connections was left by a process that was killed.
	c, dialErr := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", f.uds)
	if dialErr == nil {
		_ = c.Close()
		return nil, err
	}
	if !errors.Is(dialErr, syscall.ECONNREFUSED) {
		return nil, errors.Join(err, dialErr)
	}
	if err := os.Remove(f.uds); err != nil {
		return nil, err
	}
	return config.Listen(ctx, "unix", f.uds)
}

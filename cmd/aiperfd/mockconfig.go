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

// flagsFromFile sets every flag that is still at its default from a YAML file, a
// mapping of names of flags to scalars or lists of them, and returns all
// problems. An underscore counts as a dash. An empty path means no file.
func flagsFromFile(fs *pflag.FlagSet, path string) error {
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	var keys yaml.MapSlice
	if err := yaml.Unmarshal(data, &keys); err != nil {
		return fmt.Errorf("read configuration %s: %w", path, err)
	}
	var errs []error
	for _, item := range keys {
		key := fmt.Sprint(item.Key)
		name := strings.ReplaceAll(key, "_", "-")
		flag := fs.Lookup(name)
		if flag == nil || slices.Contains(onlyOnCommandLine(), name) {
			errs = append(errs, fmt.Errorf("configuration %s: unknown key %q, accepted: %s", path, key, strings.Join(fileKeys(fs), ", ")))
			continue
		}
		if flag.Changed {
			continue // command line and environment have precedence
		}
		values, err := flagValues(flag, item.Value)
		for _, v := range values {
			if err == nil {
				err = fs.Set(name, v)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("configuration %s: %s: %w", path, key, err))
		}
	}
	return errors.Join(errs...)
}

// fileKeys returns the keys of a configuration file, sorted.
func fileKeys(fs *pflag.FlagSet) []string {
	var names []string
	fs.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(onlyOnCommandLine(), flag.Name) {
			names = append(names, flag.Name)
		}
	})
	return names
}

// flagValues returns the values that a flag is set to, in order, for a value of the
// file.
func flagValues(flag *pflag.Flag, value any) ([]string, error) {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	} else if kind := flag.Value.Type(); kind != "stringArray" && kind != "rule" {
		return nil, fmt.Errorf("a list was given, accepted: one %s", kind)
	}
	var out []string
	for _, v := range list {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case bool:
			out = append(out, strconv.FormatBool(v))
		case int64, uint64, int:
			out = append(out, fmt.Sprint(v))
		case float64:
			out = append(out, strconv.FormatFloat(v, 'g', -1, 64))
		default:
			return nil, fmt.Errorf("value is %v, accepted: a text, a number, true or false", v)
		}
	}
	return out, nil
}

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

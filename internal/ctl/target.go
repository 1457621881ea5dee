package ctl

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"aiperfd/internal/client"
)

// The environment variables of the command.
const (
	envServer = "AIPERFD_SERVER"
	envToken  = "AIPERFD_TOKEN"
)

const defaultServer = "http://127.0.0.1:9097"

// target is the daemon that a command uses: the flags that choose it.
type target struct {
	server, context, tokenFile, caFile string

	chosen string // what gave the server, for advice
}

// connect returns a client of the daemon.
func (g *globals) connect(ctx context.Context) (*client.Client, error) {
	t := &g.target
	from, err := t.source()
	if err != nil {
		return nil, &ExitError{exitUsage, err}
	}
	token, err := t.token(ctx, from)
	if err != nil {
		return nil, &ExitError{exitUsage, err}
	}
	o := client.Options{Server: from.Server, Token: token, UserAgent: "aiperfd-ctl/" + g.version}
	if file := cmp.Or(t.caFile, from.CAFile); file != "" {
		if o.Roots, err = authorities(file); err != nil {
			return nil, &ExitError{exitUsage, err}
		}
	}
	c, err := client.New(o)
	if err != nil {
		return nil, &ExitError{exitUsage, fmt.Errorf("%s: %w", t.chosen, err)}
	}
	return c, nil
}

// source returns the server, with the token and the authorities that belong to it: those
// of a context are used for the server of the context only.
func (t *target) source() (Context, error) {
	if t.context != "" && t.server != "" {
		return Context{}, errors.New("--server and --context: only one of them can be given")
	}
	t.chosen = "--server"
	if t.server != "" {
		return Context{Server: t.server}, nil
	}
	if server := os.Getenv(envServer); server != "" && t.context == "" {
		t.chosen = envServer
		return Context{Server: server}, nil
	}
	file, err := readContexts()
	if err != nil {
		return Context{}, err
	}
	name := cmp.Or(t.context, file.Current)
	if name == "" {
		t.chosen = "the default"
		return Context{Server: defaultServer}, nil
	}
	found, ok := file.Contexts[name]
	if !ok {
		return Context{}, file.unknown(name)
	}
	t.chosen = fmt.Sprintf("context %q", name)
	return found, nil
}

// token returns the token for the server, empty if there is none.
func (t *target) token(ctx context.Context, from Context) (string, error) {
	switch {
	case t.tokenFile != "":
		return tokenOfFile("--token-file", t.tokenFile)
	case os.Getenv(envToken) != "":
		return checkToken(envToken, os.Getenv(envToken))
	case from.TokenFile != "":
		return tokenOfFile(t.chosen+": tokenFile", from.TokenFile)
	case from.TokenEnv != "":
		return checkToken(t.chosen+": variable "+from.TokenEnv, os.Getenv(from.TokenEnv))
	case from.TokenCommand != "":
		return tokenOfCommand(ctx, t.chosen+": tokenCommand", from.TokenCommand)
	}
	return "", nil
}

// maxToken is the size of the largest text that is read as a token.
const maxToken = 8 << 10

func tokenOfFile(what, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxToken))
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	return checkToken(what+" "+path, string(data))
}

// commandLimit leaves a person time to unlock a store of passwords.
const commandLimit = time.Minute

// tokenOfCommand runs a command of a context. Its standard error is that of the program,
// because it may ask for a password.
func tokenOfCommand(ctx context.Context, what, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &limitedWriter{&out}, os.Stderr, time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	return checkToken(what, out.String())
}

// limitedWriter rejects more than a token.
type limitedWriter struct{ to *bytes.Buffer }

// Write implements io.Writer.
func (w *limitedWriter) Write(b []byte) (int, error) {
	if w.to.Len()+len(b) > maxToken {
		return 0, errors.New("the command prints more than a token")
	}
	return w.to.Write(b)
}

// checkToken returns a token without the blanks around it. The error does not contain it.
func checkToken(what, text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", fmt.Errorf("%s: has no token", what)
	case strings.Count(text, ":") >= 2:
		return "", fmt.Errorf("%s: has the hashes that a daemon needs (serve --token-file), not a token; aiperfd token new prints a token", what)
	case len(text) >= maxToken || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("%s: must have one token: one word of ASCII characters", what)
	}
	return text, nil
}

// authorities reads the certificates of a file.
func authorities(path string) (*x509.CertPool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("--ca-file %s: has no certificate in PEM", path)
	}
	return pool, nil
}

// advice says what the user can do about an error; empty = nothing is known.
func (t *target) advice(err error) string {
	const other = "aiperfd serve starts a daemon; --server, " + envServer + " or aiperfd ctl context choose another one"
	switch {
	case client.Refused(err):
		return "No daemon listens there (address from " + t.chosen + "). " + other + "."
	case client.UnknownHost(err):
		return "No such host (address from " + t.chosen + "). --server, " + envServer + " or aiperfd ctl context choose another one."
	case client.UnknownAuthority(err):
		return "If the certificate is signed by an authority of your own, pass it by --ca-file FILE, or as the caFile of a context."
	case client.PlainServer(err):
		return "The daemon does not use TLS: its address begins with http://."
	case client.TLSServer(err):
		return "If the daemon uses TLS, its address begins with https:// (address from " + t.chosen + ")."
	}
	var p *client.Problem
	if !errors.As(err, &p) {
		return ""
	}
	switch p.Name {
	case "unauthorized":
		return "Give a token by --token-file FILE, " + envToken + " or a context; aiperfd token new makes one on the side of the daemon."
	case "insufficient-scope":
		return "Use a token with a higher scope (--token-file, " + envToken + " or a context); aiperfd token --help describes the scopes."
	case "misdirected-host":
		return "The daemon accepts the names of serve --allowed-host only."
	}
	return ""
}

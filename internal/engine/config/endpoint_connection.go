package config

import (
	"cmp"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/tree"
)

// checkConnection checks credentials, headers, TLS, proxy, HTTP version, and the
// requests that are sent beside the load.
func (c endpointRules) checkConnection() {
	c.checkCredentials()
	c.checkTLS()
	c.checkRoute()
	c.checkServerCalls()
	e := c.endpoint
	for i, name := range e.AffinityHeaders {
		session := e.SessionHeader != nil && strings.EqualFold(*e.SessionHeader, name)
		switch n := c.at(endpointPath + ".affinityHeaders"); {
		case !schema.IsHeaderName(name):
			c.FailValue(n.Items[i], problem.CodeOutOfRange, "must be a header name")
		case session || slices.ContainsFunc(e.AffinityHeaders[:i], func(s string) bool { return strings.EqualFold(s, name) }):
			c.Fail(n.Items[i].Place, problem.CodeConflict, "%s: the header %s is given twice", problem.Label(n.Items[i].Place), name)
		}
	}
}

func (c endpointRules) checkCredentials() {
	e := c.endpoint
	if e.APIKeyFile != nil && !e.APIKey.Empty() && !c.options.Stored {
		c.conflict(endpointPath+".apiKeyFile", "conflicts with apiKey; use only one of them")
	} else {
		c.readKey()
	}
	keyPath := endpointPath + ".apiKey"
	if e.APIKeyFile != nil {
		keyPath = endpointPath + ".apiKeyFile"
	}
	if !schema.IsHeaderValue(e.APIKey.Reveal()) {
		at := c.where(keyPath)
		c.Fail(at, problem.CodeOutOfRange, "%s: contains characters that are not allowed in a header", problem.Label(at))
	}
	if e.APIKey.Empty() {
		return
	}
	c.doc.keySource = cmp.Or(c.where(keyPath).Flag, keyPath)
	if e.AuthStyle == "none" {
		at := c.where(keyPath)
		c.Warn(at, problem.CodeNoEffect, "%s: the API key is not sent because authStyle is none", problem.Label(at))
	}
	for name := range e.Headers {
		if strings.EqualFold(name, "Authorization") && e.Type != "messages" {
			at := c.where(endpointPath + ".headers." + name)
			c.Warn(at, problem.CodeNoEffect, "%s: this header is sent instead of the API key", problem.Label(at))
		}
	}
}

// readKey takes the API key out of its file.
func (c endpointRules) readKey() {
	const path = endpointPath + ".apiKeyFile"
	e := c.endpoint
	if e.APIKeyFile == nil || c.options.Stored {
		return
	}
	c.checkFile(path, *e.APIKeyFile)
	if c.failed[path] || c.options.Untrusted && len(c.options.DataRoots) == 0 {
		return
	}
	key, err := KeyFrom(*e.APIKeyFile, c.roots())
	switch {
	case err != nil:
		c.FailValue(c.at(path), problem.CodeFileNotAllowed, "the file cannot be read")
	case key == "":
		c.FailValue(c.at(path), problem.CodeRequired, "the file contains no key")
	default:
		e.APIKey = secret.New(key)
	}
}

// KeyFrom reads a file that holds nothing but a key; blanks at its ends do not
// count.
func KeyFrom(name string, roots []string) (string, error) {
	f, err := OpenFile(name, roots)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, schema.MaxSecret+1))
	if err == nil && len(data) > schema.MaxSecret {
		err = errors.New("too long for a key")
	}
	return strings.TrimSpace(string(data)), errors.Join(err, f.Close())
}

func (c endpointRules) checkTLS() {
	const path = endpointPath + ".tls"
	e := c.endpoint
	t := &e.TLS
	for name, file := range map[string]*string{".caFile": t.CAFile, ".certFile": t.CertFile, ".keyFile": t.KeyFile} {
		if file != nil {
			c.checkFile(path+name, *file)
		}
	}
	switch {
	case t.CertFile != nil && t.KeyFile == nil:
		c.conflict(path+".certFile", "needs keyFile")
	case t.KeyFile != nil && t.CertFile == nil:
		c.conflict(path+".keyFile", "needs certFile")
	}
	if t.CAFile != nil && !e.TLSVerify {
		c.conflict(path+".caFile", "certificate verification is disabled")
	}
	if t.ServerName != nil && strings.ContainsFunc(*t.ServerName, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' }) {
		c.FailValue(c.at(path+".serverName"), problem.CodeOutOfRange, "must be a host name")
	}
	if secure := slices.ContainsFunc(e.URLs, func(u secret.URL) bool { return hasScheme(u, "https") }); *t != (TLS{}) && !secure {
		at := c.where(path)
		c.Warn(at, problem.CodeNoEffect, "%s: no URL is https", problem.Label(at))
	}
}

// checkRoute checks sockets, proxies and versions of HTTP.
func (c endpointRules) checkRoute() {
	e := c.endpoint
	socket := e.UnixSocket != nil
	if socket {
		c.checkSocket(c.at(endpointPath+".unixSocket"), *e.UnixSocket)
	}
	proxied := !e.Proxy.Equal(secret.URL{}) || e.ProxyFromEnv
	for i, u := range e.URLs {
		if !hasScheme(u, "http+unix") {
			continue
		}
		n := c.at(endpointPath + ".urls")
		if n == nil || n.Shape != tree.List || i >= len(n.Items) {
			continue
		}
		if socket {
			c.Fail(n.Items[i].Place, problem.CodeConflict, "conflicts with the http+unix URL; use only one of them")
		}
		_, rest, _ := strings.Cut(u.Reveal(), "://")
		host, _, _ := strings.Cut(rest, "/")
		if name, err := url.PathUnescape(host); err == nil {
			c.checkSocket(n.Items[i], name)
		}
		socket = true
	}
	switch proxy := endpointPath + ".proxy"; {
	case e.ProxyFromEnv && !e.Proxy.Equal(secret.URL{}):
		c.conflict(proxy, "conflicts with proxyFromEnv; use only one of them")
	case proxied && socket:
		c.conflict(proxy, "a Unix socket cannot be reached through a proxy")
	case hasScheme(e.Proxy, "https") && e.TLS.ServerName != nil:
		c.conflict(endpointPath+".tls.serverName", "would also apply to the https proxy; use an http or socks5 proxy")
	case proxied && (e.HTTPVersion == "2" || e.HTTPVersion == "h2c"):
		c.conflict(endpointPath+".httpVersion", "HTTP/2 does not work through a proxy; use 1.1")
	}
	if e.ProxyFromEnv {
		c.environmentProxies()
	}
	c.checkVersion()
	c.checkAddresses()
}

func (c endpointRules) checkVersion() {
	e := c.endpoint
	const path = endpointPath + ".httpVersion"
	secure := slices.ContainsFunc(e.URLs, func(u secret.URL) bool { return hasScheme(u, "https") })
	plain := slices.ContainsFunc(e.URLs, func(u secret.URL) bool { return !hasScheme(u, "https") })
	switch {
	case e.HTTPVersion == "h2c" && secure:
		c.conflict(path, "h2c is HTTP/2 without TLS; for https URLs use 2")
	case e.HTTPVersion == "2" && plain:
		c.conflict(path, "2 requires TLS; for http URLs use h2c")
	case e.HTTPVersion != "1.1" && e.ConnectionReuse != "pooled":
		c.conflict(endpointPath+".connectionReuse", "requests share connections with HTTP/2; use pooled, or httpVersion 1.1")
	}
}

// environmentProxies adds the credentials of the environment's proxies to the
// secrets of the document. Untrusted documents cannot use the environment.
func (c endpointRules) environmentProxies() {
	if c.options.Untrusted {
		c.Fail(c.where(endpointPath+".proxyFromEnv"), problem.CodeNotAllowed, "proxyFromEnv: using the server's environment is not allowed here; set proxy instead")
		return
	}
	if c.options.LookupEnv == nil {
		return
	}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if value, ok := c.options.LookupEnv(name); ok && value != "" {
			c.doc.injected = append(c.doc.injected, secret.NewURL(value).Secrets()...)
		}
	}
}

// checkServerCalls checks waiting.
func (c endpointRules) checkServerCalls() {
	e := c.endpoint
	if e.WaitForModelTimeout == 0 {
		if e.WaitForModelInterval != Seconds(schema.Default[float64](endpointPath+".waitForModelInterval")) && c.has(endpointPath+".waitForModelInterval") {
			c.conflict(endpointPath+".waitForModelInterval", "needs a waitForModelTimeout above 0")
		}
		if e.WaitForModelMode != "inference" && c.has(endpointPath+".waitForModelMode") {
			c.conflict(endpointPath+".waitForModelMode", "needs a waitForModelTimeout above 0")
		}
	}
}

func hasScheme(u secret.URL, scheme string) bool {
	s, _, _ := strings.Cut(u.Reveal(), "://")
	return strings.EqualFold(s, scheme)
}

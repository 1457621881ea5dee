package config

import (
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const endpointPath = "benchmark.endpoint"

// checkReach checks how the server is reached: credentials, headers, TLS, proxy,
// HTTP version, and what is asked of the server beside the load.
func (l *loader) checkReach() {
	l.checkCredentials()
	l.checkTLS()
	l.checkRoute()
	l.checkServerCalls()
	e := &l.doc.Benchmark.Endpoint
	for i, name := range e.AffinityHeaders {
		session := e.SessionHeader != nil && strings.EqualFold(*e.SessionHeader, name)
		switch n := l.at(endpointPath + ".affinityHeaders"); {
		case !validHeaderName(name):
			l.failValue(n.items[i], CodeOutOfRange, "must be a header name")
		case session || slices.ContainsFunc(e.AffinityHeaders[:i], func(s string) bool { return strings.EqualFold(s, name) }):
			l.fail(n.items[i].place, CodeConflict, "%s: the header %s is given twice", label(n.items[i].place), name)
		}
	}
}

func (l *loader) checkCredentials() {
	e := &l.doc.Benchmark.Endpoint
	if e.APIKeyFile != nil && !e.APIKey.Empty() && !l.options.Stored {
		l.conflict(endpointPath+".apiKeyFile", "conflicts with apiKey; use only one of them")
	} else {
		l.readKey()
	}
	keyPath := endpointPath + ".apiKey"
	if e.APIKeyFile != nil {
		keyPath = endpointPath + ".apiKeyFile"
	}
	if !validHeaderValue(e.APIKey.Reveal()) {
		at := l.where(keyPath)
		l.fail(at, CodeOutOfRange, "%s: contains characters that are not allowed in a header", label(at))
	}
	if e.APIKey.Empty() {
		return
	}
	if e.AuthStyle == "none" {
		at := l.where(keyPath)
		l.warn(at, CodeNoEffect, "%s: the API key is not sent because authStyle is none", label(at))
	}
	for name := range e.Headers {
		if strings.EqualFold(name, "Authorization") && e.Type != "messages" {
			at := l.where(endpointPath + ".headers." + name)
			l.warn(at, CodeNoEffect, "%s: this header is sent instead of the API key", label(at))
		}
	}
}

// maxKey bounds the file of an API key: no key is longer, and no file without end
// is read.
const maxKey = 64 << 10

// readKey takes the API key out of its file.
func (l *loader) readKey() {
	const path = endpointPath + ".apiKeyFile"
	e := &l.doc.Benchmark.Endpoint
	if e.APIKeyFile == nil || l.options.Stored {
		return
	}
	l.checkFile(path, *e.APIKeyFile)
	if l.failed[path] || l.options.Untrusted && len(l.options.DataRoots) == 0 {
		return
	}
	key, err := keyFrom(*e.APIKeyFile, l.roots())
	switch {
	case err != nil:
		l.failValue(l.at(path), CodeFileNotAllowed, "the file cannot be read")
	case key == "":
		l.failValue(l.at(path), CodeRequired, "the file contains no key")
	default:
		e.APIKey = NewSecret(key)
	}
}

// keyFrom reads a file that holds nothing but a key; blanks at its ends do not
// count.
func keyFrom(name string, roots []string) (string, error) {
	f, err := Open(name, roots)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err == nil && len(data) > maxKey {
		err = errors.New("too long for a key")
	}
	return strings.TrimSpace(string(data)), errors.Join(err, f.Close())
}

// roots returns where files may lie; nil = anywhere.
func (l *loader) roots() []string {
	if l.options.Untrusted {
		return l.options.DataRoots
	}
	return nil
}

func (l *loader) checkTLS() {
	const path = endpointPath + ".tls"
	e := &l.doc.Benchmark.Endpoint
	t := &e.TLS
	for name, file := range map[string]*string{".caFile": t.CAFile, ".certFile": t.CertFile, ".keyFile": t.KeyFile} {
		if file != nil {
			l.checkFile(path+name, *file)
		}
	}
	switch {
	case t.CertFile != nil && t.KeyFile == nil:
		l.conflict(path+".certFile", "needs keyFile")
	case t.KeyFile != nil && t.CertFile == nil:
		l.conflict(path+".keyFile", "needs certFile")
	}
	if t.CAFile != nil && !e.TLSVerify {
		l.conflict(path+".caFile", "certificate verification is disabled")
	}
	if t.ServerName != nil && strings.ContainsFunc(*t.ServerName, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' }) {
		l.failValue(l.at(path+".serverName"), CodeOutOfRange, "must be a host name")
	}
	if secure := slices.ContainsFunc(e.URLs, func(u URL) bool { return hasScheme(u, "https") }); *t != (TLS{}) && !secure {
		at := l.where(path)
		l.warn(at, CodeNoEffect, "%s: no URL is https", label(at))
	}
}

func hasScheme(u URL, scheme string) bool {
	s, _, _ := strings.Cut(u.Reveal(), "://")
	return strings.EqualFold(s, scheme)
}

// checkRoute checks sockets, proxies and versions of HTTP.
func (l *loader) checkRoute() {
	e := &l.doc.Benchmark.Endpoint
	socket := e.UnixSocket != nil
	if socket {
		l.checkSocket(l.at(endpointPath+".unixSocket"), *e.UnixSocket)
	}
	proxied := !e.Proxy.Equal(URL{}) || e.ProxyFromEnv
	for i, u := range e.URLs {
		if !hasScheme(u, "http+unix") {
			continue
		}
		n := l.at(endpointPath + ".urls")
		if n == nil || n.shape != list || i >= len(n.items) {
			continue
		}
		if socket {
			l.fail(n.items[i].place, CodeConflict, "conflicts with the http+unix URL; use only one of them")
		}
		_, rest, _ := strings.Cut(u.Reveal(), "://")
		host, _, _ := strings.Cut(rest, "/")
		if name, err := url.PathUnescape(host); err == nil {
			l.checkSocket(n.items[i], name)
		}
		socket = true
	}
	switch proxy := endpointPath + ".proxy"; {
	case e.ProxyFromEnv && !e.Proxy.Equal(URL{}):
		l.conflict(proxy, "conflicts with proxyFromEnv; use only one of them")
	case proxied && socket:
		l.conflict(proxy, "a Unix socket cannot be reached through a proxy")
	case hasScheme(e.Proxy, "https") && e.TLS.ServerName != nil:
		l.conflict(endpointPath+".tls.serverName", "would also apply to the https proxy; use an http or socks5 proxy")
	case proxied && (e.HTTPVersion == "2" || e.HTTPVersion == "h2c"):
		l.conflict(endpointPath+".httpVersion", "HTTP/2 does not work through a proxy; use 1.1")
	}
	if e.ProxyFromEnv {
		l.environmentProxies()
	}
	l.checkVersion()
}

func (l *loader) checkVersion() {
	e := &l.doc.Benchmark.Endpoint
	const path = endpointPath + ".httpVersion"
	secure := slices.ContainsFunc(e.URLs, func(u URL) bool { return hasScheme(u, "https") })
	plain := slices.ContainsFunc(e.URLs, func(u URL) bool { return !hasScheme(u, "https") })
	switch {
	case e.HTTPVersion == "h2c" && secure:
		l.conflict(path, "h2c is HTTP/2 without TLS; for https URLs use 2")
	case e.HTTPVersion == "2" && plain:
		l.conflict(path, "2 requires TLS; for http URLs use h2c")
	case e.HTTPVersion != "1.1" && e.ConnectionReuse != "pooled":
		l.conflict(endpointPath+".connectionReuse", "requests share connections with HTTP/2; use pooled, or httpVersion 1.1")
	}
}

// environmentProxies keeps the credentials of the environment's proxies out of
// sight. A daemon's environment is not a document's to use.
func (l *loader) environmentProxies() {
	if l.options.Untrusted {
		l.fail(l.where(endpointPath+".proxyFromEnv"), CodeNotAllowed, "proxyFromEnv: using the server's environment is not allowed here; set proxy instead")
		return
	}
	if l.options.LookupEnv == nil {
		return
	}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if value, ok := l.options.LookupEnv(name); ok && value != "" {
			l.doc.injected = append(l.doc.injected, urlSecrets(value)...)
		}
	}
}

// checkServerCalls checks waiting, cache reset and profiler.
func (l *loader) checkServerCalls() {
	e := &l.doc.Benchmark.Endpoint
	if e.WaitForModelTimeout == 0 {
		if e.WaitForModelInterval != defaultWaitInterval && l.has(endpointPath+".waitForModelInterval") {
			l.conflict(endpointPath+".waitForModelInterval", "needs a waitForModelTimeout above 0")
		}
		if e.WaitForModelMode != "inference" && l.has(endpointPath+".waitForModelMode") {
			l.conflict(endpointPath+".waitForModelMode", "needs a waitForModelTimeout above 0")
		}
	}
	paths := map[string]*string{}
	if r := e.ResetKVCache; r != nil {
		paths[".resetKvCache.path"] = r.Path
	}
	if p := e.ServerProfiler; p != nil {
		paths[".serverProfiler.startPath"], paths[".serverProfiler.stopPath"] = p.StartPath, p.StopPath
	}
	for name, path := range paths {
		if path != nil && (strings.Contains(*path, "://") || strings.ContainsAny(*path, " \t\r\n#")) {
			l.failValue(l.at(endpointPath+name), CodeOutOfRange, "must be a path on the server, without spaces or fragment")
		}
	}
}

// checkSocket reports a unix socket that may not be used.
func (l *loader) checkSocket(n *node, name string) {
	const longest = 107 // bytes in sockaddr_un
	switch {
	case n == nil || l.options.Stored:
	case !filepath.IsAbs(name) && strings.HasPrefix(name, "@"):
		l.failValue(n, CodeOutOfRange, "must be the path of a socket; abstract sockets are not supported")
	case len(name) > longest:
		l.failValue(n, CodeOutOfRange, "must have at most 107 bytes, the limit of the operating system")
	case !l.options.Untrusted:
	case len(l.options.DataRoots) == 0:
		l.failValue(n, CodeFileNotAllowed, "reading files is not allowed here")
	default:
		if _, err := socket(name, l.options.DataRoots); err != nil {
			l.failValue(n, CodeFileNotAllowed, "must be a socket in one of the server's data directories (serve --data-root)")
		}
	}
}

// Socket returns the path of a unix socket that the document names, within the
// bounds under which the document was loaded. For a document with bounds the path
// has no links left.
func (d *Document) Socket(name string) (string, error) {
	switch {
	case !d.untrusted:
		return name, nil
	case len(d.roots) == 0:
		return "", &fs.PathError{Op: "connect", Path: name, Err: fs.ErrPermission}
	}
	return socket(name, d.roots)
}

// socket finds a socket under one of the roots.
func socket(name string, roots []string) (string, error) {
	err := error(&fs.PathError{Op: "connect", Path: name, Err: fs.ErrPermission})
	for _, dir := range roots {
		rel, ok := under(dir, name)
		if !ok {
			continue
		}
		home, homeErr := filepath.EvalSymlinks(dir)
		whole, wholeErr := filepath.EvalSymlinks(filepath.Join(dir, rel))
		if err = errors.Join(homeErr, wholeErr); err != nil {
			continue
		}
		if inside, ok := under(home, whole); !ok || !filepath.IsLocal(inside) {
			err = &fs.PathError{Op: "connect", Path: name, Err: fs.ErrPermission}
			continue
		}
		info, statErr := os.Lstat(whole)
		if statErr == nil && info.Mode().Type() == fs.ModeSocket {
			return whole, nil
		}
		err = errors.Join(statErr, &fs.PathError{Op: "connect", Path: name, Err: errNotSocket})
	}
	return "", err
}

// errNotSocket is for names that lead to anything but sockets.
var errNotSocket = errors.New("not a socket")

package config

import (
	"cmp"
	"errors"
	"io"
	"net/netip"
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
func checkConnection(in *input, e *Endpoint) {
	checkCredentials(in, e)
	checkTLS(in, e)
	checkRoute(in, e)
	checkServerCalls(in, e)
	for i, name := range e.AffinityHeaders {
		session := e.SessionHeader != nil && strings.EqualFold(*e.SessionHeader, name)
		switch n := in.At(endpointPath + ".affinityHeaders"); {
		case !schema.IsHeaderName(name):
			in.FailValue(n.Items[i], problem.CodeOutOfRange, "must be a header name")
		case session || slices.ContainsFunc(e.AffinityHeaders[:i], func(s string) bool { return strings.EqualFold(s, name) }):
			in.Fail(n.Items[i].Place, problem.CodeConflict, "%s: the header %s is given twice",
				problem.Label(n.Items[i].Place), name)
		}
	}
}

func checkCredentials(in *input, e *Endpoint) {
	if e.APIKeyFile != nil && !e.APIKey.Empty() && !in.options.Stored {
		in.Conflict(endpointPath+".apiKeyFile", "conflicts with apiKey; use only one of them")
	} else {
		readKey(in, e)
	}
	keyPath := endpointPath + ".apiKey"
	if e.APIKeyFile != nil {
		keyPath = endpointPath + ".apiKeyFile"
	}
	if !schema.IsHeaderValue(e.APIKey.Reveal()) {
		at := in.Where(keyPath)
		in.Fail(at, problem.CodeOutOfRange, "%s: contains characters that are not allowed in a header", problem.Label(at))
	}
	if e.APIKey.Empty() {
		return
	}
	in.doc.keySource = cmp.Or(in.Where(keyPath).Flag, keyPath)
	if e.AuthStyle == "none" {
		in.noEffect(keyPath, ": the API key is not sent because authStyle is none")
	}
	for name := range e.Headers {
		if strings.EqualFold(name, "Authorization") && e.Type != "messages" {
			in.noEffect(endpointPath+".headers."+name, ": this header is sent instead of the API key")
		}
	}
}

// readKey takes the API key out of its file.
func readKey(in *input, e *Endpoint) {
	const path = endpointPath + ".apiKeyFile"
	if e.APIKeyFile == nil || in.options.Stored {
		return
	}
	checkFile(in, path, *e.APIKeyFile)
	if in.Failed[path] || in.doc.closed() {
		return
	}
	key, err := KeyFrom(*e.APIKeyFile, in.doc.roots)
	switch {
	case err != nil:
		in.FailValue(in.At(path), problem.CodeFileNotAllowed, "the file cannot be read")
	case key == "":
		in.FailValue(in.At(path), problem.CodeRequired, "the file contains no key")
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

func checkTLS(in *input, e *Endpoint) {
	const path = endpointPath + ".tls"
	t := &e.TLS
	for name, file := range map[string]*string{".caFile": t.CAFile, ".certFile": t.CertFile, ".keyFile": t.KeyFile} {
		if file != nil {
			checkFile(in, path+name, *file)
		}
	}
	switch {
	case t.CertFile != nil && t.KeyFile == nil:
		in.Conflict(path+".certFile", "needs keyFile")
	case t.KeyFile != nil && t.CertFile == nil:
		in.Conflict(path+".keyFile", "needs certFile")
	}
	if t.CAFile != nil && !e.TLSVerify {
		in.Conflict(path+".caFile", "certificate verification is disabled")
	}
	if t.ServerName != nil && strings.ContainsFunc(*t.ServerName, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' }) {
		in.FailValue(in.At(path+".serverName"), problem.CodeOutOfRange, "must be a host name")
	}
	if secure := slices.ContainsFunc(e.URLs, func(u secret.URL) bool { return hasScheme(u, "https") }); *t != (TLS{}) && !secure {
		in.noEffect(path, ": no URL is https")
	}
}

// checkRoute checks sockets, proxies and versions of HTTP.
func checkRoute(in *input, e *Endpoint) {
	socket := e.UnixSocket != nil
	if socket {
		checkSocket(in, in.At(endpointPath+".unixSocket"), *e.UnixSocket)
	}
	proxied := !e.Proxy.Equal(secret.URL{}) || e.ProxyFromEnv
	for i, u := range e.URLs {
		if !hasScheme(u, "http+unix") {
			continue
		}
		n := in.At(endpointPath + ".urls")
		if n == nil || n.Shape != tree.List || i >= len(n.Items) {
			continue
		}
		if socket {
			in.Fail(n.Items[i].Place, problem.CodeConflict, "conflicts with the http+unix URL; use only one of them")
		}
		_, rest, _ := strings.Cut(u.Reveal(), "://")
		host, _, _ := strings.Cut(rest, "/")
		if name, err := url.PathUnescape(host); err == nil {
			checkSocket(in, n.Items[i], name)
		}
		socket = true
	}
	switch proxy := endpointPath + ".proxy"; {
	case e.ProxyFromEnv && !e.Proxy.Equal(secret.URL{}):
		in.Conflict(proxy, "conflicts with proxyFromEnv; use only one of them")
	case proxied && socket:
		in.Conflict(proxy, "a Unix socket cannot be reached through a proxy")
	case hasScheme(e.Proxy, "https") && e.TLS.ServerName != nil:
		in.Conflict(endpointPath+".tls.serverName", "would also apply to the https proxy; use an http or socks5 proxy")
	case proxied && (e.HTTPVersion == "2" || e.HTTPVersion == "h2c"):
		in.Conflict(endpointPath+".httpVersion", "HTTP/2 does not work through a proxy; use 1.1")
	}
	if e.ProxyFromEnv {
		environmentProxies(in)
	}
	checkVersion(in, e)
	checkAddresses(in, e)
}

func checkVersion(in *input, e *Endpoint) {
	const path = endpointPath + ".httpVersion"
	secure := slices.ContainsFunc(e.URLs, func(u secret.URL) bool { return hasScheme(u, "https") })
	plain := slices.ContainsFunc(e.URLs, func(u secret.URL) bool { return !hasScheme(u, "https") })
	switch {
	case e.HTTPVersion == "h2c" && secure:
		in.Conflict(path, "h2c is HTTP/2 without TLS; for https URLs use 2")
	case e.HTTPVersion == "2" && plain:
		in.Conflict(path, "2 requires TLS; for http URLs use h2c")
	case e.HTTPVersion != "1.1" && e.ConnectionReuse != "pooled":
		in.Conflict(endpointPath+".connectionReuse", "requests share connections with HTTP/2; use pooled, or httpVersion 1.1")
	}
}

// environmentProxies adds the credentials of the environment's proxies to the
// secrets of the document. Untrusted documents cannot use the environment.
func environmentProxies(in *input) {
	if in.options.Untrusted {
		in.Fail(in.Where(endpointPath+".proxyFromEnv"), problem.CodeNotAllowed,
			"proxyFromEnv: using the server's environment is not allowed here; set proxy instead")
		return
	}
	if in.options.LookupEnv == nil {
		return
	}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if value, ok := in.options.LookupEnv(name); ok && value != "" {
			in.doc.injected = append(in.doc.injected, secret.NewURL(value).Secrets()...)
		}
	}
}

// checkServerCalls checks waiting.
func checkServerCalls(in *input, e *Endpoint) {
	if e.WaitForModelTimeout == 0 {
		if e.WaitForModelInterval != Seconds(schema.Default[float64](endpointPath+".waitForModelInterval")) && in.Has(endpointPath+".waitForModelInterval") {
			in.Conflict(endpointPath+".waitForModelInterval", "needs a waitForModelTimeout above 0")
		}
		if e.WaitForModelMode != "inference" && in.Has(endpointPath+".waitForModelMode") {
			in.Conflict(endpointPath+".waitForModelMode", "needs a waitForModelTimeout above 0")
		}
	}
}

// checkAddresses checks the local addresses of connections and their IP version.
func checkAddresses(in *input, e *Endpoint) {
	const version, sources = endpointPath + ".ipVersion", endpointPath + ".sourceAddresses"
	four, six := e.IPVersion != "6", e.IPVersion != "4" // what connections may have
	var from4, from6 bool
	n := in.At(sources)
	for i, text := range e.SourceAddresses {
		at := n
		if n != nil && n.Shape == tree.List && i < len(n.Items) {
			at = n.Items[i]
		}
		addr, err := netip.ParseAddr(text)
		switch is4 := err == nil && addr.Is4(); {
		case err != nil || addr.Zone() != "" || addr.Is4In6() || addr.IsUnspecified() || addr.IsMulticast():
			in.FailValue(at, problem.CodeOutOfRange, "must be an IP address of this machine")
		case is4 && !four, !is4 && !six:
			in.FailValue(at, problem.CodeConflict, "conflicts with the IP version "+e.IPVersion)
		default:
			from4, from6 = from4 || is4, from6 || !is4
		}
	}
	if from4 || from6 {
		four, six = from4, from6
	}
	local := e.UnixSocket != nil
	for _, u := range e.URLs {
		local = local || hasScheme(u, "http+unix")
		parsed, err := url.Parse(u.Reveal())
		if err != nil {
			continue // it is reported
		}
		host, err := netip.ParseAddr(parsed.Hostname())
		if err != nil || (host.Unmap().Is4() && four) || (!host.Unmap().Is4() && six) {
			continue
		}
		path := version
		if from4 || from6 {
			path = sources
		}
		in.Conflict(path, "the server "+strings.TrimSpace(host.String())+" has an address of the other IP version")
	}
	switch {
	case !local:
	case len(e.SourceAddresses) > 0:
		in.Conflict(sources, "connections to Unix sockets have no IP address")
	case e.IPVersion != "auto" && in.Has(version):
		in.Conflict(version, "connections to Unix sockets have no IP version")
	}
}

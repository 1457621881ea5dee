package config

import (
	"net/url"
	"strings"

	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/tree"
)

// checkTargets reports the servers that the document must not reach, and the secrets that it must
// not send to them.
func checkTargets(in *input, e *Endpoint) {
	if in.options.Stored {
		return
	}
	var servers []reached
	list := in.At(endpointPath + ".urls")
	for i, u := range e.URLs {
		s := reached{Node: list, At: in.Where(endpointPath + ".urls")}
		if list != nil && list.Shape == tree.List && i < len(list.Items) {
			s.Node, s.At = list.Items[i], list.Items[i].Place
		}
		if e.UnixSocket != nil {
			s.Socket, s.At = socketPath(in, e, *e.UnixSocket), in.Where(endpointPath+".unixSocket")
		}
		servers = appendServer(in, e, servers, s, u)
	}
	if !e.Proxy.Equal(secret.URL{}) {
		servers = appendServer(in, e, servers, reached{
			Node: in.At(endpointPath + ".proxy"), At: in.Where(endpointPath + ".proxy"), Proxy: true,
		}, e.Proxy)
	}
	checkReach(in.Report, servers, in.At(""), in.options.Reach)
}

// appendServer adds the server of a URL. A URL that cannot be read is reported elsewhere.
func appendServer(in *input, e *Endpoint, servers []reached, s reached, u secret.URL) []reached {
	raw := u.Reveal()
	if _, rest, _ := strings.Cut(raw, "://"); hasScheme(u, "http+unix") {
		host, _, _ := strings.Cut(rest, "/")
		name, err := url.PathUnescape(host)
		if err != nil {
			return servers
		}
		s.Socket, raw = socketPath(in, e, name), "http://localhost"
	}
	var err error
	if s.URL, err = url.Parse(raw); err != nil {
		return servers
	}
	return append(servers, s)
}

// socketPath returns the path of a socket without links, if the document may use it.
func socketPath(in *input, e *Endpoint, name string) string {
	if path, err := in.doc.Socket(name); err == nil {
		return path
	}
	return name
}

func hasScheme(u secret.URL, scheme string) bool {
	s, _, _ := strings.Cut(u.Reveal(), "://")
	return strings.EqualFold(s, scheme)
}

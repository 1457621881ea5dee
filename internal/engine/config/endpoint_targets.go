package config

import (
	"net/url"
	"strings"

	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/tree"
)

// targetRules checks which servers a document reaches.
type targetRules struct {
	*loader
	endpoint *Endpoint
}

// check reports the servers that the document must not reach, and the secrets that it must
// not send to them.
func (c targetRules) check() {
	if c.options.Stored {
		return
	}
	e := c.endpoint
	var servers []reached
	list := c.at(endpointPath + ".urls")
	for i, u := range e.URLs {
		s := reached{Node: list, At: c.where(endpointPath + ".urls")}
		if list != nil && list.Shape == tree.List && i < len(list.Items) {
			s.Node, s.At = list.Items[i], list.Items[i].Place
		}
		if e.UnixSocket != nil {
			s.Socket, s.At = c.socketPath(*e.UnixSocket), c.where(endpointPath+".unixSocket")
		}
		servers = c.appendServer(servers, s, u)
	}
	if !e.Proxy.Equal(secret.URL{}) {
		servers = c.appendServer(servers, reached{
			Node: c.at(endpointPath + ".proxy"), At: c.where(endpointPath + ".proxy"), Proxy: true,
		}, e.Proxy)
	}
	checkReach(c.Report, servers, c.root, c.options.Reach)
}

// appendServer adds the server of a URL. A URL that cannot be read is reported elsewhere.
func (c targetRules) appendServer(servers []reached, s reached, u secret.URL) []reached {
	raw := u.Reveal()
	if _, rest, _ := strings.Cut(raw, "://"); hasScheme(u, "http+unix") {
		host, _, _ := strings.Cut(rest, "/")
		name, err := url.PathUnescape(host)
		if err != nil {
			return servers
		}
		s.Socket, raw = c.socketPath(name), "http://localhost"
	}
	var err error
	if s.URL, err = url.Parse(raw); err != nil {
		return servers
	}
	return append(servers, s)
}

// socketPath returns the path of a socket without links, if the document may use it.
func (c targetRules) socketPath(name string) string {
	if path, err := dataSocket(name, c.roots()); err == nil {
		return path
	}
	return name
}

package config

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/config/problem"
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
			s.Socket, s.At = socketPath(in, *e.UnixSocket), in.Where(endpointPath+".unixSocket")
		}
		servers = appendServer(in, servers, s, u)
	}
	if !e.Proxy.Equal(secret.URL{}) {
		servers = appendServer(in, servers, reached{
			Node: in.At(endpointPath + ".proxy"), At: in.Where(endpointPath + ".proxy"), Proxy: true,
		}, e.Proxy)
	}
	if m := &in.doc.Benchmark.ServerMetrics; m.Enabled {
		servers = appendPages(in, servers, serverMetricsPath+".urls", m.URLs)
	}
	if g := &in.doc.Benchmark.GPUTelemetry; g.Enabled {
		servers = appendPages(in, servers, gpuTelemetryPath+".urls", g.URLs)
	}
	o, m := &in.doc.Benchmark.OTel, &in.doc.Benchmark.MLflow
	servers = appendReceiver(in, servers, otelPath, "metricsUrl", o.MetricsURL)
	servers = appendReceiver(in, servers, otelPath, "tracesUrl", o.TracesURL)
	servers = appendReceiver(in, servers, mlflowPath, "trackingUri", m.TrackingURI)
	checkReach(in.Report, servers, in.At(""), in.options.Reach)
}

// appendReceiver adds a server to which results are sent, which gets the secrets of its section; nil = there is none.
func appendReceiver(in *input, servers []reached, section, field string, u *secret.URL) []reached {
	if u == nil {
		return servers
	}
	path := section + "." + field
	return appendServer(in, servers, reached{Node: in.At(path), At: in.Where(path), Section: in.At(section)}, *u)
}

// appendPages adds the servers of pages of metrics, which stand in a list at a path.
func appendPages(in *input, servers []reached, path string, urls []secret.URL) []reached {
	list := in.At(path)
	for i, u := range urls {
		s := reached{Node: list, At: in.Where(path), Section: list}
		if list != nil && i < len(list.Items) {
			s.Node, s.At, s.Section = list.Items[i], list.Items[i].Place, list.Items[i]
		}
		if strings.HasPrefix(u.Reveal(), secret.TargetsFile) {
			continue // what it lists is checked when a connection is opened
		}
		servers = appendServer(in, servers, s, secret.NewURL(strings.TrimPrefix(u.Reveal(), secret.EveryAddress)))
	}
	return servers
}

// appendServer adds the server of a URL. A URL that cannot be read is reported elsewhere.
func appendServer(in *input, servers []reached, s reached, u secret.URL) []reached {
	raw := u.Reveal()
	if _, rest, _ := strings.Cut(raw, "://"); hasScheme(u, "http+unix") {
		host, _, _ := strings.Cut(rest, "/")
		name, err := url.PathUnescape(host)
		if err != nil {
			return servers
		}
		s.Socket, raw = socketPath(in, name), "http://localhost"
	}
	var err error
	if s.URL, err = url.Parse(raw); err != nil {
		return servers
	}
	return append(servers, s)
}

// socketPath returns the path of a socket without links, if the document may use it.
func socketPath(in *input, name string) string {
	if path, err := in.doc.Socket(name); err == nil {
		return path
	}
	return name
}

func hasScheme(u secret.URL, scheme string) bool {
	s, _, _ := strings.Cut(u.Reveal(), "://")
	return strings.EqualFold(s, scheme)
}

// ReachOptions are what the operator allows.
type ReachOptions struct {
	Targets *allow.List // nil = every server
	// SecretHosts returns the hosts to which a secret is bound; false = it is not bound.
	// nil = no secret is.
	SecretHosts func(name string) (allow.Patterns, bool)
}

// reached is a server that a document names.
type reached struct {
	Node   *tree.Node // nil = the document does not give it
	At     tree.Place
	URL    *url.URL
	Socket string // path of the Unix socket that is used instead; empty = none
	Proxy  bool   // other servers are reached through it
	// Section is the part of the document whose secrets the server gets, and no others; nil = the rest. Several
	// servers may have one section.
	Section *tree.Node
}

// checkReach reports the servers that the document must not reach, and the secrets that it
// would send to hosts other than theirs. A secret in the URL of a server goes to this server, one of
// a section to the server of that section; any other goes to all servers without a section, and to
// the proxy of servers without TLS.
func checkReach(r *problem.Report, servers []reached, root *tree.Node, o ReachOptions) {
	for _, s := range servers {
		err := o.Targets.URL(s.URL)
		if s.Socket != "" {
			err = o.Targets.Socket(s.Socket)
		}
		denied, ok := errors.AsType[*allow.Denied](err)
		switch {
		case !ok:
		case s.Node != nil && len(s.Node.Secrets) > 0: // the host may be one
			r.Fail(s.At, problem.CodeTargetNotAllowed, "%s: not an allowed target: %s", problem.Label(s.At), denied.Reason)
		default:
			r.Fail(s.At, problem.CodeTargetNotAllowed, "%s: %v", problem.Label(s.At), denied)
		}
	}
	if o.SecretHosts == nil {
		return
	}
	check := func(n *tree.Node, to []reached) {
		for _, name := range n.References {
			if hosts, bound := o.SecretHosts(name); bound {
				bind(r, n, name, hosts, to)
			}
		}
	}
	apart := make(map[*tree.Node]bool) // the nodes of sections with servers of their own
	for i, s := range servers {
		sameSection := func(o reached) bool { return o.Section == s.Section }
		if s.Section == nil || slices.IndexFunc(servers, sameSection) < i {
			continue
		}
		own := slices.DeleteFunc(slices.Clone(servers), func(o reached) bool { return !sameSection(o) })
		s.Section.Walk(func(n *tree.Node) {
			apart[n] = true
			check(n, own)
		})
	}
	others := slices.DeleteFunc(slices.Clone(servers), func(s reached) bool { return s.Section != nil })
	root.Walk(func(n *tree.Node) {
		if !apart[n] {
			check(n, others)
		}
	})
}

// bind reports the first server that gets a secret and is not one of its hosts. A proxy
// gets the secrets of all servers: TLS keeps them from it only if the document verifies
// certificates by the names in its URLs.
func bind(r *problem.Report, n *tree.Node, name string, hosts allow.Patterns, servers []reached) {
	var own *reached
	for i := range servers {
		if servers[i].Node == n {
			own = &servers[i]
		}
	}
	for _, s := range servers {
		gets := own == nil || s.Node == n || s.Proxy && !own.Proxy
		if !gets || s.allowedBy(hosts) {
			continue
		}
		to := s.Socket
		if to == "" {
			to = allow.Address(s.URL)
		}
		r.Fail(n.Place, problem.CodeSecretNotAllowed,
			"%s: the secret %s would be sent to %s, which is not one of its hosts (%s.hosts in serve --secrets-dir)",
			problem.Label(n.Place), name, to, name)
		return
	}
}

// allowedBy reports whether a server is one of the hosts of a secret.
func (s *reached) allowedBy(hosts allow.Patterns) bool {
	if s.Socket != "" {
		return hosts.Socket(s.Socket)
	}
	return hosts.Host(s.URL.Hostname(), allow.Port(s.URL))
}

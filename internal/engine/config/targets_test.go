package config

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/config/problem"
)

// problemsIn returns the pointers and codes of the problems of a document.
func problemsIn(err error) string {
	invalid, ok := errors.AsType[*problem.Invalid](err)
	if !ok {
		return ""
	}
	var all []string
	for _, p := range invalid.Problems {
		all = append(all, p.Pointer+" "+p.Code)
	}
	return strings.Join(all, ", ")
}

func hosts(t *testing.T, texts ...string) allow.Patterns {
	t.Helper()
	all, err := allow.ParseAll(texts)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTargets: a document from the network reaches only what the operator allows, by
// whichever field it names it.
func TestTargets(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "vllm.sock")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip(err) // the path is too long on this machine
	}
	defer ln.Close()
	if err := os.Symlink(socket, filepath.Join(dir, "link.sock")); err != nil {
		t.Fatal(err)
	}
	escaped := strings.ReplaceAll(dir, "/", "%2F")
	listed := allow.New(allow.Options{Patterns: hosts(t, "gw.lab:8000", "*.example", "proxy:3128", "unix:"+socket)})
	open, closed := allow.New(allow.Options{Open: true}), allow.New(allow.Options{})
	const at = "#/benchmark/endpoint/"
	for _, c := range []struct {
		name     string
		list     *allow.List
		endpoint string
		want     string
	}{
		{"listed", listed, `url: "http://gw.lab:8000/v1"`, ""},
		{"unlisted", listed, `url: "http://gw.lab"`, at + "url target-not-allowed"},
		{"one of several", listed, `urls: ["http://a.example", "http://evil", "https://b.example", "http://169.254.169.254"]`, at + "urls/1 target-not-allowed, " + at + "urls/3 target-not-allowed"},
		{"the default", listed, "type: chat", at + "urls target-not-allowed"},
		{"without a scheme", listed, `url: "evil:8000"`, at + "url target-not-allowed"},
		{"proxy", listed, `{url: "http://a.example", proxy: "http://proxy:3128"}`, ""},
		{"unlisted proxy", listed, `{url: "http://a.example", proxy: "socks5://evil:1080"}`, at + "proxy target-not-allowed"},
		{"behind a proxy", listed, `{url: "http://evil", proxy: "http://proxy:3128"}`, at + "url target-not-allowed"},
		{"socket", listed, `{unixSocket: "` + socket + `"}`, ""},
		{"socket by a link", listed, `{unixSocket: "` + dir + `/link.sock"}`, ""},
		{"socket URL", listed, `{url: "http+unix://` + escaped + `%2Fvllm.sock"}`, ""},
		{"unlisted socket", allow.New(allow.Options{Patterns: hosts(t, "*")}), `{url: "http+unix://` + escaped + `%2Fvllm.sock"}`, at + "url target-not-allowed"},
		{"metadata", open, `url: "http://2852039166"`, at + "url target-not-allowed"},
		{"anything", open, `url: "https://anything.example"`, ""},
		{"closed", closed, `url: "https://anything.example"`, at + "url target-not-allowed"},
		{"closed, socket", closed, `{unixSocket: "` + socket + `"}`, at + "unixSocket target-not-allowed"},
		{"no list", nil, `url: "http://169.254.169.254"`, ""},
		{"variable", listed, `url: "http://${HOST}"`, at + "url target-not-allowed"},
		{"template", listed, `url: "http://{{ 'ev' ~ 'il' }}"`, at + "url target-not-allowed"},
	} {
		if !strings.HasPrefix(c.endpoint, "{") {
			c.endpoint = "{" + c.endpoint + "}"
		}
		doc := "benchmark: {model: m, phases: {requests: 200}, endpoint: " + c.endpoint + "}"
		_, _, err := Load([]byte(doc), LoadOptions{
			Untrusted: true, DataRoots: []string{dir}, Choices: someChoices(), Reach: ReachOptions{Targets: c.list},
			AllowEnv: []string{"HOST"}, LookupEnv: func(string) (string, bool) { return "sk-in-the-wrong-place", true },
		})
		if got := problemsIn(err); got != c.want {
			t.Errorf("%s: %q, want %q: %v", c.name, got, c.want, err)
		}
		if err != nil && strings.Contains(err.Error(), "sk-in") {
			t.Errorf("%s: %v shows the variable", c.name, err)
		}
	}
}

// TestSecretHosts: a secret that is bound to hosts goes to no other.
func TestSecretHosts(t *testing.T) {
	bound := func(name string) (allow.Patterns, bool) {
		switch name {
		case "lab":
			return hosts(t, "*.lab"), true
		case "nowhere":
			return nil, true
		}
		return nil, false
	}
	const at = "#/benchmark/endpoint/"
	for _, c := range []struct{ name, endpoint, more, want string }{
		{"its host", `{url: "http://gw.lab", apiKey: "${secret:lab}"}`, "", ""},
		{"another host", `{url: "http://evil", apiKey: "${secret:lab}"}`, "", at + "apiKey secret-not-allowed"},
		{"no host", `{url: "http://gw.lab", apiKey: "${secret:nowhere}"}`, "", at + "apiKey secret-not-allowed"},
		{"not bound", `{url: "http://evil", apiKey: "${secret:free}"}`, "", ""},
		{"one of two hosts", `{urls: ["http://gw.lab", "http://evil"], headers: {X-Key: "k ${secret:lab}"}}`, "", at + "headers/X-Key secret-not-allowed"},
		{"the URL of its host", `{urls: ["http://u:${secret:lab}@gw.lab", "http://evil"]}`, "", ""},
		{"the URL of another host", `{urls: ["http://gw.lab", "http://u:${secret:lab}@evil"]}`, "", at + "urls/1 secret-not-allowed"},
		{"a host that resembles it", `{url: "http://gw.lab@evil", apiKey: "${secret:lab}"}`, "", at + "apiKey secret-not-allowed"},
		{"a parameter", `{url: "http://evil", urlParams: {k: "${secret:lab}"}}`, "", at + "urlParams/k secret-not-allowed"},
		{"extra", `{url: "http://evil", extra: {password: "${secret:lab}"}}`, "", at + "extra/password secret-not-allowed"},
		{"a proxy sees what is not encrypted", `{url: "http://gw.lab", proxy: "http://evil:1", apiKey: "${secret:lab}"}`, "", at + "apiKey secret-not-allowed"},
		{"a proxy of TLS, which a document may weaken", `{url: "https://gw.lab", proxy: "http://evil:1", apiKey: "${secret:lab}"}`, "", at + "apiKey secret-not-allowed"},
		{"of the proxy", `{url: "https://evil", proxy: "http://u:${secret:lab}@proxy.lab:1"}`, "", ""},
		{"of another proxy", `{url: "https://gw.lab", proxy: "http://u:${secret:lab}@evil:1"}`, "", at + "proxy secret-not-allowed"},
		{"a template", `{url: "http://evil", apiKey: "{{ key }}"}`, `variables: {key: "${secret:lab}"}`, "#/variables/key secret-not-allowed"},
		{"a record", `{url: "http://evil"}`, `datasets: [{name: d, type: file, format: single_turn, records: [{text: "${secret:lab}"}]}]`, "secret-not-allowed"},
		{"a sweep", `{url: "http://evil"}`, `sweep: {type: grid, parameters: {"endpoint.apiKey": ["a", "${secret:lab}"]}}`, "secret-not-allowed"},
	} {
		doc := "benchmark: {model: m, phases: {requests: 200}, endpoint: " + c.endpoint
		if strings.HasPrefix(c.more, "datasets") {
			doc += ", " + c.more
			c.more = ""
		}
		doc += "}\n" + c.more + "\n"
		_, _, err := Load([]byte(doc), LoadOptions{
			Untrusted: true, Choices: someChoices(), LookupSecret: func(string) (string, bool) { return "s3cret-value", true },
			Reach: ReachOptions{SecretHosts: bound},
		})
		if got := problemsIn(err); got != c.want && (strings.HasPrefix(c.want, "#") || c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %q, want %q: %v", c.name, got, c.want, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v shows the secret", c.name, err)
		}
	}
}

package config

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An untrusted document can use keys, certificates and sockets under the data
// roots only, even if links lead out of them.
func TestConnectionOfUntrusted(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	for _, dir := range []string{root, outside} {
		if err := os.WriteFile(filepath.Join(dir, "key"), []byte("sk-1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		ln, err := net.Listen("unix", filepath.Join(dir, "s.sock"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
	}
	for _, name := range []string{"key", "s.sock"} {
		if err := os.Symlink(filepath.Join(outside, name), filepath.Join(root, "link-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	escape := func(name string) string { return strings.ReplaceAll(name, "/", "%2F") }
	for _, tt := range []struct{ name, endpoint, want string }{
		{"key", "apiKeyFile: key", ""},
		{"key by its whole path", "apiKeyFile: " + filepath.Join(root, "key"), ""},
		{"key outside", "apiKeyFile: " + filepath.Join(outside, "key"), "#/benchmark/endpoint/apiKeyFile file-not-allowed"},
		{"key above", "apiKeyFile: ../key", "#/benchmark/endpoint/apiKeyFile file-not-allowed"},
		{"key behind a link", "apiKeyFile: link-key", "#/benchmark/endpoint/apiKeyFile file-not-allowed"},
		{"socket", "unixSocket: s.sock", ""},
		{"socket outside", "unixSocket: " + filepath.Join(outside, "s.sock"), "#/benchmark/endpoint/unixSocket file-not-allowed"},
		{"socket behind a link", "unixSocket: link-s.sock", "#/benchmark/endpoint/unixSocket file-not-allowed"},
		{"not a socket", "unixSocket: key", "#/benchmark/endpoint/unixSocket file-not-allowed"},
		{"socket of a URL", `url: "http+unix://` + escape(filepath.Join(root, "s.sock")) + `/v1"`, ""},
		{"socket of a URL outside", `url: "http+unix://` + escape(filepath.Join(outside, "s.sock")) + `"`, "#/benchmark/endpoint/url file-not-allowed"},
		{"certificate", `url: "https://h", tls: {caFile: key}`, ""},
		{"certificate outside", `url: "https://h", tls: {certFile: ` + filepath.Join(outside, "key") + ", keyFile: link-key}",
			"#/benchmark/endpoint/tls/certFile file-not-allowed; #/benchmark/endpoint/tls/keyFile file-not-allowed"},
		{"environment of the server", "proxyFromEnv: true", "#/benchmark/endpoint/proxyFromEnv not-allowed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := []byte("benchmark: {endpoint: {" + tt.endpoint + "}, phases: [{requests: 200}]}")
			d, _, err := Load(text, LoadOptions{Choices: someChoices(), Untrusted: true, DataRoots: []string{root}})
			switch {
			case tt.want != "":
				if diff := cmp.Diff(tt.want, codes(t, err)); diff != "" {
					t.Errorf("problems (-want +got):\n%s", diff)
				}
			case err != nil:
				t.Errorf("problems: %v", err)
			case d.Benchmark.Endpoint.APIKeyFile != nil && d.Benchmark.Endpoint.APIKey.Reveal() != "sk-1":
				t.Errorf("key = %q, want sk-1", d.Benchmark.Endpoint.APIKey.Reveal())
			}
			if _, _, err := Load(text, LoadOptions{Choices: someChoices(), Untrusted: true}); !strings.Contains(tt.name, "environment") && codes(t, err) == "" {
				t.Error("files are read without any root")
			}
		})
	}
}

func TestSocketOfDocument(t *testing.T) {
	root := t.TempDir()
	ln, err := net.Listen("unix", filepath.Join(root, "s.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if got, err := (&Document{}).Socket("/nowhere/yet"); err != nil || got != "/nowhere/yet" {
		t.Errorf("trusted: %q, %v; want the name as it is", got, err)
	}
	bound := &Document{untrusted: true, roots: []string{root}}
	real, err := filepath.EvalSymlinks(filepath.Join(root, "s.sock"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := bound.Socket("s.sock"); err != nil || got != real {
		t.Errorf("Socket(s.sock) = %q, %v; want %q", got, err, real)
	}
	if got, err := bound.Socket("/run/docker.sock"); err == nil {
		t.Errorf("Socket(/run/docker.sock) = %q, want an error", got)
	}
}

// Every secret of the connection options is known to the redactor.
func TestConnectionSecrets(t *testing.T) {
	d, _ := mustLoad(t, `{"benchmark": {"model": "m", "phases": {"duration": 60}, "endpoint": {
		"proxy": "http://walter:pa55word@p:3128", "urlParams": {"api_key": "s3cretkey", "version": "v7", "n": 3}}}}`, LoadOptions{Choices: someChoices()})
	secrets := strings.Join(d.Secrets(), " ")
	for _, want := range []string{"pa55word", "walter", "s3cretkey"} {
		if !strings.Contains(secrets, want) {
			t.Errorf("secrets %q lack %s", secrets, want)
		}
	}
	env := map[string]string{"HTTPS_PROXY": "http://u:envpa55@p:1"}
	d, _ = mustLoad(t, `{"benchmark": {"model": "m", "phases": {"duration": 60}, "endpoint": {"proxyFromEnv": true}}}`, LoadOptions{Choices: someChoices(),
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	if !strings.Contains(strings.Join(d.Secrets(), " "), "envpa55") {
		t.Errorf("secrets %q lack the proxy's of the environment", d.Secrets())
	}
}

package api

import "testing"

func TestHostname(t *testing.T) {
	for in, want := range map[string]string{
		"localhost": "localhost", "LocalHost:80": "localhost", "localhost:": "localhost", "127.0.0.1:9090": "127.0.0.1",
		"[::1]": "::1", "[::1]:80": "::1", "bench.example:443": "bench.example",
		"": "", ":80": "", "localhost:evil.com": "", "localhost]": "", "[localhost]": "", "[localhost]:80": "", "[::1": "", "[::1]x": "",
		"[::1]:x": "", "[127.0.0.1]": "", "::1": "", "localhost:80:80": "", "localhost:-1": "",
	} {
		if got, ok := hostname(in); got != want || ok != (want != "") {
			t.Errorf("hostname(%q) = %q, %v; want %q", in, got, ok, want)
		}
	}
}

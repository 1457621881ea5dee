package endpoint

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/bench"
)

func lookup(t testing.TB, name string) Kind {
	t.Helper()
	k, ok := Lookup(name)
	if !ok {
		t.Fatalf("Lookup(%q) found nothing", name)
	}
	return k
}

func TestLookup(t *testing.T) {
	for name, want := range map[string]string{
		"chat": "chat", "CHAT": "chat", "openai-chat": "chat", "OpenAI_Chat": "chat",
		"completions": "completions", "openai": "completions", "vLLM": "completions",
		"": "", "chat ": "", "nope": "",
	} {
		k, ok := Lookup(name)
		if ok != (want != "") || k.Name != want {
			t.Errorf("Lookup(%q) = %q, %v; want %q", name, k.Name, ok, want)
		}
	}
	seen := map[string]bool{}
	for _, k := range Kinds() {
		for _, name := range append([]string{k.Name}, k.Aliases...) {
			if seen[canonical(name)] {
				t.Errorf("the name %q is given twice", name)
			}
			seen[canonical(name)] = true
		}
		noPath := k.Name == "raw" || k.Name == "template" // the user names the whole URL
		if k.Encode == nil || k.Decode == nil || strings.HasPrefix(k.Path, "/") == noPath || k.Title == "" {
			t.Errorf("kind %s is not complete", k.Name)
		}
	}
}

func TestJoinURL(t *testing.T) {
	given := func(s string) *string { return &s }
	chat, completions := lookup(t, "chat"), lookup(t, "completions")
	tokenize := Kind{Name: "tokenize", Path: "/tokenize", Caps: bench.Caps{}, RootPath: true}
	runsync := Kind{Name: "runpod", Path: "/runsync"}
	rerank := Kind{Name: "cohere_rankings", Path: "/v2/rerank"}
	infer := Kind{Name: "kserve_infer", Path: "/v2/models/{model}/infer"}
	for _, tt := range []struct {
		base string
		kind Kind
		path *string
		want string
	}{
		{"localhost:8000", chat, nil, "http://localhost:8000/v1/chat/completions"},
		{"http://localhost:8000/v1/", chat, nil, "http://localhost:8000/v1/chat/completions"},
		{"http://localhost:8000/v1/chat/completions", chat, nil, "http://localhost:8000/v1/chat/completions"},
		{"http://localhost:8000/v1", chat, given("/chat/completions"), "http://localhost:8000/v1/chat/completions"},
		{"https://api.runpod.ai/v2/EID/openai/v1", chat, nil, "https://api.runpod.ai/v2/EID/openai/v1/chat/completions"},
		{"https://api.runpod.ai/v2/EID/openai/v1/", chat, given("chat/completions"), "https://api.runpod.ai/v2/EID/openai/v1/chat/completions"},
		{"https://api.runpod.ai/v2/EID/openai/v1", chat, given("/openai/v1/chat/completions"), "https://api.runpod.ai/v2/EID/openai/v1/chat/completions"},
		{"https://api.runpod.ai/v2/EID/openai", chat, nil, "https://api.runpod.ai/v2/EID/openai/v1/chat/completions"},
		{"https://api.runpod.ai/v2/EID", runsync, nil, "https://api.runpod.ai/v2/EID/runsync"},
		{"http://h:8000/v1", tokenize, nil, "http://h:8000/tokenize"},
		{"http://h:8000/v1", rerank, nil, "http://h:8000/v2/rerank"},
		{"http://h/serve/my-model", completions, nil, "http://h/serve/my-model/v1/completions"},
		{
			"https://x.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21", chat, given("/chat/completions"),
			"https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
		},
		{"x.OPENAI.azure.com", chat, nil, "http://x.OPENAI.azure.com/openai/v1/chat/completions"},
		{"https://x.openai.azure.com/", tokenize, nil, "https://x.openai.azure.com/openai/tokenize"},
		{"https://x.openai.azure.com", chat, given("/a"), "https://x.openai.azure.com/a"},
		{"https://openai.azure.com.example", chat, nil, "https://openai.azure.com.example/v1/chat/completions"},
		{"http://[::1]:8000", completions, nil, "http://[::1]:8000/v1/completions"},
		{"http://h:8000/infer", chat, given(""), "http://h:8000/infer"},
		{"http://h/v2", infer, nil, "http://h/v2/models/m%2Fx/infer"},
		{"http://h/a%2Fb/v1", completions, nil, "http://h/a%2Fb/v1/completions"},
		// beyond the table
		{"HTTPS://h", completions, nil, "https://h/v1/completions"},
		{"h", chat, given("/"), "http://h/"},
		{"http://h/x/?a=1", chat, given(""), "http://h/x/?a=1"},
		{"http://h//v1//", completions, nil, "http://h/v1/completions"},
		{"http://u:p@h/v1#top", completions, nil, "http://h/v1/completions"},
		{"http://h?a=1&b=2&a=3", chat, given("/x?b=4&b=5&c"), "http://h/x?a=1&a=3&b=4&b=5&c"},
		{"http://h/v1", chat, given("/v2/x"), "http://h/v1/v2/x"},
		{"http://h/v1beta2", completions, nil, "http://h/v1beta2/completions"},
		{"http://h/v1beta", completions, nil, "http://h/v1beta/completions"},
		{"http://h/api/v3/teams/a", chat, nil, "http://h/api/v3/teams/a/chat/completions"},
		{"http://h/chat/completions?a=1", chat, nil, "http://h/chat/completions?a=1"},
		{"http://h/v1/chat/completions", completions, nil, "http://h/v1/chat/completions/completions"}, // not complete
		{"http://h/v1", rerank, nil, "http://h/v2/rerank"},
		{"http://h/v4", runsync, nil, "http://h/v4/runsync"},
		{"http://h/v1x", completions, nil, "http://h/v1x/v1/completions"},
		{"http://h/v1/models", tokenize, nil, "http://h/v1/models/tokenize"},
		{"http://[fe80::1%25eth0]:80", completions, nil, "http://[fe80::1%25eth0]:80/v1/completions"},
		{"http+unix://%2Frun%2Fvllm.sock/v1", completions, nil, "http+unix://%2Frun%2Fvllm.sock/v1/completions"},
	} {
		got, err := JoinURL(tt.base, tt.kind, false, tt.path, "m/x")
		if err != nil || got != tt.want {
			t.Errorf("JoinURL(%q, %s) = %q, %v; want %q", tt.base, tt.kind.Name, got, err, tt.want)
		}
	}
}

func TestJoinURLErrors(t *testing.T) {
	given := func(s string) *string { return &s }
	for _, tt := range []struct {
		base string
		path *string
		want string // part of the error
	}{
		{"", nil, "empty"},
		{" http://h", nil, "white space"},
		{"http://h/a b", nil, "white space"},
		{"http://h\x00", nil, "control character"},
		{"ftp://h", nil, `scheme "ftp"`},
		{"http://", nil, "no host"},
		{"http:///v1", nil, "no host"},
		{":8000", nil, "no host"},
		{"::1:8000", nil, "write [::1]:8000"},
		{"http://fe80::2", nil, "write [fe80::2]"},
		{"http://[::1", nil, "closing bracket"},
		{"http://[1.2.3.4]", nil, "not an IPv6 address"},
		{"http://[::1]8000", nil, "only a port"},
		{"http://h:0", nil, "65535"},
		{"http://h:65536", nil, "65535"},
		{"http://h:x", nil, "65535"},
		{"http://h:", nil, "65535"},
		{"http+unix:///v1", nil, "socket path"},
		{"http://h/%zz", nil, "escape"},
		{"http://h", given("/a b"), "white space"},
		{"http://h", given("/m/{version}"), "{version}"},
	} {
		_, err := JoinURL(tt.base, lookup(t, "chat"), false, tt.path, "m")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("JoinURL(%q) = %v, want an error with %q", tt.base, err, tt.want)
		}
	}
	_, err := JoinURL("http://user:hunter2@h:x", lookup(t, "chat"), false, nil, "m")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error tells the password: %v", err)
	}
}

func TestBasicAuth(t *testing.T) {
	for base, want := range map[string]string{
		"http://h": "", "http://u:p%40@h/v1": "Basic dTpwQA==", "u@h:80": "Basic dTo=", "": "",
	} {
		if got, ok := BasicAuth(base); got != want || ok != (want != "") {
			t.Errorf("BasicAuth(%q) = %q, %v; want %q", base, got, ok, want)
		}
	}
}

func TestWithQuery(t *testing.T) {
	for _, tt := range [][3]string{
		{"http://h/x", "", "http://h/x"},
		{"http://h/x?a=1", "", "http://h/x?a=1"},
		{"http://h/x?a=1&%62=2", "b=3&b=4", "http://h/x?a=1&b=3&b=4"},
	} {
		if got := WithQuery(tt[0], tt[1]); got != tt[2] {
			t.Errorf("WithQuery(%q, %q) = %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}

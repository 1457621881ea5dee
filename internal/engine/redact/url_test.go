package redact_test

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/redact"
)

func TestURL(t *testing.T) {
	const r = redact.Placeholder
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"http://localhost:8000", ""},
		{"localhost:8000/v1", ""},
		{"HTTP://Host/%2Fa%20b;v=1?x=%zz&y=a+b#frag", ""},
		{"http://[::1]:8000/v1", ""},
		{"http://[fe80::1%25eth0]:8000", ""},
		{"http+unix://%2Frun%2Fvllm.sock/v1", ""},
		{"http://h/?token_count=3&monkey=1&max_tokens=5&tokenizer=x", ""},
		{"https://x.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21", ""},
		{"file:///var/mlruns", ""},
		{"./mlruns", ""},
		{`C:\mlruns`, ""},
		{"databricks", ""},
		{"http://${HOST}:${PORT}/v1", ""},
		{"http://h/?email=a@b.c", ""},
		{"h/?email=a@b.c", ""},
		{"/u@x/y", ""},
		{"data:image/png;base64,QUFB/token=", ""},
		{"http://@h", ""},

		{"http://u:p@h", "http://" + r + "@h"},
		{"http://u@h:80/p?q=1", "http://" + r + "@h:80/p?q=1"},
		{"//u:p@h/x", "//" + r + "@h/x"},
		{"u:p@h", r + "@h"},
		{"tokenonly@h", r + "@h"},
		{"http://u:p@ss@h", "http://" + r + "@h"},
		{"http://u:p?w@h", r},
		{"http://u:p/ss@h", r},
		{"u:p/ss@h", r},
		{"http:/u:p@h", r},
		{"http:///u:p@h", ""},
		{"jdbc:mysql://u:p@h/db", "jdbc:mysql://" + r + "@h/db"},
		{"http://h:80:80/", r},
		{"http://h x/", ""},
		{"http://local host", ""},
		{"http://local host:8000/v1", ""},
		{"http://exa mple.com/api", ""},
		{"http://h hunter2", "http://h " + r},
		{"http://h 8d2a77:x", "http://h " + r},
		{"http://local host?api_key=Q", "http://local " + r},
		{"http://h/ x?api_key=Q&a=u:p@h", "http://h/ x?api_key=" + r + "&a=u:p@h"},
		{"http://u:p w", r},
		{"http://u p:w@h", "http://" + r + "@h"},
		{"http://u p:w/@h", r},
		{"http://u:${P}/x@h", r},
		{"http://h/\n", r},

		{"http://h/?api_key=Q&token=T#f", "http://h/?api_key=" + r + "&token=" + r + "#f"},
		{"http://h/?Subscription-Key=S&a=1", "http://h/?Subscription-Key=" + r + "&a=1"},
		{"http://h/?code=S", "http://h/?code=" + r},
		{"http://h/?auth=S", "http://h/?auth=" + r},
		{"http://h/?jwt=S", "http://h/?jwt=" + r},
		{"http://h/?pwd=S", "http://h/?pwd=" + r},
		{"http://h/?private_token=S", "http://h/?private_token=" + r},
		{"http://h/?session=S", "http://h/?session=" + r},
		{"http://h/?api%5Fkey=S", "http://h/?api%5Fkey=" + r},
		{"http://h/?api+key=S", "http://h/?api+key=" + r},
		{"http://h/?key=a;b&c=d", "http://h/?key=" + r + "&c=d"},
		{"http://h/?a=1;key=S", "http://h/?a=1;key=" + r},
		{"http://h/?a=b?key=S", "http://h/?a=b?key=" + r},
		{"http://h/#access_token=S&x=1", "http://h/#access_token=" + r + "&x=1"},
		{"http://h/p;api_key=S/q?x=1", "http://h/p;api_key=" + r + "/q?x=1"},
		{"http://h/?key=&x=1", ""},
		{"localhost:8000/metrics?token=T", "localhost:8000/metrics?token=" + r},
		{"/metrics?token=T", "/metrics?token=" + r},
		{"http://h?X-Amz-Signature=S&X-Amz-Date=D", "http://h?X-Amz-Signature=" + r + "&X-Amz-Date=D"},

		{"http://h/?next=http://u:p@i/&x=1", "http://h/?next=http://" + r + "@i/&x=1"},
		{"http://proxy/http://u:p@i/x", "http://proxy/http://" + r + "@i/x"},
		{"http://h/?next=http%3A%2F%2Fu%3Ap%40i&x=1", "http://h/?next=" + r + "&x=1"},
		{"http://h/?next=http%3A%2F%2Fi%2F%3Fkey%3DS", "http://h/?next=" + r},
		{"http://h/?next=http%3A%2F%2Fi%2F%3Fx%3D1", ""},
	} {
		want := tc.want
		if want == "" {
			want = tc.in
		}
		got := redact.URL(tc.in)
		if got != want {
			t.Errorf("URL(%q) = %q, want %q", tc.in, got, want)
		}
		if again := redact.URL(got); again != got {
			t.Errorf("URL(%q) = %q, then %q", tc.in, got, again)
		}
	}
}

func FuzzURL(f *testing.F) {
	for _, seed := range []string{
		"http://u:p@h/?api_key=Q&token=T#access_token=x", "u:p/ss@h", "http://h/;key=a;b=c?d=http%3A%2F%2Fu%40h",
		"<redacted>@h", "http://[::1]:8000", "a:b://c@d", "?key=<redacted>&code=1", "http://h?a=%25%3A%2F%2F@",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		once := redact.URL(raw)
		if twice := redact.URL(once); twice != once {
			t.Errorf("URL(%q) = %q, then %q", raw, once, twice)
		}
		withUser := redact.URL("http://canary-user:canary-pw@host/" + raw)
		if strings.Contains(withUser, "canary") && !strings.Contains(raw, "canary") {
			t.Errorf("user info survives in %q", withUser)
		}
	})
}

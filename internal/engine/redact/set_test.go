package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"aiperfd/internal/engine/redact"

	"pgregory.net/rapid"
)

func TestSetExact(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("canaryuser:pa55"))
	for _, tc := range []struct {
		name     string
		set      func(s *redact.Set)
		in, want string
	}{
		{"nothing", func(*redact.Set) {}, "abcdef", "abcdef"},
		{"value", add("abcdef"), "xabcdefy abcde", "xRy abcde"},
		{"short is no secret", add("abcde"), "abcde", "abcde"},
		{"longest", add("abcdef", "abcdefgh"), "abcdefgh abcdefg", "R Rg"},
		{"inner and outer", add("cdefgh", "abcdefghijk"), "abcdefghijk abcdefgh", "R abR"},
		{"overlap", add("abcdef", "defghi"), "abcdefghi", "R"},
		{"repeat", add("aaaaaa"), strings.Repeat("a", 100) + "b", "Rb"},
		{"adjacent", add("abcdef"), "abcdefabcdef", "RR"},
		{"suffix link", add("abcdex", "bcdeyz"), "abcdeyz", "aR"},
		{"bearer", add("Bearer abcdef"), "abcdef, Bearer abcdef", "R, R"},
		{"basic", add("Basic " + basic), "user canaryuser pw pa55: " + basic, "user R pw pa55: R"},
		{"cookies", add("sid=abcdefgh1; lang=en"), "sid abcdefgh1 lang en", "sid R lang en"},
		{"blanks around", add("  abcdef\n"), "abcdef", "R"},
		{"JSON", add(`a"b\c/é<f`), `a\"b\\c/é<f a\"b\\c\/é<f a\"b\\c/\u00e9<f a\"b\\c/é\u003cf`, "R R R R"},
		{"JSON twice", add(`abc"def`), `abc\\\"def`, "R"},
		{"JSON beyond the plane", add("abc😀def"), `abc\ud83d\ude00def`, "R"},
		{"query", add("a b/c+d"), "a+b%2Fc%2Bd a%20b%2Fc%2Bd a+b%2fc%2bd a%20b/c+d", "R R R R"},
		{"base64", add("abcdefg?>"), "YWJjZGVmZz8+ YWJjZGVmZz8-", "R R"},
		{"base64 inside", add("long-secret-value"), base64.StdEncoding.EncodeToString([]byte("user:long-secret-value")), "dXNlcjR"},
		{"undefined", add("undefined"), "undefined", "undefined"},
		{"placeholder", add("redacted", "<redacted>"), "redacted <redacted>", "R <redacted>"},
		{"number kept", add("123456"), `{"a":123456,"b":[123456, 123456],"c": 123456,"d":1234567,"e":0.123456}`, `{"a":123456,"b":[123456, 123456],"c": 123456,"d":1234567,"e":0.123456}`},
		{"digits", add("123456"), `"123456" Bearer 123456 key=123456 x123456y`, `"R" Bearer R key=R xRy`},
		{"without its end", add("Bearer sk-live-Qx8ZkT2mNv5w"), "bad sk-live-Qx8ZkT2mN* or sk-live-Qx8Z, sk-live-Qx8", "bad R* or R, sk-live-Qx8"},
		{"without its start", add("sk-live-Qx8ZkT2mNv5w"), "*-live-Qx8ZkT2mNv5w, 8ZkT2mNv5w, QX8ZKT2MNV5W", "*R, 8ZkT2mNv5w, R"},
		{"start and end", add("sk-live-Qx8ZkT2mNv5w"), "sk-live-Qx8ZkT...x8ZkT2mNv5w sk-live-Qx8ZkT%32mN", "R...x8ZkT2mNv5w R"},
		{"short without its plus signs", add("A!!!!!!!!++0a"), "x A!!!!!!!!++0a or A!!!!!!!!0a, !!!!!!0a", "x R or R, !!!!!!0a"},
		{"ends of two", add("aaaa-1111-bbbb-2222", "cccc-3333-bbbb-2222"), "a-1111-bbbb-2222 cc-3333-bbbb-2222 x-bbbb-2222", "R R x-bbbb-2222"},
		{"the start of words", add("authentication failed 1"), "authentication failed 2", "authentication failed 2"},
		{"the start of a number", add("169999999999-abc"), "at 169999999999 or 169999999999-ab", "at 169999999999 or R"},
		{"binary", add("\x00\xff\xfeabc"), "x\x00\xff\xfeabcy", "xRy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s redact.Set
			tc.set(&s)
			want := strings.ReplaceAll(tc.want, "R", redact.Placeholder)
			got := s.Exact(tc.in)
			if got != want {
				t.Errorf("Exact(%q)\n got %q\nwant %q", tc.in, got, want)
			}
		})
	}
}

func add(secrets ...string) func(*redact.Set) {
	return func(s *redact.Set) {
		for _, secret := range secrets {
			s.Add(secret)
		}
	}
}

func TestSetString(t *testing.T) {
	s := redact.NewSet("Bearer canary-value")
	in := `503 {"error":"bad key canary-value","password":"other","max_tokens":5}`
	want := `503 {"error":"bad key <redacted>","password":"<redacted>","max_tokens":5}`
	if got := s.String(in); got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
	var none *redact.Set
	if got := none.String("Bearer abc"); got != "Bearer <redacted>" {
		t.Errorf("nil Set: %q", got)
	}
	s.Add("later-value")
	if got := s.String("later-value"); got != redact.Placeholder {
		t.Errorf("after Add: %q", got)
	}
}

func TestSetBytes(t *testing.T) {
	s := redact.NewSet("canary-value")
	in := []byte("a canary-value b")
	if got := string(s.Bytes(in)); got != "a <redacted> b" {
		t.Errorf("Bytes = %q", got)
	}
	if string(in) != "a canary-value b" {
		t.Errorf("Bytes changed its argument: %q", in)
	}
	clean := []byte("nothing here")
	if got := s.Bytes(clean); unsafe.SliceData(got) != unsafe.SliceData(clean) || len(got) != len(clean) {
		t.Errorf("Bytes copied clean bytes")
	}
	if got := s.Bytes(nil); got != nil {
		t.Errorf("Bytes(nil) = %q", got)
	}
}

func TestSetWriter(t *testing.T) {
	var out bytes.Buffer
	w := redact.NewSet("canary-value").Writer(&out)
	for _, line := range []string{"one canary-value\n", "two\n"} {
		if n, err := io.WriteString(w, line); n != len(line) || err != nil {
			t.Errorf("Write(%q) = %d, %v", line, n, err)
		}
	}
	if out.String() != "one <redacted>\ntwo\n" {
		t.Errorf("written: %q", out.String())
	}
	if _, err := redact.NewSet().Writer(shortWriter{}).Write([]byte("abc")); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("short write: %v", err)
	}
	broken, want := brokenPipe(t), io.ErrClosedPipe
	if _, err := redact.NewSet().Writer(broken).Write([]byte("abc")); !errors.Is(err, want) {
		t.Errorf("broken writer: %v, want %v", err, want)
	}
}

type shortWriter struct{}

func (shortWriter) Write(p []byte) (int, error) { return len(p) - 1, nil }

func brokenPipe(tb testing.TB) io.Writer {
	tb.Helper()
	r, w := io.Pipe()
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
	return w
}

func TestSetConcurrent(t *testing.T) {
	s := redact.NewSet("canary-value")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 50 {
				if i == 0 {
					s.Add(fmt.Sprintf("added-secret-%d", j))
				}
				if got := s.String("a canary-value"); got != "a <redacted>" {
					t.Errorf("String = %q", got)
				}
			}
		})
	}
	wg.Wait()
	if got := s.Exact("added-secret-49"); got != redact.Placeholder {
		t.Errorf("last secret added: %q", got)
	}
}

// TestPlanted plants a secret in every derived form; none may survive, and
// redacting twice is redacting once.
func TestPlanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z][ -~é日]{5,30}[a-z]`).
			Filter(func(s string) bool { return !strings.Contains(s, "redact") && !strings.Contains(s, " ") }).Draw(t, "secret")
		set := redact.NewSet("Bearer " + secret)
		var doc bytes.Buffer
		enc := json.NewEncoder(&doc)
		enc.SetEscapeHTML(rapid.Bool().Draw(t, "html"))
		if err := enc.Encode(map[string]string{"m": secret}); err != nil {
			t.Fatal(err)
		}
		forms := []string{
			secret, strings.TrimSuffix(strings.TrimPrefix(doc.String(), `{"m":"`), "\"}\n"),
			url.QueryEscape(secret), url.PathEscape(secret), url.User(secret).String(),
			strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawStdEncoding.EncodeToString([]byte(secret)),
			base64.URLEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		}
		var text strings.Builder
		for range rapid.IntRange(1, 6).Draw(t, "places") {
			text.WriteString(rapid.StringMatching(`[ -~\n]{0,12}`).Draw(t, "before"))
			text.WriteString(rapid.SampledFrom(forms).Draw(t, "form"))
			text.WriteString(rapid.SampledFrom([]string{"", " ", `"`, "<redacted>", ","}).Draw(t, "after"))
		}
		once := set.String(text.String())
		for _, form := range forms {
			if strings.Contains(once, form) {
				t.Fatalf("secret %q: %q survives in %q", secret, form, once)
			}
		}
		if twice := set.String(once); twice != once {
			t.Fatalf("String is not idempotent:\n%q\n%q", once, twice)
		}
	})
}

// TestAbsent redacts text that shares no byte with the secrets.
func TestAbsent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := redact.NewSet(rapid.SliceOf(rapid.StringMatching(`[A-Z]{6,20}`)).Draw(t, "secrets")...)
		text := rapid.StringMatching(`[a-z ,.\n]{0,200}`).Filter(func(s string) bool {
			return !strings.Contains(s, "bearer") && !strings.Contains(s, "basic")
		}).Draw(t, "text")
		if got := set.String(text); got != text {
			t.Fatalf("String(%q) = %q, want it unchanged", text, got)
		}
	})
}

// TestExactIdempotent uses few letters and digits, so that secrets overlap
// each other and numbers.
func TestExactIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set redact.Set
		for _, secret := range rapid.SliceOfN(rapid.StringMatching(`[ab1:" ]{6,9}|[12]{6,8}`), 1, 5).Draw(t, "secrets") {
			set.Add(secret)
		}
		text := rapid.StringMatching(`([ab12:", \[]|<redacted>){0,60}`).Draw(t, "text")
		once := set.Exact(text)
		if twice := set.Exact(once); twice != once {
			t.Fatalf("Exact(%q)\n is %q\nthen %q", text, once, twice)
		}
	})
}

func harmlessText() string {
	const line = `{"id":"chatcmpl-1","model":"meta/llama","choices":[{"index":0,"delta":{"content":"The quick brown fox"}}],"usage":{"prompt_tokens":12,"total_tokens":40}}` + "\n"
	return strings.Repeat(line, 4096/len(line)+1)[:4096]
}

func BenchmarkSetString(b *testing.B) {
	s := redact.NewSet("Bearer sk-0123456789abcdefghijklmnopqrstuvwxyz", "Basic dXNlcjpwYXNzd29yZA==", "another-secret-value")
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog; nothing to hide here. ", 70)[:4096]
	for _, text := range []struct{ name, text string }{{"json", harmlessText()}, {"prose", prose}} {
		b.Run(text.name+"/4KiB", func(b *testing.B) {
			b.SetBytes(int64(len(text.text)))
			b.ReportAllocs()
			for b.Loop() {
				s.String(text.text)
			}
		})
		b.Run(text.name+"/exact", func(b *testing.B) {
			b.SetBytes(int64(len(text.text)))
			b.ReportAllocs()
			for b.Loop() {
				s.Exact(text.text)
			}
		})
	}
}

func BenchmarkSetBuild(b *testing.B) {
	for b.Loop() {
		s := redact.NewSet("Bearer sk-0123456789abcdefghijklmnopqrstuvwxyz", "Basic dXNlcjpwYXNzd29yZA==", "another-secret-value")
		s.Exact("")
	}
}

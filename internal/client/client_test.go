package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/memnet"
)

// daemon serves handler in memory, and returns a client of it.
func daemon(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	listener := memnet.Listen()
	server := &http.Server{Handler: handler}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	c, err := New(Options{
		Server: "daemon.test:9097", Token: "secret", UserAgent: "test",
		Dial: listener.DialContext,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.http.CloseIdleConnections()
		_ = server.Close()
		<-ended
	})
	return c
}

// answerProblem answers with a problem of the daemon.
func answerProblem(w http.ResponseWriter, status int, name, more string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"urn:aiperfd:problem:%s","title":"T","status":%d,"detail":"D"%s}`, name, status, more)
}

const runID = "01a205fb139c79b89b51052bd4bf911f"

// A submission whose answer is lost is repeated with the same key; one that is rejected is
// not.
func TestSubmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || string(body) != "a: 1" || r.Header.Get("Content-Type") != "application/yaml" || r.Header.Get("Authorization") != "Bearer secret" {
				t.Errorf("the request is %q with %v (%v)", body, r.Header, err)
			}
			keys = append(keys, r.Header.Get("Idempotency-Key"))
			switch len(keys) {
			case 1:
				panic(http.ErrAbortHandler) // the connection breaks
			case 2:
				w.Header().Set("Retry-After", "7")
				answerProblem(w, 503, "busy", "")
			case 3:
				fmt.Fprintf(w, `{"id":%q,"state":"queued","news":1}`, runID)
			default:
				answerProblem(w, 422, "validation-failed", `,"errors":[{"pointer":"#/a","code":"c","detail":"is wrong"},{"pointer":"#/b","code":"c","detail":"is missing"}]`)
			}
		})
		began := time.Now()
		r, err := c.Submit(t.Context(), []byte("a: 1"), "application/yaml")
		if err != nil || r.ID != runID || !strings.Contains(string(r.JSON), `"news":1`) {
			t.Fatalf("Submit: %v, %v", r, err)
		}
		if took := time.Since(began); took < 7*time.Second || took > 10*time.Second {
			t.Errorf("the attempts took %v, want those of Retry-After", took)
		}
		if len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[1] != keys[2] {
			t.Errorf("keys %q, want one for three attempts", keys)
		}
		_, err = c.Submit(t.Context(), []byte("a: 1"), "application/yaml")
		if want := "D\n  a: is wrong\n  b: is missing"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
		if len(keys) != 4 || keys[3] == keys[0] {
			t.Errorf("keys %q, want another key for another submission", keys)
		}
	})
}

// Attempts end: after four of them, when the daemon asks for a long pause, with the context
// and for requests that are not safe to repeat.
func TestAttempts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		retry string
		call  func(context.Context, *Client) error
		want  int
	}{
		{"a busy daemon", "", func(ctx context.Context, c *Client) error { _, err := c.Run(ctx, runID); return err }, 4},
		{"a long pause", "60", func(ctx context.Context, c *Client) error { _, err := c.Run(ctx, runID); return err }, 1},
		{"the context ends", "10", func(ctx context.Context, c *Client) error {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			_, err := c.Run(ctx, runID)
			return err
		}, 1},
		{"delete", "", func(ctx context.Context, c *Client) error { _, err := c.Delete(ctx, runID, false); return err }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				c := daemon(t, func(w http.ResponseWriter, _ *http.Request) {
					calls++
					if tt.retry != "" {
						w.Header().Set("Retry-After", tt.retry)
					}
					answerProblem(w, 503, "starting", "")
				})
				var p *Problem
				if err := tt.call(t.Context(), c); !errors.As(err, &p) || p.Name != "starting" {
					t.Errorf("error %v, want the problem", err)
				}
				if calls != tt.want {
					t.Errorf("%d requests, want %d", calls, tt.want)
				}
			})
		})
	}
}

// A daemon that never answers is given up.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := daemon(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		_, err := c.Delete(t.Context(), runID, false)
		if want := "cannot reach http://daemon.test:9097: no answer within 30s"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("stop")
		cancel(stop)
		if _, err := c.Run(ctx, runID); !errors.Is(err, stop) {
			t.Errorf("error %v, want that of the caller", err)
		}
	})
}

// A redirect to another server is not followed: it would get the token.
func TestRedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Host != "daemon.test:9097" {
				t.Errorf("%s got a request with %q", r.Host, r.Header.Get("Authorization"))
			}
			http.Redirect(w, r, "http://evil.test/"+strings.TrimPrefix(r.URL.Path, "/"), http.StatusTemporaryRedirect)
		})
		var p *Problem
		if _, err := c.Run(t.Context(), runID); !errors.As(err, &p) || p.Status != http.StatusTemporaryRedirect {
			t.Errorf("error %v, want the redirect", err)
		}
	})
}

func TestParseServer(t *testing.T) {
	for text, want := range map[string]string{
		"host:9097": "http://host:9097", "https://host/": "https://host", "http://[::1]:9097/base/": "http://[::1]:9097/base",
		"http://user:pw@host": "", "ftp://host": "", "": "", "http://": "", "http://host?x=1": "", "http://host:x": "", "https://u:pw@[": "",
	} {
		got, err := ParseServer(text)
		switch {
		case want == "" && err == nil:
			t.Errorf("ParseServer(%q) = %v, want an error", text, got)
		case want == "" && strings.Contains(err.Error(), "pw"):
			t.Errorf("ParseServer(%q): the error has the password: %v", text, err)
		case want != "" && (err != nil || got.String() != want):
			t.Errorf("ParseServer(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
}

// The beginning of an id is looked up on all pages, a name by a search; either must be
// that of one run. Runs of studies do not hide the study of the same name.
func TestResolve(t *testing.T) {
	const at = `"created_at":"2026-05-04T10:00:00Z"`
	synctest.Test(t, func(t *testing.T) {
		c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			query := r.URL.Query()
			switch {
			case r.URL.Path == "/api/runs/latest":
				fmt.Fprintf(w, `{"id":%q}`, runID)
			case query.Get("include") != "children":
				t.Errorf("the query is %q", r.URL.RawQuery)
			case query.Get("q") == "r1":
				fmt.Fprintf(w, `{"items":[{"id":"cc01","name":"r1"},{"id":"cc02","name":"R1 again"},{"id":"cc03","name":"r1","parent_id":"cc01"},{"id":"cc04","name":"x"}],"total":4}`)
			case query.Get("q") == "night":
				fmt.Fprintf(w, `{"items":[{"id":"dd01",%s,"state":"failed","name":"night"},{"id":"dd02",%[1]s,"state":"completed","name":"night"}],"total":2}`, at)
			case query.Get("q") == "nigh":
				fmt.Fprintf(w, `{"items":[{"id":"dd01",%s,"state":"failed","name":"night"}],"total":1}`, at)
			case query.Get("q") == "latest":
				fmt.Fprint(w, `{"items":[{"id":"ee01","name":"latest"}],"total":1}`)
			case query.Has("q"):
				fmt.Fprint(w, `{"items":[],"total":0}`)
			case query.Get("cursor") == "":
				fmt.Fprintf(w, `{"items":[{"id":"aa01",%s,"state":"running","name":"x"},{"id":"aa02",%[1]s,"state":"failed"}],"next_cursor":"n","total":3}`, at)
			default:
				fmt.Fprint(w, `{"items":[{"id":"bb03","name":"beef"},{"id":"bb04","name":"beef","parent_id":"bb03"},{"id":"2604","name":"x"}],"next_cursor":null,"total":3}`)
			}
		})
		for name, want := range map[string]string{
			"latest": runID, runID: runID, "bb03": "bb03", "26": "2604", "aa02": "aa02", "beef": "bb03", "r1": "cc01", "name=r1": "cc01", "name=latest": "ee01",
			"aa":    "several runs have the name \"aa\" or an id that begins with it:\n  aa01  2026-05-04 10:00:00Z  running  x\n  aa02  2026-05-04 10:00:00Z  failed",
			"cc":    `no run has the name "cc" or an id that begins with it`,
			"night": "2 runs have the name \"night\"; give an id:\n  dd01  2026-05-04 10:00:00Z  failed  night\n  dd02  2026-05-04 10:00:00Z  completed  night",
			"nigh":  "no run has the name \"nigh\"; names that contain it:\n  dd01  2026-05-04 10:00:00Z  failed  night",
			"AA":    `no run has the name "AA"; aiperfd ctl list shows ids and names`,
			"":      `run "": must be an id, the beginning of one, a name, current or latest`,
			"name=": `run "name=": must be an id, the beginning of one, a name, current or latest`,
		} {
			got, err := c.Resolve(t.Context(), name)
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("Resolve(%q) = %q, want %q", name, got, want)
			}
		}
	})
}

// A download goes on after a lost connection and from what an earlier one left, replaces
// nothing that differs, and accepts only what has the checksum.
func TestSave(t *testing.T) {
	content := strings.Repeat("0123456789", 1000)
	sum := sha256.Sum256([]byte(content))
	file := wire.ResultFile{Name: "phases/a.txt", Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
	synctest.Test(t, func(t *testing.T) {
		served, ranges := content, []string{}
		c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			ranges = append(ranges, r.Header.Get("Range"))
			w.Header().Set("Etag", `"`+file.SHA256+`"`)
			if len(ranges) == 1 { // breaks in the middle
				w.Header().Set("Content-Length", fmt.Sprint(len(served)))
				_, _ = io.WriteString(w, served[:4000])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(served))
		})
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		d := &Download{Run: runID, Folder: root}
		save := func(want Saved) {
			t.Helper()
			got, err := c.Save(t.Context(), d, &file)
			if err != nil || got != want {
				t.Errorf("Save: %q, %v; want %q", got, err, want)
			}
			data, err := os.ReadFile(filepath.Join(dir, "phases", "a.txt"))
			if err != nil || string(data) != content {
				t.Errorf("the file has %d bytes (%v), want the content", len(data), err)
			}
		}
		save(SavedNew)
		if diff := cmp.Diff([]string{"", "bytes=4000-"}, ranges); diff != "" {
			t.Errorf("ranges (-want +got):\n%s", diff)
		}
		save(SavedSame)
		if len(ranges) != 2 {
			t.Errorf("a file that is there was requested: %q", ranges)
		}

		path := filepath.Join(dir, "phases", "a.txt")
		write := func(path, text string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(path, "mine")
		if _, err := c.Save(t.Context(), d, &file); !errors.Is(err, os.ErrExist) {
			t.Errorf("Save over a file that differs: %v", err)
		}
		part := filepath.Join(dir, "phases", ".a.txt."+file.SHA256[:12]+".part")
		write(part, content[:9000])
		d.Replace = true
		save(SavedRest)
		if got := ranges[len(ranges)-1]; got != "bytes=9000-" {
			t.Errorf("the rest was requested as %q", got)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		write(part, "damaged"+content[7:9000])
		save(SavedNew)

		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		served = strings.Repeat("x", len(content))
		if _, err := c.Save(t.Context(), d, &file); err == nil || !strings.Contains(err.Error(), "the content has the SHA-256") {
			t.Errorf("Save of another content: %v", err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("another content was saved: %v", err)
		}
	})
}

// Names that leave the folder, hide in it or cannot be checked are refused.
func TestNames(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for _, name := range []string{"", ".", "..", "../a", "/etc/passwd", "a/../../b", "a/./b", "a//b", ".bashrc", "a/.git/config", `..\a`, "C:a", "a\nb", "a\x00"} {
		if err := checkName(&wire.ResultFile{Name: name, SHA256: sum}); err == nil {
			t.Errorf("the name %q is accepted", name)
		}
	}
	for _, bad := range []wire.ResultFile{{Name: "a", SHA256: ""}, {Name: "a", SHA256: "../../../../x"}, {Name: "a", SHA256: sum, Size: -1}} {
		if err := checkName(&bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if err := checkName(&wire.ResultFile{Name: "phases/a b.json", SHA256: sum}); err != nil {
		t.Error(err)
	}
}

// A log whose connection breaks within a line is as good as the lines before.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			if got := r.URL.RawQuery; got != "after=4&follow=true" {
				t.Errorf("the query is %q", got)
			}
			_, _ = io.WriteString(w, "{\"seq\":5}\n\n{\"seq\":7}\n{\"se")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		n := 0
		last, err := c.Log(t.Context(), runID, "", 4, true, func([]byte) error { n++; return nil })
		if last != 7 || n != 2 || !Transient(err) {
			t.Errorf("Log: %d lines until %d, %v; want 2 until 7, and a transient error", n, last, err)
		}
	})
}

// A path that the daemon does not have is named, because the detail does not name it.
func TestProblemNamesPath(t *testing.T) {
	for want, p := range map[string]wire.Problem{
		"Not Found: /x/api/runs": {Title: "Not found", Detail: "Not Found", Instance: "/x/api/runs"},
		"No such run":            {Title: "Not found", Detail: "No such run", Instance: "/api/runs/a"},
	} {
		if got := (&Problem{Problem: p}).Error(); got != want {
			t.Errorf("the error is %q, want %q", got, want)
		}
	}
}

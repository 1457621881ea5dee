package mock

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

const casesFile = `[
 {"id":"S1","title":"a stream","type":"chat","streaming":true,"status":200,"headers":{"Content-Type":"text/event-stream"},
  "reads":[{"t_ms":100,"text":"data: a\n\nda"},{"t_ms":150.5,"b64":"dGE6IP8KCg=="}],"end":{"t_ms":160,"how":"eof"}},
 {"id":"S2","status":200,"headers":{},"reads":[{"t_ms":10,"text":"x"}],"end":{"t_ms":20,"how":"reset"}},
 {"id":"S3","status":200,"headers":{},"reads":[{"t_ms":10,"text":"x"}],"end":{"t_ms":20,"how":"stall"}},
 {"id":"S4","status":429,"headers":{"Retry-After":"7"},"reads":[{"t_ms":10,"text":"no"}],"end":{"t_ms":20,"how":"eof"}},
 {"id":"S5","status":200,"polled":true,"headers":{"Content-Type":"application/json"},
  "reads":[{"t_ms":10,"text":"1"},{"t_ms":500,"text":"2"}],"end":{"t_ms":600,"how":"eof"}},
 {"id":"S6","status":200,"headers":{"Content-Length":"10"},"reads":[{"t_ms":10,"text":"short"}],"end":{"t_ms":20,"how":"eof"}}
]`

func loadTestCases(t testing.TB) []options.Case {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cases.json")
	if err := os.WriteFile(path, []byte(casesFile), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := options.LoadCases(path)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestReplay checks that a case is replayed as recorded, on any path, with its times.
func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Cases: loadTestCases(t), TruthChunks: true, APIKey: "k"})
		for _, ask := range [][3]string{{"/any/path", "X-Mock-Case", "S1"}, {"/mock/case/S1/v1/chat/completions", "", ""}} {
			begin := time.Now()
			resp, err := r.send(t.Context(), ask[0], `{"not":"looked at"}`, ask[1:]...)
			if ask[1] == "" {
				resp, err = r.send(t.Context(), ask[0], `{}`)
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(begin); d != 0 {
				t.Errorf("head after %v, want at once", d)
			}
			var got []string
			for buf := make([]byte, 100); ; {
				n, err := resp.Body.Read(buf)
				if n > 0 {
					got = append(got, fmt.Sprintf("%v %q", time.Since(begin), buf[:n]))
				}
				if err != nil {
					got = append(got, fmt.Sprintf("%v %v", time.Since(begin), err))
					break
				}
			}
			resp.Body.Close()
			want := []string{`100ms "data: a\n\nda"`, `150.5ms "ta: \xff\n\n"`, "160ms EOF"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", ask[0], diff)
			}
			record := r.lastTruth()
			if record.Outcome != "case:S1" || len(record.ChunkNs) != 2 || record.ChunkNs[1]-record.AcceptNs != int64(150500*time.Microsecond) {
				t.Errorf("truth %+v", record)
			}
		}
	})
}

func TestReplayEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Cases: loadTestCases(t), TimeScale: 10})
		ask := func(id string, more ...string) reply {
			t.Helper()
			begin := time.Now()
			resp, err := r.send(t.Context(), chatPath, "{}", append(more, "X-Mock-Case", id)...)
			a := r.read(resp, err)
			a.at = time.Since(begin)
			return a
		}
		if a := ask("S4"); a.status != 429 || a.header.Get("Retry-After") != "7" || a.header.Get("Content-Type") != "" || a.body != "no" || a.at != 200*time.Millisecond {
			t.Errorf("S4: %+v", a)
		}
		if a := ask("S4", "X-Mock-Time-Scale", "0"); a.at != 0 || a.body != "no" {
			t.Errorf("S4 at once: %+v", a)
		}
		if a := ask("S2"); a.err == nil || a.body != "x" {
			t.Errorf("S2: %+v, want an error after the first byte", a)
		}
		if a := ask("S6"); a.err == nil || a.body != "short" {
			t.Errorf("S6: %+v, want a truncated body", a)
		}
		for i, want := range []reply{{body: "1", at: 100 * time.Millisecond}, {body: "2", at: 4900 * time.Millisecond}, {body: "1", at: 100 * time.Millisecond}} {
			if a := ask("S5"); a.body != want.body || a.at != want.at || a.err != nil {
				t.Errorf("S5, request %d: %+v, want %+v", i, a, want)
			}
		}
		if a := ask("S9"); a.status != 404 || !strings.Contains(a.body, `There is no case \"S9\"`) {
			t.Errorf("S9: %+v", a)
		}
		if a := ask("S4", "X-Mock-Time-Scale", "-1"); a.status != 400 {
			t.Errorf("negative scale: %+v", a)
		}
		if a := r.get("/mock/cases"); !strings.Contains(a.body, `{"id":"S1","title":"a stream","type":"chat","reads":2,"end":"eof"}`) {
			t.Errorf("cases: %s", a.body)
		}
		r.client.Timeout = time.Minute
		if a := ask("S3"); a.err == nil || a.body != "x" || a.at != time.Minute {
			t.Errorf("S3: %+v, want silence until the client leaves", a)
		}
		if record := r.lastTruth(); record.Outcome != api.OutcomeClientGone {
			t.Errorf("S3: outcome %s", record.Outcome)
		}
	})
}

// TestReplayOverSocket checks that the front passes cases to the handler, and that a
// reset is a reset.
func TestReplayOverSocket(t *testing.T) {
	r := newTCPRig(t, options.Options{Cases: loadTestCases(t)})
	c, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nx-mock-case: S2\r\nX-Mock-Time-Scale: 0.1\r\n\r\n{}", chatPath)
	var all strings.Builder
	for buf := make([]byte, 1000); err == nil; {
		var n int
		n, err = c.Read(buf)
		all.Write(buf[:n])
	}
	if !strings.HasSuffix(all.String(), "1\r\nx\r\n") || !strings.Contains(err.Error(), "connection reset") {
		t.Errorf("received %q, then %v, want a chunk and a reset", all.String(), err)
	}
}

func TestCasesErrors(t *testing.T) {
	good := func(change func(*options.Case)) options.Case {
		c := options.Case{ID: "a", Status: 200, Reads: []options.Read{{At: 1, Text: "x"}}, End: options.Tail{At: 2, How: options.EndEOF}}
		change(&c)
		return c
	}
	for name, tt := range map[string]struct {
		change func(*options.Case)
		want   string
	}{
		"id":     {func(c *options.Case) { c.ID = "a/b" }, `case "a/b": id is "a/b", want a word without slashes`},
		"status": {func(c *options.Case) { c.Status = 99 }, `case "a": status is 99, want 200 to 599`},
		"end":    {func(c *options.Case) { c.End.How = "boom" }, `end is "boom", want eof, reset or stall`},
		"order":  {func(c *options.Case) { c.Reads = append(c.Reads, options.Read{At: 0.5}) }, "read 1 is at 0.5 ms, want at least 1"},
		"late":   {func(c *options.Case) { c.End.At = 0 }, "end is at 0 ms, want at least 1"},
		"both":   {func(c *options.Case) { c.Reads[0].Base64 = "eA==" }, "read 0 has both text and b64"},
		"base64": {func(c *options.Case) { c.Reads[0].Text, c.Reads[0].Base64 = "", "?" }, "read 0: illegal base64"},
		"polled": {func(c *options.Case) { c.Reads, c.Polled = nil, true }, "a polled case needs a read"},
	} {
		if _, err := New(options.Options{Cases: []options.Case{good(tt.change)}}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: New = %v, want %q", name, err, tt.want)
		}
	}
	same := good(func(*options.Case) {})
	if _, err := New(options.Options{Cases: []options.Case{same, same}}); err == nil || !strings.Contains(err.Error(), "the id is there twice") {
		t.Errorf("twice: %v", err)
	}
	if _, err := New(options.Options{TimeScale: -1}); err == nil {
		t.Error("a negative scale was accepted")
	}
	if _, err := options.LoadCases(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file was read")
	}
}

package api

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/results"
)

func TestFiles(t *testing.T) {
	ts := newTestServer(t, nil)
	const content = `{"time_to_first_token":{"avg":41.2}}`
	big := strings.Repeat("line of text\n", 500)
	ts.fake.writeArtifacts(t, idDone, map[string]string{
		results.MarkerReady: `{"ready":true}`, "profile_export_aiperf.json": content, "logs/aiperf.log": big,
		".hidden": "x", ".git/config": "x", "übung.csv": "a\n", "raw records/1.jsonl": "{}\n",
	})
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(ts.fake.dir, idDone, "link.json")); err != nil {
		t.Fatal(err)
	}
	ts.fake.writeArtifacts(t, idFailed, map[string]string{results.MarkerProcessing: "{}", "profile_export_aiperf.json": "{}"})
	sum := sha256.Sum256([]byte(content))
	tag := `"` + hex.EncodeToString(sum[:]) + `"`

	invalid := func(name string) string {
		return "Invalid filename '" + name + "': path traversal or reserved marker name"
	}
	tests := []struct {
		name, target string
		headers      []string
		status       int
		want         map[string]string
		body         string
	}{
		{"whole", "profile_export_aiperf.json", nil, 200, map[string]string{
			"Content-Type": "application/json", "Content-Length": "36", "Etag": tag, "Accept-Ranges": "bytes",
			"Last-Modified": "Mon, 04 May 2026 10:00:00 GMT", "X-Filename": "profile_export_aiperf.json",
			"Content-Disposition": `attachment; filename="profile_export_aiperf.json"`, "Cache-Control": respond.Immutable,
		}, content},
		{"range", "profile_export_aiperf.json", []string{"Range: bytes=2-5"}, 206, map[string]string{"Content-Range": "bytes 2-5/36"}, "time"},
		{"range at the end", "profile_export_aiperf.json", []string{"Range: bytes=-3"}, 206, nil, "2}}"},
		{"range outside", "profile_export_aiperf.json", []string{"Range: bytes=99-"}, 416, map[string]string{"Content-Range": "bytes */36", "Content-Type": "application/problem+json"}, "range-not-satisfiable"},
		{"If-Match", "profile_export_aiperf.json", []string{`If-Match: "other"`}, 412, map[string]string{"Etag": ""}, "precondition-failed"},
		{"If-Range holds", "profile_export_aiperf.json", []string{"Range: bytes=2-5", "If-Range: " + tag}, 206, nil, "time"},
		{"If-Range does not hold", "profile_export_aiperf.json", []string{"Range: bytes=2-5", `If-Range: "other"`}, 200, nil, content},
		{"If-None-Match", "profile_export_aiperf.json", []string{"If-None-Match: " + tag}, 304, nil, ""},
		{"folder in the path", "logs/aiperf.log", nil, 200, map[string]string{"Content-Type": "text/plain; charset=utf-8", "X-Filename": "aiperf.log"}, big},
		{"compressed", "logs/aiperf.log", []string{"Accept-Encoding: gzip"}, 200, map[string]string{"Content-Encoding": "gzip"}, ""},
		{"range is not compressed", "logs/aiperf.log", []string{"Accept-Encoding: gzip", "Range: bytes=0-3"}, 206, map[string]string{"Content-Encoding": ""}, "line"},
		{"space", "raw%20records/1.jsonl", nil, 200, map[string]string{"Content-Type": "application/x-ndjson"}, "{}\n"},
		{"non-ASCII", "%C3%BCbung.csv", nil, 200, map[string]string{
			"Content-Disposition": "attachment; filename*=utf-8''%C3%BCbung.csv", "Content-Type": "text/csv; charset=utf-8",
		}, "a\n"},
		{"missing", "nope.json", nil, 404, nil, "Result file not found: nope.json"},
		{"folder", "logs", nil, 404, nil, "Result file not found: logs"},
		{"empty", "", nil, 404, nil, "Result file not found: "},
		{"hidden", ".hidden", nil, 404, nil, "Result file not found: .hidden"},
		{"hidden folder", ".git/config", nil, 404, nil, "Result file not found: .git/config"},
		{"link to the outside", "link.json", nil, 404, nil, "Result file not found: link.json"},
		{"traversal", "../../etc/passwd", nil, 400, nil, invalid("../../etc/passwd")},
		{"encoded dots", "%2e%2e/x", nil, 400, nil, invalid("../x")},
		{"encoded slash", "..%2fx", nil, 400, nil, invalid("../x")},
		{"absolute", "/etc/passwd", nil, 400, nil, invalid("/etc/passwd")},
		{"encoded absolute", "%2fetc/passwd", nil, 400, nil, invalid("/etc/passwd")},
		{"drive", "C:%5Cx", nil, 400, nil, invalid(`C:\\x`)},
		{"NUL", "a%00b", nil, 400, nil, `path traversal`},
		{"marker", results.MarkerReady, nil, 400, nil, invalid(results.MarkerReady)},
		{"processing marker", results.MarkerProcessing, nil, 400, nil, invalid(results.MarkerProcessing)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, method := range []string{"GET", "HEAD"} {
				w := ts.do(method, "/api/runs/"+idDone+"/results/files/"+tt.target, "", tt.headers...)
				if w.Code != tt.status {
					t.Fatalf("%s = %d %s, want %d", method, w.Code, w.Body, tt.status)
				}
				for name, want := range tt.want {
					if method == "HEAD" && name == "Content-Encoding" {
						continue // what has no body is not compressed
					}
					if got := w.Header().Get(name); got != want {
						t.Errorf("%s: %s = %q, want %q", method, name, got, want)
					}
				}
				if method == "GET" && !strings.Contains(w.Body.String(), tt.body) {
					t.Errorf("body = %s, want %s", w.Body, tt.body)
				}
			}
		})
	}
	wantNotReady := "Results not ready for " + idFailed + "; export still processing; marker file " + results.MarkerReady + " not present — retry after completion"
	if w := ts.do("GET", "/api/runs/"+idFailed+"/results/files/profile_export_aiperf.json", ""); w.Code != 404 || !strings.Contains(w.Body.String(), wantNotReady) {
		t.Errorf("not ready = %d %s", w.Code, w.Body)
	}
	// The name is checked before readiness.
	if w := ts.do("GET", "/api/runs/"+idFailed+"/results/files/..%2fx", ""); w.Code != 400 {
		t.Errorf("traversal in a run that is not ready = %d", w.Code)
	}
	if w := ts.do("GET", "/api/results/files/x.json", ""); w.Code != 404 || !strings.Contains(w.Body.String(), "results-not-ready") {
		t.Errorf("run without a folder = %d %s", w.Code, w.Body)
	}
}

// Every listed file can be downloaded under its href, and no other file is listed.
func TestListedIsDownloadable(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.fake.writeArtifacts(t, idDone, map[string]string{
		results.MarkerReady: `{"ready":true,"partial":true,"failed_exporters":["csv"]}`, "a b.json": "{}", ".x": "", "sub/ü.csv": "1", "sub/.y": "",
	})
	list := ts.do("GET", "/api/runs/"+idDone+"/results/list", "").Body.String()
	for _, href := range []string{"a%20b.json", "sub/%C3%BC.csv"} {
		path := "/api/runs/" + idDone + "/results/files/" + href
		if !strings.Contains(list, `"href":"`+path+`"`) {
			t.Errorf("%s is not in %s", path, list)
		}
		if w := ts.do("GET", path, ""); w.Code != 200 {
			t.Errorf("GET %s = %d", path, w.Code)
		}
	}
	if strings.Count(list, `"name"`) != 2 || !strings.Contains(list, `"ready":true,"processing":false,"partial":true,"failed_exporters":["csv"]`) {
		t.Errorf("list = %s", list)
	}
}

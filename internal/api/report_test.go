package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// element returns the elements of a page with a name, and with an id unless that is "".
func element(root *html.Node, name, id string) (found []*html.Node) {
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || n.Data != name {
			continue
		}
		if id == "" || attribute(n, "id") == id {
			found = append(found, n)
		}
	}
	return found
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// No text of a run ends the element that it is in, and the policy admits exactly the script
// and the style sheet of the page.
func TestReportHostileTexts(t *testing.T) {
	const hostile = "</script><script>alert(1)</script></noscript><!--<script> \u2028 \"&'"
	ts := newTestServer(t, nil)
	done := ts.fake.get(idDone)
	done.Name, done.Models, done.Labels = hostile, []string{hostile}, map[string]string{"a": hostile}
	done.Warnings = []bench.Warning{{Code: "x", Detail: hostile}}
	done.Summary = &run.Summary{}
	for _, target := range []string{"/api/runs/" + idDone + "/report.html", "/api/compare/report.html?ids=" + idDone + "," + idRunning} {
		w := ts.do("GET", target, "")
		if w.Code != 200 {
			t.Fatalf("GET %s = %d %s", target, w.Code, w.Body)
		}
		page, err := html.Parse(strings.NewReader(w.Body.String()))
		if err != nil {
			t.Fatal(err)
		}
		scripts, styles := element(page, "script", ""), element(page, "style", "")
		if len(scripts) != 2 || len(styles) != 1 || attribute(scripts[0], "id") != "report-data" {
			t.Fatalf("%s has %d scripts and %d style sheets, want the data, the script and one style sheet", target, len(scripts), len(styles))
		}
		var data struct {
			Answers map[string]struct {
				Name   string
				Labels map[string]string
			}
		}
		if err := json.Unmarshal([]byte(scripts[0].FirstChild.Data), &data); err != nil {
			t.Fatalf("%s: data: %v", target, err)
		}
		if got := data.Answers["api/runs/"+idDone]; got.Name != hostile || got.Labels["a"] != hostile {
			t.Errorf("%s: name and label in the data = %q, %q", target, got.Name, got.Labels["a"])
		}
		policy := ""
		for _, n := range element(page, "meta", "") {
			if attribute(n, "http-equiv") == "Content-Security-Policy" {
				policy = attribute(n, "content")
			}
		}
		want := fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'",
			sourceHash(scripts[1].FirstChild.Data), sourceHash(styles[0].FirstChild.Data))
		if policy != want {
			t.Errorf("%s: policy = %s, want %s", target, policy, want)
		}
		if got := w.Header().Get("Content-Security-Policy"); got != want+"; frame-ancestors 'none'; sandbox allow-scripts allow-modals" {
			t.Errorf("%s: policy of the response = %s", target, got)
		}
		for _, n := range append(element(page, "link", ""), element(page, "img", "")...) {
			if from := attribute(n, "href") + attribute(n, "src"); !strings.HasPrefix(from, "data:") {
				t.Errorf("%s loads %s", target, from)
			}
		}
	}
}

func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Reports of runs in every state, and their entity tags.
func TestReports(t *testing.T) {
	ts := newTestServer(t, nil)
	for _, id := range []string{idDone, idRunning, idQueued, idFailed} {
		for format, media := range map[string]string{"html": "text/html; charset=utf-8", "md": "text/markdown; charset=utf-8; variant=GFM"} {
			w := ts.do("GET", "/api/runs/"+id+"/report."+format, "")
			if h := w.Header(); w.Code != 200 || h.Get("Content-Type") != media || h.Get(respond.HeaderRunID) != id || h.Get("Etag") == "" {
				t.Errorf("report.%s of %s = %d %v %.300s", format, id, w.Code, h, w.Body)
			}
		}
	}
	for _, target := range []string{"/api/runs/" + idDone + "/report.html", "/api/runs/latest/report.md", "/api/compare/report.md?ids=" + idFailed + "," + idDone} {
		w := ts.do("GET", target, "")
		if w := ts.do("GET", target, "", "If-None-Match: "+w.Header().Get("Etag")); w.Code != 304 {
			t.Errorf("GET %s with its tag = %d", target, w.Code)
		}
	}
	w := ts.do("GET", "/api/compare/report.md?ids="+idDone+","+idFailed+"&baseline="+idFailed, "")
	if body := w.Body.String(); w.Code != 200 || !strings.Contains(body, "baseline "+idFailed) || !strings.Contains(body, "| A | qwen nightly | qwen-7b | 30 req/s, 64 concurrent | 2026-05-04 10:00 UTC | baseline · failed") {
		t.Errorf("comparison with a baseline = %d %s", w.Code, body)
	}
	for target, want := range map[string]string{
		"/api/runs/" + idMissing + "/report.html":                               "404 No such run",
		"/api/runs/" + idDone + "/report.md?x=1":                                "400 Unknown parameter",
		"/api/compare/report.html?ids=" + idDone:                                "400 ids has 1 runs",
		"/api/compare/report.html?ids=" + idDone + ",latest":                    "400 ids has run " + idDone + " twice",
		"/api/compare/report.md?ids=" + idDone + "," + idMissing:                "404 No such run: " + idMissing,
		"/api/compare/report.md?ids=" + idDone + "," + idFailed + "&baseline=x": `400 baseline is \"x\", want one of ids`,
	} {
		w := ts.do("GET", target, "")
		status, text, _ := strings.Cut(want, " ")
		if body := w.Body.String(); !strings.HasPrefix(w.Result().Status, status) || !strings.Contains(body, text) {
			t.Errorf("GET %s = %d %s, want %s", target, w.Code, body, want)
		}
	}
}

// The whole Markdown of a run with a doubtful client, errors and objectives.
func TestReportMarkdown(t *testing.T) {
	ts := newTestServer(t, nil)
	w := ts.do("GET", "/api/runs/"+idDone+"/report.md", "")
	golden(t, "report.md", w.Body.Bytes())
}

package api

import (
	"encoding/json"
	"strings"
	"testing"

	"aiperfd/internal/api/compare"
)

func TestCompare(t *testing.T) {
	ts := newTestServer(t, nil)
	target := "/api/compare?ids=" + idRunning + ",latest&baseline=latest"
	w := ts.do("GET", target, "")
	var got compare.Comparison
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
		t.Fatalf("GET = %d %s", w.Code, w.Body)
	}
	if got.Baseline != idDone || got.Runs[0].ID != idRunning || got.Runs[1].ID != idDone || got.Runs[0].Results != compare.Live || len(got.Metrics) != 3 {
		t.Errorf("comparison = %s", w.Body)
	}
	if w := ts.do("GET", target, "", "If-None-Match: "+w.Header().Get("Etag")); w.Code != 304 {
		t.Errorf("If-None-Match = %d", w.Code)
	}
	for query, want := range map[string]string{
		"ids=" + idDone: "400 ids has 1 runs", "ids=" + idDone + ",latest": "400 ids has run " + idDone + " twice", "": "400 ids has 0 runs",
		"ids=" + idDone + "," + idMissing + ",nope": "404 No such run: " + idMissing + ", nope",
		"ids=" + idDone + "," + idRunning + "&x=1":  "400 Unknown parameter", "ids=" + idDone + "," + idRunning + "&baseline=x": `400 baseline is \"x\", want one of ids`,
	} {
		w := ts.do("GET", "/api/compare?"+query, "")
		status, text, _ := strings.Cut(want, " ")
		if body := w.Body.String(); !strings.HasPrefix(w.Result().Status, status) || !strings.Contains(body, text) {
			t.Errorf("GET %s = %d %s, want %s", query, w.Code, body, want)
		}
	}
}

package api

import (
	"os"
	"strings"
	"testing"
)

// mostWeight is how many bytes all scripts and style sheets of the pages may have together, as they are sent.
const mostWeight = 250 << 10

// All pages together weigh no more than the limit, as a browser receives them.
func TestWeight(t *testing.T) {
	ts := newTestServer(t, nil)
	files, err := os.ReadDir("../../web/dist/assets")
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".js") && !strings.HasSuffix(f.Name(), ".css") {
			continue
		}
		w := ts.do("GET", "/assets/"+f.Name(), "", "Accept-Encoding: gzip")
		if info, err := f.Info(); err != nil || w.Code != 200 || info.Size() > 4096 && w.Header().Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: %d, encoding %q, %v", f.Name(), w.Code, w.Header().Get("Content-Encoding"), err)
		}
		total += w.Body.Len()
	}
	t.Logf("%d bytes", total)
	if total > mostWeight || total == 0 {
		t.Errorf("scripts and style sheets have %d bytes compressed, the limit is %d", total, mostWeight)
	}
}

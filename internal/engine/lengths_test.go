package engine_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLengthDoubts: a result whose lengths are not what they seem says so.
func TestLengthDoubts(t *testing.T) {
	forgetful := func(next http.Handler) http.Handler { // a server that does not know the limit's name
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			body = bytes.Replace(body, []byte(`"max_completion_tokens":3`), []byte(`"max_completion_tokens":9`), 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			next.ServeHTTP(w, r)
		})
	}
	for _, test := range []struct {
		name, usage string
		wrap        func(http.Handler) http.Handler
		want        map[string]string // code → part of the text
	}{
		{"as asked", "", nil, nil},
		{"no usage", "never", nil, map[string]string{
			"server-usage-missing": "4 of 4 answers had no usage block",
		}},
		{"too long", "", forgetful, map[string]string{"output-length": "--use-legacy-max-tokens"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := timing(t, 100*time.Millisecond, 10*time.Millisecond)
				o.Usage = test.usage
				b := newBed(t, o, test.wrap)
				r := b.run(document("type: concurrency, concurrency: 2, requests: 4", fileData))
				got := map[string]string{}
				for _, w := range r.Warnings {
					if w.Code == "server-usage-missing" || w.Code == "output-length" || w.Code == "usage-discrepancy" {
						got[w.Code] = w.Detail
					}
				}
				if len(got) != len(test.want) {
					t.Errorf("warnings = %q", got)
				}
				for code, text := range test.want {
					if !strings.Contains(got[code], text) {
						t.Errorf("%s = %q, want %q in it", code, got[code], text)
					}
				}
				b.stop()
			})
		})
	}
}

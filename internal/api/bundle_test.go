package api

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/results"
	"aiperfd/internal/api/wire"
)

// The archive has the files of the list, whether the client accepts compression or not.
func TestBundleIsList(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.fake.writeArtifacts(t, idDone, map[string]string{
		results.MarkerReady: `{"ready":true}`, "a b.json": "{}", ".x": "", "sub/ü.csv": "1", "sub/.y": "", "logs/aiperf.log": strings.Repeat("line\n", 1000),
	})
	var list wire.ResultFiles
	if err := json.Unmarshal(ts.do("GET", "/api/runs/"+idDone+"/artifacts", "").Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	w := ts.do("GET", "/api/runs/latest/artifacts.zip", "", "Accept-Encoding: gzip")
	if w.Code != 200 || w.Header().Get("Content-Encoding") != "" || w.Header().Get(respond.HeaderRunID) != idDone {
		t.Fatalf("GET = %d %v", w.Code, w.Header())
	}
	archive, err := zip.NewReader(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()))
	if err != nil {
		t.Fatal(err)
	}
	sizes, want := map[string]int64{}, map[string]int64{}
	for _, f := range archive.File {
		sizes[f.Name] = int64(f.UncompressedSize64)
	}
	for _, f := range list.Files {
		want[f.Name] = f.Size
	}
	if diff := cmp.Diff(want, sizes); diff != "" || len(want) != 3 {
		t.Errorf("files (-list +archive):\n%s", diff)
	}
	tag := w.Header().Get("Etag")
	if w := ts.do("GET", "/api/runs/"+idDone+"/artifacts.zip", "", "If-None-Match: \"x\", "+tag); w.Code != 304 || w.Header().Get("Etag") != tag {
		t.Errorf("If-None-Match = %d %v", w.Code, w.Header())
	}
	if w := ts.do("GET", "/api/runs/"+idDone+"/artifacts.tar.gz", "", "If-None-Match: "+tag); w.Code != 200 {
		t.Errorf("If-None-Match of another format = %d", w.Code)
	}
	if w := ts.do("GET", "/api/runs/"+idFailed+"/artifacts.zip", ""); w.Code != 404 || !strings.Contains(w.Body.String(), "results-not-ready") {
		t.Errorf("run that is not ready = %d %s", w.Code, w.Body)
	}
}

// stuck is a client that reads nothing until its connection is closed.
type stuck struct {
	*httptest.ResponseRecorder
	closed chan struct{}
}

func (s stuck) Write([]byte) (int, error) {
	<-s.closed
	return 0, http.ErrHandlerTimeout
}

// The fifth client is told to come back; a client that leaves makes room.
func TestBundlesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := newTestServer(t, nil)
		ts.fake.writeArtifacts(t, idDone, map[string]string{results.MarkerReady: `{"ready":true}`, "a.json": "{}"})
		path := "/api/runs/" + idDone + "/artifacts.tar.gz"
		gone := make(chan struct{})
		var clients sync.WaitGroup
		for range 4 {
			clients.Go(func() {
				defer func() {
					if cause, _ := recover().(error); !errors.Is(cause, http.ErrAbortHandler) {
						t.Errorf("the connection of an incomplete archive stays open: %v", cause)
					}
				}()
				r := httptest.NewRequest("GET", "http://localhost"+path, nil)
				ts.Handler().ServeHTTP(stuck{httptest.NewRecorder(), gone}, r)
			})
		}
		synctest.Wait()
		w := ts.do("GET", path, "")
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "too-many-streams") || w.Header().Get("Etag") != "" {
			t.Errorf("one more = %d %v %s", w.Code, w.Header(), w.Body)
		}
		close(gone)
		clients.Wait()
		if w := ts.do("GET", path, ""); w.Code != 200 {
			t.Errorf("after they left = %d %s", w.Code, w.Body)
		}
	})
}

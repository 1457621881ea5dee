//go:build unix

package api

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aiperfd/internal/api/results"
)

// Only regular files are listed and served: a FIFO would hold the handler for ever, and
// so would a device.
func TestFilesOfOtherKinds(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.fake.writeArtifacts(t, idDone, map[string]string{results.MarkerReady: `{"ready":true}`, "logs/a.log": "line\n"})
	dir := filepath.Join(ts.fake.dir, idDone)
	for _, err := range []error{
		syscall.Mkfifo(filepath.Join(dir, "fifo.json"), 0o600),
		os.Symlink("logs/a.log", filepath.Join(dir, "link.log")),
		os.Symlink("logs", filepath.Join(dir, "way")),
		os.Symlink("/dev/zero", filepath.Join(dir, "zero")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	path := "/api/runs/" + idDone + "/results/"
	for _, name := range []string{"fifo.json", "link.log", "way/a.log", "zero"} {
		if w := ts.do("GET", path+"files/"+name, ""); w.Code != 404 || !strings.Contains(w.Body.String(), "Result file not found: "+name) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	w := ts.do("GET", path+"list", "")
	if got := strings.Count(w.Body.String(), `"href"`); w.Code != 200 || got != 1 || !strings.Contains(w.Body.String(), "logs/a.log") {
		t.Errorf("list: %d %s, want logs/a.log only", w.Code, w.Body)
	}
	// A FIFO in place of the marker: the files are not ready.
	if err := os.Remove(filepath.Join(dir, results.MarkerReady)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, results.MarkerReady), 0o600); err != nil {
		t.Fatal(err)
	}
	if w := ts.do("GET", path+"list", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"ready":false`) {
		t.Errorf("list with a FIFO as marker: %d %s", w.Code, w.Body)
	}
}

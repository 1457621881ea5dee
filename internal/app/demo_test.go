package app

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A demonstration that cannot open its daemon ends with the reason.
func TestDemoWithoutDaemon(t *testing.T) {
	for name, d := range map[string]Demo{
		"no such port":      {Port: 99999, DataDir: t.TempDir()},
		"no data directory": {DataDir: filepath.Join("/dev/null", "data")},
	} {
		t.Run(name, func(t *testing.T) {
			d.Out, d.Once = io.Discard, true
			ended := make(chan error, 1)
			go func() { ended <- d.Run(t.Context()) }()
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), "99999") && !strings.Contains(err.Error(), "data directory") {
					t.Errorf("error = %v, want what could not be opened", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("the demonstration did not end")
			}
		})
	}
}

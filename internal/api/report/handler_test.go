package report

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"golang.org/x/sync/semaphore"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/run"
)

// oneRun is one run, which is selected.
type oneRun struct{}

func (oneRun) Get(context.Context, string) (*run.Run, error)           { return &run.Run{ID: "a"}, nil }
func (oneRun) List(context.Context, run.Query) (run.Page, error)       { return run.Page{}, nil }
func (oneRun) Selected(context.Context) (string, bool)                 { return "a", true }
func (oneRun) Snapshot(context.Context, string) (*run.Snapshot, error) { return nil, run.ErrNotFound }
func (oneRun) Queue() run.Queue                                        { return run.Queue{} }

// While as many reports are being made as may be, another one is refused at once.
func TestBusy(t *testing.T) {
	busy := respond.ErrTooManyStreams
	h := &Handler{Maker: &Maker{Find: &respond.Finder{Runs: oneRun{}, Live: oneRun{}}}, Room: semaphore.NewWeighted(MaxAtOnce)}
	if !h.Room.TryAcquire(MaxAtOnce) {
		t.Fatal("the room is smaller than MaxAtOnce")
	}
	for _, format := range []Format{HTML, Markdown} {
		if err := h.OfRun(format)(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody)); !errors.Is(err, busy) {
			t.Errorf("report.%s = %v, want %v", format, err, busy)
		}
	}
}

func TestParseFormat(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		want       Format
	}{
		{"", "", HTML}, {"", "a.MD", Markdown}, {"", "a.html", HTML}, {"", "-", HTML}, {"html", "a.md", HTML}, {"md", "", Markdown},
	} {
		if got, err := ParseFormat(tt.name, tt.file); got != tt.want || err != nil {
			t.Errorf("ParseFormat(%q, %q) = %q, %v; want %q", tt.name, tt.file, got, err, tt.want)
		}
	}
	if _, err := ParseFormat("HTML", ""); err == nil {
		t.Error("an unknown format was accepted")
	}
}

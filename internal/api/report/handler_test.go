package report

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"golang.org/x/sync/semaphore"

	"aiperfd/internal/run"
)

// While as many reports are being made as may be, another one is refused at once.
func TestBusy(t *testing.T) {
	busy := errors.New("busy")
	h := &Handler{
		Find: func(http.ResponseWriter, *http.Request) (*run.Run, error) { return &run.Run{ID: "a"}, nil },
		Busy: busy, Room: semaphore.NewWeighted(MaxAtOnce),
	}
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

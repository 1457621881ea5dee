package api

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"aiperfd/internal/api/feed"
	"aiperfd/internal/api/respond"
)

// TestDocumentation: docs/api.md has a row for every problem, with its status, and
// for every type of WebSocket message.
func TestDocumentation(t *testing.T) {
	data, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, row := range respond.Problems() {
		if want := fmt.Sprintf("\n| `%s` | %d | ", row.Name, row.Status); !strings.Contains(page, want) {
			t.Errorf("docs/api.md has no row %q", want)
		}
	}
	for _, kind := range feed.Kinds() {
		if want := fmt.Sprintf("\n| `%s` | ", kind); !strings.Contains(page, want) {
			t.Errorf("docs/api.md has no row %q", want)
		}
	}
}

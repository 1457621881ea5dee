package load

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The load stands on these packages of ours and on no other: it can be given to another
// machine without documents, endpoint types or datasets.
func TestClosure(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var got []string
	for name := range strings.Lines(string(out)) {
		if name, ours := strings.CutPrefix(strings.TrimSpace(name), "aiperfd/internal/engine/"); ours {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	want := []string{
		"allow", "arrival", "bench", "eventlog", "load", "load/spec", "pace", "sockstamp",
		"transport", "transport/frame", "transport/http1", "transport/loop", "transport/netpath",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
}

package plainjson

import (
	"math"
	"strings"
	"testing"
)

func TestMarshal(t *testing.T) {
	got, err := Marshal(map[string]string{"key": "<redacted> & co"})
	if err != nil || string(got) != `{"key":"<redacted> & co"}` {
		t.Errorf("Marshal = %s, %v", got, err)
	}
	if _, err := Marshal(math.NaN()); err == nil {
		t.Error("Marshal(NaN) has no error")
	}
}

func TestWriteIndent(t *testing.T) {
	var out strings.Builder
	if err := WriteIndent(&out, []string{"<a>"}); err != nil || out.String() != "[\n  \"<a>\"\n]\n" {
		t.Errorf("WriteIndent = %q, %v", out.String(), err)
	}
}

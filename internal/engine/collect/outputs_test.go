package collect

import (
	"bytes"
	"strings"
	"testing"
)

func TestWriteOutputs(t *testing.T) {
	for _, test := range []struct{ name, fragments, want string }{
		{"none", "", `{"schema_version":"1.1","data":[],"warmup":[]}`},
		{"sorted", "2 1 false {\"n\":4}\n2 0 false {\"n\":3}\n0 0 true {\"n\":1}\n10 0 false {\"n\":5}\n1 0 true {\"n\":2}\n",
			`{"schema_version":"1.1","data":[{"n":3},{"n":4},{"n":5}],"warmup":[{"n":1},{"n":2}]}`},
		{"torn", "1 0 false {\"n\":1}\n0 0 fal", `{"schema_version":"1.1","data":[{"n":1}],"warmup":[]}`},
	} {
		var out bytes.Buffer
		if err := writeOutputs(&out, strings.NewReader(test.fragments)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(out.String()), ""); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	if err := writeOutputs(&bytes.Buffer{}, strings.NewReader("1 x false {}\n")); err == nil || !strings.Contains(err.Error(), "text of response 1") {
		t.Errorf("a bad line: %v", err)
	}
}

func FuzzWriteOutputs(f *testing.F) {
	f.Add([]byte("1 0 false {\"a\":1}\n0 0 true {}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = writeOutputs(&bytes.Buffer{}, bytes.NewReader(data)) // an error is fine
	})
}

package main

import (
	"encoding/json"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBill(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{
		{Path: "example.com/a", Version: "v1.2.3", Sum: "h1:AAECAw=="},
		{Path: "example.com/b", Version: "v2.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v2.0.1"}},
	}}
	got, err := json.MarshalIndent(bill(info, "v0.5.0"), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "bomFormat": "CycloneDX",
  "specVersion": "1.6",
  "version": 1,
  "metadata": {
    "component": {
      "type": "application",
      "name": "aiperfd",
      "version": "v0.5.0",
      "purl": "pkg:generic/aiperfd@v0.5.0"
    }
  },
  "components": [
    {
      "type": "library",
      "name": "std",
      "version": "go1.26.8",
      "purl": "pkg:golang/std@1.26.8"
    },
    {
      "type": "library",
      "name": "example.com/a",
      "version": "v1.2.3",
      "purl": "pkg:golang/example.com/a@v1.2.3",
      "hashes": [
        {
          "alg": "SHA-256",
          "content": "00010203"
        }
      ]
    },
    {
      "type": "library",
      "name": "example.com/fork",
      "version": "v2.0.1",
      "purl": "pkg:golang/example.com/fork@v2.0.1"
    }
  ]
}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("bill (-want +got):\n%s", diff)
	}
}

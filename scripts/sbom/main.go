// Command sbom writes the modules of a Go binary as a software bill of materials in the
// JSON of CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/).
//
//	go run ./scripts/sbom bin/aiperfd v1.0.0 > aiperfd.cdx.json
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"runtime/debug"
	"strings"
)

type document struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: sbom BINARY VERSION")
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	if err := out.Encode(bill(info, os.Args[2])); err != nil {
		log.Fatal(err)
	}
}

func bill(info *buildinfo.BuildInfo, version string) document {
	doc := document{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{component{Type: "application", Name: "aiperfd", Version: version, PURL: "pkg:generic/aiperfd@" + version}},
	}
	doc.Components = append(doc.Components, component{
		Type: "library", Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	})
	for _, m := range info.Deps {
		doc.Components = append(doc.Components, library(m))
	}
	return doc
}

func library(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: fmt.Sprintf("pkg:golang/%s@%s", m.Path, m.Version)}
	// The sum of a module is a SHA-256 over the hashes of its files, in base64.
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	}
	return c
}

// Package web holds the pages that aiperfd serves: the dashboard and the API reference.
// They ask for nothing from other hosts. Their source is in src; dist is what `make web`
// builds from it, and is committed so that building aiperfd needs Go only.
package web

import "embed"

//go:embed dist
var dist embed.FS

// File returns a built file by its path below dist. The bytes must not be changed.
func File(name string) ([]byte, bool) {
	b, err := dist.ReadFile("dist/" + name)
	return b, err == nil
}

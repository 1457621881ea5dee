// Package web holds the pages that aiperfd serves: the live page and the API
// reference. They ask for nothing from other hosts.
package web

import "embed"

//go:embed static
var static embed.FS

// File returns an embedded file by its name without a folder. The bytes must
// not be changed.
func File(name string) ([]byte, bool) {
	b, err := static.ReadFile("static/" + name)
	return b, err == nil
}

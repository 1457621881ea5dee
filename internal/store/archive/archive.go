// Package archive writes and reads archives of runs: tar files, compressed with gzip, that
// begin with a description and end with the SHA-256 of every file in the format of
// sha256sum. An archive without its end is not accepted. Nothing in an archive is
// trusted: names, types, sizes and numbers of files are checked before a byte is used.
package archive

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode"
)

// The names of the files that are not of runs.
const (
	headerFile = "aiperfd-archive.json" // the first one
	sumsFile   = "SHA256SUMS"           // the last one
	// Database is the index of all runs, in a backup.
	Database = "aiperfd.db"
	// Runs is the folder with one folder per run.
	Runs = "runs"
)

// Kind is what an archive is.
type Kind string

// The kinds.
const (
	Backup   Kind = "backup" // a data folder
	Selected Kind = "runs"   // some runs of a data folder
)

const schema = "aiperfd-archive/1"

// Header describes an archive.
type Header struct {
	Schema  string    `json:"schema"`
	Kind    Kind      `json:"kind"`
	Created time.Time `json:"created_at"`
	Version string    `json:"aiperfd_version"`
	Runs    []string  `json:"runs,omitempty"` // ids, if the kind is Selected
}

// check returns what is wrong with a header.
func (h *Header) check() error {
	switch {
	case h.Schema != schema:
		return fmt.Errorf("%s: schema is %q, not %q", headerFile, h.Schema, schema)
	case h.Kind != Backup && h.Kind != Selected:
		return fmt.Errorf("%s: kind is %q, not %q or %q", headerFile, h.Kind, Backup, Selected)
	}
	return nil
}

// The limits of names.
const (
	maxName  = 1024 // bytes
	maxDepth = 32   // elements
)

// checkName accepts the relative names of files that stay where they are unpacked, on
// every system.
func checkName(name string) error {
	switch {
	case len(name) > maxName:
		return fmt.Errorf("file name of %d bytes; the limit is %d", len(name), maxName)
	case !fs.ValidPath(name) || name == "." || !filepath.IsLocal(filepath.FromSlash(name)):
		return fmt.Errorf("file name %q is not a relative path without . and .. elements", name)
	case strings.Count(name, "/") >= maxDepth:
		return fmt.Errorf("file name %q has more than %d elements", name, maxDepth)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("file name %q has control characters", name)
	}
	return nil
}

// InRun splits the name of a file of a run: runs/<id>/<file>.
func InRun(name string) (id, file string, ok bool) {
	rest, ok := strings.CutPrefix(name, Runs+"/")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "/")
}

// sum returns one line of the checksums. A name with a backslash is written as sha256sum
// writes it.
func sum(digest []byte, name string) string {
	if strings.Contains(name, `\`) {
		return fmt.Sprintf("\\%x  %s\n", digest, strings.ReplaceAll(name, `\`, `\\`))
	}
	return fmt.Sprintf("%x  %s\n", digest, name)
}

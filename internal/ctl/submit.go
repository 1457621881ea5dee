package ctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/redact"
)

const submitLong = `Submit a benchmark document in YAML or JSON, and print the run. - is the
standard input. If the connection fails, the submission is repeated; it never
makes two runs.

--wait and --watch wait until the run has ended, and end with its exit code.
Without them, the command returns at once: aiperfd ctl watch follows the run.`

// maxDocument is the size of the largest document that is read; the daemon has a limit of
// its own.
const maxDocument = 64 << 20

func submitCommand(g *globals) *cobra.Command {
	var wait, watch bool
	var name string
	var labels []string
	cmd := &cobra.Command{
		Use:     "submit FILE|-",
		Short:   "Submit a benchmark",
		Long:    submitLong,
		Example: "  aiperfd ctl submit bench.yaml --name nightly --label gpu=h100 --watch\n  ID=$(aiperfd ctl submit bench.yaml -o name)",
		Args:    cobra.ExactArgs(1),
		RunE: g.online([]string{formatJSON, formatYAML, formatName}, func(ctx context.Context, s *session, args []string) error {
			data, media, err := readDocument(s.cmd.InOrStdin(), args[0])
			if err == nil {
				data, media, err = addMetadata(data, media, name, labels)
			}
			if err != nil {
				return &ExitError{exitUsage, err}
			}
			r, err := s.Submit(ctx, data, media)
			if err != nil {
				return err
			}
			for _, w := range r.Warnings {
				fmt.Fprintf(s.err, "warning: %s: %s\n", w.Code, redact.Text(w.Detail))
			}
			if s.output != "" || !wait && !watch {
				done, err := s.printed(s.out, r.JSON, r.ID)
				if !done {
					_, err = fmt.Fprintf(s.out, "run %s %s\n", r.ID, r.State)
				}
				if err != nil {
					return err
				}
			}
			if !wait && !watch {
				return nil
			}
			if s.output == "" {
				fmt.Fprintf(s.err, "run %s\n", r.ID)
			}
			w := newWatcher(s, s.cmd.ErrOrStderr())
			w.quiet = !watch
			return w.follow(ctx, r)
		}),
	}
	fs := cmd.Flags()
	fs.BoolVar(&wait, "wait", false, "wait until the run has ended")
	fs.BoolVar(&watch, "watch", false, "show the progress on standard error until the run has ended")
	fs.StringVar(&name, "name", "", "`name` of the run, instead of that in the document")
	fs.StringArrayVar(&labels, "label", nil, "`NAME=VALUE` to add to the labels of the document (repeatable)")
	return cmd
}

// The media types of documents.
const (
	mediaJSON = "application/json"
	mediaYAML = "application/yaml"
)

// readDocument reads a document and returns its media type.
func readDocument(stdin io.Reader, path string) (data []byte, media string, err error) {
	from := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, "", err
		}
		defer file.Close()
		from = file
	}
	data, err = io.ReadAll(io.LimitReader(from, maxDocument+1))
	switch {
	case err != nil:
		return nil, "", err
	case len(data) > maxDocument:
		return nil, "", fmt.Errorf("%s: has more than %d MiB", path, maxDocument>>20)
	case len(bytes.TrimSpace(data)) == 0:
		return nil, "", fmt.Errorf("%s: is empty", path)
	case strings.EqualFold(filepath.Ext(path), ".json"):
		return data, mediaJSON, nil
	}
	return data, mediaYAML, nil
}

// maxValues bounds the tree of a document that is changed here.
const maxValues = 1_000_000

// addMetadata sets the name of a document and adds labels. A document that is changed
// becomes JSON; its values stay as they were written.
func addMetadata(data []byte, media, name string, labels []string) ([]byte, string, error) {
	if name == "" && len(labels) == 0 {
		return data, media, nil
	}
	var faults []error
	format := tree.YAML
	if media == mediaJSON {
		format = tree.JSON
	}
	root, twice, err := tree.Parse(data, format, maxValues)
	if err != nil {
		return nil, "", err
	}
	for _, d := range twice {
		faults = append(faults, fmt.Errorf("line %d: %s is there twice, first in line %d", d.Line, d.Name, d.First))
	}
	if root.Shape != tree.Object {
		return nil, "", errors.New("the document is not an object")
	}
	metadata := section(root, "metadata")
	if metadata != nil && name != "" {
		metadata.Set("name", tree.TextNode(name))
	}
	for _, label := range labels {
		key, value, ok := strings.Cut(label, "=")
		if !ok || key == "" {
			faults = append(faults, fmt.Errorf("--label %q: must be NAME=VALUE", label))
			continue
		}
		if metadata == nil {
			continue
		}
		if all := section(metadata, "labels"); all != nil {
			all.Set(key, tree.TextNode(value))
		} else {
			faults = append(faults, errors.New("metadata.labels in the document is not an object"))
		}
	}
	if metadata == nil {
		faults = append(faults, errors.New("metadata in the document is not an object"))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, "", err
	}
	return root.JSON(), mediaJSON, nil
}

// section returns an object in another one, which is made if it is not there; nil = it is
// something else.
func section(parent *tree.Node, name string) *tree.Node {
	if parent.Get(name) == nil {
		parent.Set(name, tree.ObjectNode())
	}
	found := parent.Get(name)
	if found.Shape != tree.Object {
		return nil
	}
	return found
}

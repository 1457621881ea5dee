package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// ErrNotID is the error of an empty text in place of a run.
var ErrNotID = errors.New("must be an id, the beginning of one, a name, current or latest")

// maxSearched is the number of runs among which Resolve looks for one.
const maxSearched = 10_000

// maxCandidates is the number of runs that an Ambiguous error lists.
const maxCandidates = 5

// Ambiguous is the error of a text that does not name exactly one run.
type Ambiguous struct {
	Reason string // what is wrong with the text
	Found  []*Run // at most maxCandidates
}

// Error implements error.
func (e *Ambiguous) Error() string {
	lines := []string{e.Reason + ":"}
	for _, r := range e.Found {
		created := r.CreatedAt.UTC().Format("2006-01-02 15:04:05Z")
		lines = append(lines, strings.TrimRight(fmt.Sprintf("  %s  %s  %s  %s", r.ID, created, r.State, r.Name), " "))
	}
	return strings.Join(lines, "\n")
}

// newAmbiguous lists the first of the runs that were found.
func newAmbiguous(found []*Run, format string, args ...any) error {
	return &Ambiguous{Reason: fmt.Sprintf(format, args...), Found: found[:min(maxCandidates, len(found))]}
}

// Moving reports whether a text names another run as time passes.
func Moving(text string) bool { return text == "current" || text == "latest" }

// Resolve returns the id of a run: of current or latest, of the only run whose id begins
// with text, or of the only run with this name. name=TEXT is always a name. A whole id is
// returned as it is.
func (c *Client) Resolve(ctx context.Context, text string) (string, error) {
	const idLength = 32 // hexadecimal digits
	name, isName := strings.CutPrefix(text, "name=")
	beginsID := !isName && len(text) <= idLength && strings.Trim(text, "0123456789abcdef") == ""
	switch {
	case name == "":
		return "", fmt.Errorf("run %q: %w", text, ErrNotID)
	case Moving(text):
		found, err := c.Run(ctx, text)
		if err != nil {
			return "", err
		}
		return found.ID, nil
	case beginsID && len(text) == idLength:
		return text, nil
	case beginsID:
		return c.resolvePrefix(ctx, text)
	}
	return c.resolveName(ctx, name)
}

// resolvePrefix returns the id that begins with prefix, which may be a name as well.
func (c *Client) resolvePrefix(ctx context.Context, prefix string) (string, error) {
	list, err := c.list(ctx, "/api/runs", url.Values{"include": {"children"}}, maxSearched, func(r *Run) bool {
		return strings.HasPrefix(r.ID, prefix) || r.Name == prefix
	})
	if err != nil {
		return "", err
	}
	found := list.Items
	if own := named(found, prefix); len(own) > 0 { // not the cells of the study of this name
		found = slices.DeleteFunc(found, func(r *Run) bool { return r.Name == prefix && !slices.Contains(own, r) })
	}
	switch {
	case len(found) == 1:
		return found[0].ID, nil
	case len(found) > 1:
		return "", newAmbiguous(found, "several runs have the name %[1]q or an id that begins with it", prefix)
	case list.Total > maxSearched:
		return "", fmt.Errorf("none of the newest %d runs has the name %q or an id that begins with it; give the whole id", maxSearched, prefix)
	}
	return "", fmt.Errorf("no run has the name %q or an id that begins with it", prefix)
}

// named returns the runs with a name. The cells of a study, which have its name, count only if
// no other run has the name.
func named(runs []*Run, name string) []*Run {
	found := slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return r.Name != name })
	if slices.ContainsFunc(found, func(r *Run) bool { return r.ParentID == nil }) {
		found = slices.DeleteFunc(found, func(r *Run) bool { return r.ParentID != nil })
	}
	return found
}

// resolveName returns the id of the run with a name.
func (c *Client) resolveName(ctx context.Context, name string) (string, error) {
	list, err := c.list(ctx, "/api/runs", url.Values{"include": {"children"}, "q": {name}}, maxSearched, func(r *Run) bool {
		return strings.Contains(strings.ToLower(r.Name), strings.ToLower(name))
	})
	if err != nil {
		return "", err
	}
	similar := list.Items
	found := named(similar, name)
	switch {
	case len(found) == 1:
		return found[0].ID, nil
	case len(found) > 1:
		return "", newAmbiguous(found, "%d runs have the name %q; give an id", len(found), name)
	case len(similar) > 0:
		return "", newAmbiguous(similar, "no run has the name %q; names that contain it", name)
	}
	return "", fmt.Errorf("no run has the name %q; aiperfd ctl list shows ids and names", name)
}

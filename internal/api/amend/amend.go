// Package amend reads JSON merge patches (RFC 7396) of runs: what users may change of a run
// after its submission.
package amend

import (
	"maps"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/run"
)

// MediaType is that of a merge patch.
const MediaType = "application/merge-patch+json"

// Members names the members of a patch.
const Members = "name, labels, notes, pinned, priority and ttl"

// members are the members of a patch. Their limits are those of a document's metadata.
type members struct {
	Name     *string         `json:"name"`
	Labels   *schema.Labels  `json:"labels"`
	Notes    *string         `json:"notes"`
	Pinned   *bool           `json:"pinned"`
	Priority *int            `json:"priority"`
	TTL      *schema.Seconds `json:"ttl"`
}

// Patch is a valid merge patch.
type Patch struct {
	set    members
	null   map[string]bool // members that are removed
	labels []string        // labels that are removed
	places map[string]tree.Place
}

// Read reads a patch. The error is *tree.Malformed or *problem.Invalid, with all problems.
func Read(data []byte) (*Patch, error) {
	root, duplicates, err := tree.Parse(data, tree.JSON, tree.MaxValues)
	if err != nil {
		return nil, err
	}
	if root.Shape != tree.Object {
		return nil, &tree.Malformed{Line: root.Line, Column: root.Column, Detail: "a patch must be an object, not " + root.Shape.String()}
	}
	var report problem.Report
	report.Duplicates(duplicates)
	p := &Patch{null: map[string]bool{}, places: map[string]tree.Place{}}
	for _, m := range root.Members {
		p.places[m.Name] = m.Place
		p.null[m.Name] = m.Value.Shape == tree.Null
	}
	if labels := root.Get("labels"); labels != nil && labels.Shape == tree.Object {
		kept := labels.Members[:0]
		for _, m := range labels.Members {
			if m.Value.Shape == tree.Null {
				p.labels = append(p.labels, m.Name)
				continue
			}
			kept = append(kept, m)
		}
		labels.Members = kept
	}
	schema.NewDecoder(&report, schema.DecodeOptions{}).Fields(root, &p.set, "metadata")
	if err := report.Err(); err != nil {
		return nil, err
	}
	p.redact()
	return p, nil
}

// redact removes secrets, which a run never shows.
func (p *Patch) redact() {
	set := redact.NewSet()
	for _, text := range []*string{p.set.Name, p.set.Notes} {
		if text != nil {
			*text = set.String(*text)
		}
	}
	if p.set.Labels == nil {
		return
	}
	clean := make(schema.Labels, len(*p.set.Labels))
	for name, text := range *p.set.Labels {
		if redact.SensitiveName(name) && text != "" {
			text = redact.Placeholder
		}
		clean[set.String(name)] = set.String(text)
	}
	p.set.Labels = &clean
}

// Apply changes a run. The error is [run.ErrNotQueued], or *problem.Invalid with what the
// run cannot have; then the run must be discarded.
func (p *Patch) Apply(r *run.Run) error {
	given := func(name string) bool { _, ok := p.places[name]; return ok }
	if given("priority") && r.State != bench.StateQueued {
		return run.ErrNotQueued
	}
	var report problem.Report
	for _, name := range []string{"pinned", "priority", "ttl"} {
		if given(name) && r.Cell != nil {
			report.Fail(p.places[name], problem.CodeConflict, "%s: run %s is part of study %s; change the study", name, r.ID, r.Cell.ParentID)
		}
	}
	assign(&r.Name, p.set.Name, p.null["name"])
	assign(&r.Notes, p.set.Notes, p.null["notes"])
	assign(&r.Pinned, p.set.Pinned, p.null["pinned"])
	assign(&r.Priority, p.set.Priority, p.null["priority"])
	var ttl *time.Duration
	if p.set.TTL != nil {
		ttl = new(p.set.TTL.Duration())
	}
	assign(&r.TTL, ttl, p.null["ttl"])
	r.Labels = p.merged(r.Labels)
	if len(r.Labels) > schema.MaxLabels {
		report.Fail(p.places["labels"], problem.CodeOutOfRange,
			"labels: the run would have %d; at most %d are allowed", len(r.Labels), schema.MaxLabels)
	}
	return report.Err()
}

// assign sets a field to the value of a patch, or to its zero value if the patch removes it.
func assign[T any](field, given *T, null bool) {
	switch {
	case given != nil:
		*field = *given
	case null:
		*field = *new(T)
	}
}

// merged returns the labels of a run after the patch. It does not change them.
func (p *Patch) merged(before map[string]string) map[string]string {
	after := make(map[string]string, len(before))
	if !p.null["labels"] {
		maps.Copy(after, before)
	}
	for _, name := range p.labels {
		delete(after, name)
	}
	if p.set.Labels != nil {
		maps.Copy(after, *p.set.Labels)
	}
	return after
}

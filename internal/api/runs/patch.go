package runs

import (
	"errors"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/run"
)

// Update changes what users may change of a run.
//
//	@Summary		Change a run
//	@Description	A JSON merge patch (RFC 7396): members that are absent stay, null removes. The change is stored before the response is sent. Runs of other tokens need the scope admin.
//	@Tags			runs
//	@Accept			application/merge-patch+json
//	@Param			If-Match	header		string		false	"ETag that the run must have"
//	@Param			patch		body		wire.Patch	true	"What changes"
//	@Success		200			{object}	wire.Run
//	@Header			200			{string}	ETag	"Revision of the run"
//	@Failure		400,409,412,413,415,422,503			{object}	wire.Problem
//	@Router			/api/runs/{id} [patch]
func (h *Handler) Update(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Find.Run(w, r)
	if err != nil {
		return err
	}
	if err := access.Of(r.Context()).AdmitOwner(found.SubmittedBy); err != nil {
		return err
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != PatchType {
		return &respond.Failure{
			Err: respond.ErrMediaType, Header: map[string]string{"Accept-Patch": PatchType},
			Detail: "Content-Type " + strconv.Quote(r.Header.Get("Content-Type")) + " is not supported; send " + PatchType,
		}
	}
	body, err := h.readBody(w, r, h.orders)
	if err != nil {
		return err
	}
	patch, err := readPatch(body.Data)
	body.release()
	if err != nil {
		return patchFault(err)
	}
	updated, err := h.Engine.Update(r.Context(), found.ID, func(now *run.Run) error {
		if err := matched(r, now); err != nil {
			return err
		}
		return patch.apply(now)
	})
	if err != nil {
		return patchFault(err)
	}
	return h.writeChanged(w, r, http.StatusOK, updated, 0)
}

// patchFault turns an error of a patch into one of the table.
func patchFault(err error) error {
	if malformed, ok := errors.AsType[*config.Malformed](err); ok {
		return malformedBody(malformed)
	}
	if invalid, ok := errors.AsType[*problem.Invalid](err); ok {
		return &respond.Failure{
			Err: respond.ErrInvalid, Detail: "The patch is not valid; it may have " + patchMembers,
			Errors: faults(invalid.Problems),
		}
	}
	return err
}

// matched checks the If-Match of a request against a run.
func matched(r *http.Request, found *run.Run) error {
	wanted := r.Header.Values("If-Match")
	if slices.Contains(wanted, "") {
		return respond.Fail(respond.ErrParameter, "If-Match is empty; it needs an ETag or *")
	}
	if len(wanted) > 0 && !respond.Tagged(wanted, revisionTag(found)) {
		return respond.ErrPrecondition
	}
	return nil
}

// PatchType is the media type of a JSON merge patch (RFC 7396).
const PatchType = "application/merge-patch+json"

// patchMembers names the members of a patch.
const patchMembers = "name, labels, notes, pinned, priority and ttl"

// members are the members of a patch. Their limits are those of a document's metadata.
type members struct {
	Name     *string         `json:"name"`
	Labels   *schema.Labels  `json:"labels"`
	Notes    *string         `json:"notes"`
	Pinned   *bool           `json:"pinned"`
	Priority *int            `json:"priority"`
	TTL      *schema.Seconds `json:"ttl"`
}

// patch is a valid merge patch.
type patch struct {
	set    members
	null   map[string]bool // members that are removed
	labels []string        // labels that are removed
	places map[string]tree.Place
}

// readPatch reads a patch. The error is *tree.Malformed or *problem.Invalid, with all problems.
func readPatch(data []byte) (*patch, error) {
	root, duplicates, err := tree.Parse(data, tree.JSON, tree.MaxValues)
	if err != nil {
		return nil, err
	}
	if root.Shape != tree.Object {
		return nil, &tree.Malformed{Line: root.Line, Column: root.Column, Detail: "a patch must be an object, not " + root.Shape.String()}
	}
	var report problem.Report
	report.Duplicates(duplicates)
	p := &patch{null: map[string]bool{}, places: map[string]tree.Place{}}
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
func (p *patch) redact() {
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

// apply changes a run. The error is [run.ErrNotQueued], or *problem.Invalid with what the
// run cannot have; then the run must be discarded.
func (p *patch) apply(r *run.Run) error {
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
func (p *patch) merged(before map[string]string) map[string]string {
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

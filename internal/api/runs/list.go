package runs

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/run"
)

// ListParameters are the parameters of GET /api/runs.
func ListParameters() []string {
	return []string{
		"state", "label", "model", "target", "q", "kind", "parent_id", "include", "created_after", "created_before", "sort", "limit", "cursor",
		"detail",
	}
}

const maxPage = 500

// List lists runs.
//
//	@Summary	List runs
//	@Tags		runs
//	@Param		state			query		string		false	"States, separated by commas"
//	@Param		label			query		[]string	false	"name=value, name, or !name; may be repeated"	collectionFormat(multi)
//	@Param		model			query		string		false	"Model name"
//	@Param		target			query		string		false	"Target URL"
//	@Param		q				query		string		false	"Text in the name or the notes"
//	@Param		kind			query		string		false	"Only runs, or only sweeps"	Enums(run,sweep)
//	@Param		parent_id		query		string		false	"Id of a study: its cells"
//	@Param		include			query		string		false	"children: list the cells of studies, too"
//	@Param		created_after	query		string		false	"RFC 3339 time"	format(date-time)
//	@Param		created_before	query		string		false	"RFC 3339 time"	format(date-time)
//	@Param		sort			query		string		false	"created_at, started_at, ended_at, name, duration, or one of these members of the summary: request_throughput_per_sec, output_token_throughput_per_sec, goodput_per_sec, error_rate_percent, time_to_first_token_p50_ms, time_to_first_token_p99_ms, inter_token_latency_p99_ms, request_latency_p50_ms, request_latency_p99_ms. Then only runs that have the number are listed. A leading minus sign reverses the order"
//	@Param		limit			query		integer		false	"Maximum number of runs per page"	minimum(1)	maximum(500)
//	@Param		cursor			query		string		false	"next_cursor of the previous page"
//	@Param		detail			query		string		false	"brief: without what is in the files of the runs (metrics, artifacts, progress of runs that have ended), warnings, the windows of the summary, and what the verdict on the client is based on"	Enums(full,brief)
//	@Success	200				{object}	wire.RunList
//	@Header		200				{string}	Link	"Next page"
//	@Header		200				{string}	ETag	"Changes with the list"
//	@Success	304
//	@Failure	400	{object}	wire.Problem
//	@Router		/api/runs [get]
func (h *Handler) List(w http.ResponseWriter, r *http.Request) error {
	query, err := parseQuery(r.URL.Query())
	if err != nil {
		return err
	}
	return h.writeList(w, r, query)
}

// Children lists the cells of a study, oldest first.
//
//	@Summary	List the cells of a study
//	@Tags		runs
//	@Param		limit	query		integer	false	"Maximum number of runs per page"	minimum(1)	maximum(500)
//	@Param		cursor	query		string	false	"next_cursor of the previous page"
//	@Param		detail	query		string	false	"brief: as for the list of runs"	Enums(full,brief)
//	@Success	200		{object}	wire.RunList
//	@Header		200		{string}	Link	"Next page"
//	@Header		200		{string}	ETag	"Changes with the list"
//	@Success	304
//	@Failure	400	{object}	wire.Problem
//	@Router		/api/runs/{id}/children [get]
func (h *Handler) Children(w http.ResponseWriter, r *http.Request) error {
	query, err := parseQuery(r.URL.Query())
	if err != nil {
		return err
	}
	parent, err := h.Find.Run(w, r)
	if err != nil {
		return err
	}
	query.Parent, query.TopLevel, query.Sort = parent.ID, false, run.SortCreated
	return h.writeList(w, r, query)
}

// writeList answers with a page of runs.
func (h *Handler) writeList(w http.ResponseWriter, r *http.Request, query run.Query) error {
	read := h.Resource
	switch detail := r.URL.Query().Get("detail"); detail {
	case "", "full":
	case "brief":
		read = h.brief
	default:
		return respond.Fail(respond.ErrParameter, "detail must be full or brief, not %q", detail)
	}
	out, err := h.listOf(r.Context(), query, read)
	if err != nil {
		return err
	}
	if out.NextCursor != nil {
		params := r.URL.Query()
		params.Set("cursor", *out.NextCursor)
		w.Header().Set("Link", "<"+r.URL.Path+"?"+params.Encode()+`>; rel="next"`)
	}
	body, err := plainjson.Marshal(out)
	if err != nil {
		return err
	}
	h.Out.WriteTagged(w, r, "W/"+respond.BodyTag(body), body)
	return nil
}

// ListOf returns a page of runs.
func (h *Handler) ListOf(ctx context.Context, query run.Query) (wire.RunList, error) {
	return h.listOf(ctx, query, h.Resource)
}

// listOf returns a page of runs as read makes them.
func (h *Handler) listOf(ctx context.Context, query run.Query, read func(context.Context, *run.Run) (wire.Run, error)) (wire.RunList, error) {
	page, err := h.Engine.List(ctx, query)
	if err != nil {
		return wire.RunList{}, err
	}
	out := wire.RunList{Items: make([]wire.Run, 0, len(page.Runs)), Total: page.Total}
	for i := range page.Runs {
		item, err := read(ctx, &page.Runs[i])
		if err != nil {
			return wire.RunList{}, err
		}
		item.Links = nil
		out.Items = append(out.Items, item)
	}
	if page.Next != "" {
		out.NextCursor = &page.Next
	}
	return out, nil
}

// parseQuery reads the parameters of a list.
func parseQuery(params url.Values) (run.Query, error) {
	q := run.Query{
		Model: params.Get("model"), Target: params.Get("target"), Text: params.Get("q"), Cursor: params.Get("cursor"),
	}
	var err error
	if err := parseStudy(params, &q); err != nil {
		return q, err
	}
	if q.States, err = parseStates(params.Get("state")); err != nil {
		return q, err
	}
	for _, text := range params["label"] {
		f, err := parseLabel(text)
		if err != nil {
			return q, err
		}
		q.Labels = append(q.Labels, f)
	}
	if q.CreatedAfter, err = parseTime(params, "created_after"); err != nil {
		return q, err
	}
	if q.CreatedBefore, err = parseTime(params, "created_before"); err != nil {
		return q, err
	}
	if q.Sort, q.Descending, err = parseSort(params.Get("sort")); err != nil {
		return q, err
	}
	if text := params.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > maxPage {
			return q, respond.Fail(respond.ErrParameter, "limit must be a whole number from 1 to %d, not %q", maxPage, text)
		}
	}
	return q, nil
}

// parseStudy reads the parameters about studies and their cells.
func parseStudy(params url.Values, q *run.Query) error {
	q.Kind, q.Parent, q.TopLevel = run.Kind(params.Get("kind")), params.Get("parent_id"), params.Get("parent_id") == ""
	switch q.Kind {
	case "", run.KindRun, run.KindSweep:
	default:
		return respond.Fail(respond.ErrParameter, "kind must be run or sweep, not %q", string(q.Kind))
	}
	switch include := params.Get("include"); include {
	case "":
	case "children":
		q.TopLevel = false
	default:
		return respond.Fail(respond.ErrParameter, "include must be children, not %q", include)
	}
	return nil
}

func parseStates(text string) ([]bench.State, error) {
	if text == "" {
		return nil, nil
	}
	all := []bench.State{
		bench.StateQueued, bench.StateStarting, bench.StateRunning, bench.StateStopping, bench.StateExporting,
		bench.StateCompleted, bench.StateCancelled, bench.StateFailed,
	}
	var out []bench.State
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(all, bench.State(name)) {
			return nil, respond.Fail(respond.ErrParameter, "Unknown state %q", name)
		}
		out = append(out, bench.State(name))
	}
	return out, nil
}

// parseLabel reads name=value, name, !name or !name=value. A colon is most likely meant as
// the equals sign, so a name with one needs a value.
func parseLabel(text string) (run.LabelFilter, error) {
	rest, not := strings.CutPrefix(text, "!")
	name, value, exact := strings.Cut(rest, "=")
	if name == "" {
		return run.LabelFilter{}, respond.Fail(respond.ErrParameter, "label %q has no name", text)
	}
	if before, after, colon := strings.Cut(name, ":"); colon && !exact {
		return run.LabelFilter{}, respond.Fail(respond.ErrParameter, "label must be name=value, name, !name or !name=value, not %q; did you mean %q?", text, before+"="+after)
	}
	return run.LabelFilter{Name: name, Value: value, AnyValue: !exact, Not: not}, nil
}

func parseTime(params url.Values, name string) (time.Time, error) {
	text := params.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, respond.Fail(respond.ErrParameter, "%s must be an RFC 3339 time, not %q", name, text)
	}
	return t, nil
}

func parseSort(text string) (run.Sort, bool, error) {
	if text == "" {
		return run.SortDefault, false, nil
	}
	name, descending := strings.CutPrefix(text, "-")
	known := append(run.SummarySorts(), run.SortCreated, run.SortStarted, run.SortEnded, run.SortName, run.SortDuration)
	if !slices.Contains(known, run.Sort(name)) {
		return "", false, respond.Fail(respond.ErrParameter, "Unknown sort key %q", text)
	}
	return run.Sort(name), descending, nil
}

package export

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/view"
)

// headlineLines is the maximum number of lines of the headline without the load.
const headlineLines = 13

// SaturatedCode is the code of the warning that the server did not keep up with the
// load. It is printed first.
const SaturatedCode = "saturated"

// headline prints a summary of about twelve lines.
func (p *page) headline(r *Report) {
	measured := count(r, "request_count") > 0
	p.line("")
	p.entry("", "Load", p.load(r), 2)
	from := p.lines()
	p.requests(r)
	if measured {
		p.throughput(r)
		steady(p, r)
		p.latencies(r)
		p.speculation(r)
		p.agents(r)
		p.goodput(r)
		p.runSLOs(r)
		if c := r.PrefixCache(); c != nil && c.State != verdict.Cold && r.Agents == nil { // which has its own line
			p.entry("", "Cache", c.Message, 0)
		}
		before := p.lines()
		p.servers(r)
		p.gpus(r)
		p.path(r)
		p.serverSpans(r)
		from += p.lines() - before // they take no room from the warnings
		p.workers(r.Cluster)
		p.clientReport(r)
	} else {
		p.entry(red, "Result", "no latency or throughput to report: no request succeeded", 0)
	}
	p.validity(r)
	p.warnings(r, headlineLines-1-(p.lines()-from))
	p.folder()
}

// folder prints the folder of the files and, if there is room, the name of the full
// report.
func (p *page) folder() {
	if p.opts.Folder == "" {
		return
	}
	text := p.opts.Folder
	if hint := " (full report: " + p.opts.ReportFile + ")"; p.opts.ReportFile != "" && headlineIndent+view.Width(text+hint) <= p.width {
		text += hint
	}
	p.entry("", "Files", text, 0)
}

// load returns the load, the endpoint, the models and the servers.
func (p *page) load(r *Report) string {
	parts := []string{r.Load}
	endpoint := r.Endpoint
	if r.Streaming {
		endpoint += " streaming"
	}
	parts = append(parts, endpoint, strings.Join(r.Models, " and "))
	if len(r.Targets) > 0 {
		parts = append(parts, strings.Join(r.Targets, " and "))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// requests prints how many requests succeeded and failed, and the most frequent error.
func (p *page) requests(r *Report) {
	ok, failed, cancelled := count(r, "request_count"), count(r, "error_request_count"), count(r, "cancelled_request_count")
	text := fmt.Sprintf("%s ok, %s failed", view.Whole(ok), view.Whole(failed))
	if failed > 0 {
		text += fmt.Sprintf(" (%s)", view.Percent(float64(failed)/float64(ok+failed)))
	}
	if cancelled > 0 {
		text += fmt.Sprintf(", %s cancelled", view.Whole(cancelled))
	}
	tested := count(r, "cancelled_by_test_count")
	if tested > 0 {
		text += fmt.Sprintf(", %s cancelled by test", view.Whole(tested))
	}
	if r.Expected > 0 && ok+failed+cancelled+tested < r.Expected {
		text += fmt.Sprintf(", of %s", view.Whole(r.Expected))
	}
	if r.Results.Truncated() {
		text += fmt.Sprintf(" (truncated: %s still running at the end)", view.Whole(count(r, "unfinished_at_end")))
	}
	if r.Duration > 0 {
		text += fmt.Sprintf(" in %.2f s", r.Duration.Seconds())
	}
	s := style("")
	if failed > 0 {
		s = red
	}
	p.entry(s, "Requests", text, 0)
	if len(r.Errors) == 0 {
		return
	}
	g := &r.Errors[0]
	d := describeError(g.Class, g.Status, g.Example)
	kind := d.Type
	if d.Code != 0 {
		kind = fmt.Sprintf("%d %s", d.Code, d.Type)
	}
	text = fmt.Sprintf("%s x %s: %s", view.Whole(g.Count), kind, shorten(d.Message))
	if n := len(r.Errors) - 1; n > 0 {
		text += fmt.Sprintf(" (%s%s)", view.Plural(n, "more kind"), p.where())
	}
	p.entry("", "Errors", text, 0)
}

// where says where a report has what the headline lacks; empty if that is not known.
func (p *page) where() string {
	switch {
	case p.opts.Detail == Full:
		return " above"
	case p.opts.ReportFile != "":
		return " in " + p.opts.ReportFile
	}
	return ""
}

// throughput prints the rates of the endpoint type.
func (p *page) throughput(r *Report) {
	var rates []string
	tokens := r.Results.Find("output_token_throughput") != nil
	for _, m := range []struct{ tag, unit string }{
		{"request_throughput", "req/s"},
		{"output_token_throughput", "output tok/s"},
		{"item_throughput", "items/s"},
		{"generated_image_throughput", "images/s"},
		{"input_token_throughput", "input tok/s"},
	} {
		if tokens && m.tag == "input_token_throughput" {
			continue // less important than the output
		}
		if v, ok := r.Results.Value(m.tag, metric.Avg); ok {
			rates = append(rates, view.Figure(v)+" "+m.unit)
		}
	}
	if len(rates) > 0 {
		p.entry("", "Throughput", strings.Join(rates, ", "), 0)
	}
}

// speculation prints how well speculative decoding did, if servers report it.
func (p *page) speculation(r *Report) {
	length, ok := r.Results.Value("spec_decode_token_weighted_acceptance_length", metric.Avg)
	if !ok {
		return
	}
	text := view.Figure(length) + " tokens per step"
	if rate, ok := r.Results.Value("spec_decode_overall_draft_acceptance_rate", metric.Avg); ok {
		text += ", " + view.Figure(rate) + " % of draft tokens accepted"
	}
	p.entry("", "Speculation", text, 0)
}

// headlineName is the short name of a metric.
func headlineName(d *catalogue.Def) string {
	switch d.Tag {
	case "request_latency":
		return "Latency"
	case "video_inference_time":
		return "Inference"
	}
	return cmp.Or(d.Short, d.Header)
}

// headlineStats are the columns of the small table.
var headlineStats = [...]metric.Stat{metric.P50, metric.P90, metric.P99}

// headlineLatencies are the metrics of the small table.
func headlineLatencies() []string {
	return []string{
		"time_to_first_token", "lower_bound_time_to_first_token", "time_to_first_image", "inter_token_latency", "request_latency", "lower_bound_request_latency", "video_inference_time", "rtfx",
	}
}

// latencyCell is the width of a column of the small table.
const latencyCell = 12

// latencies prints a small table of the latencies of the endpoint type.
func (p *page) latencies(r *Report) {
	var rows []string
	var stars []star
	for _, tag := range headlineLatencies() {
		result := r.Results.Find(tag)
		if result == nil || strings.HasPrefix(tag, "lower_bound_") && !r.Results.Truncated() {
			continue
		}
		label := headlineName(result.Def)
		if result.Def.Unit == "ms" {
			label += " ms"
		}
		withheld := r.Stream != nil && r.Stream.Withheld[tag].Reason != ""
		row, starred := p.latencyRow(label, result, withheld)
		rows = append(rows, row...)
		stars = append(stars, starsOf(headlineName(result.Def), result, starred)...)
		if due := r.Results.Find("corrected_" + tag); due != nil && r.waited() {
			row, starred = p.latencyRow("from due time", due, withheld)
			rows = append(rows, row...)
			stars = append(stars, starsOf(headlineName(result.Def)+" from due time", due, starred)...)
		}
	}
	if len(rows) == 0 {
		return
	}
	head := strings.Repeat(" ", headlineIndent)
	for _, stat := range headlineStats {
		head += fmt.Sprintf("%*s", latencyCell, stat)
	}
	if len(stars) > 0 {
		const long, short = "  (* too few independent requests)", "  (* too few)"
		if len(head)+len(long) <= p.width {
			head += long
		} else if len(head)+len(short) <= p.width {
			head += short
		}
	}
	p.line(p.paint(bold, head))
	for _, row := range rows {
		p.line(row)
	}
	p.alike(r, stars)
}

// star is a percentile of the small table that has too few independent requests.
type star struct {
	name        string // of the percentile
	count       int64  // of requests
	independent float64
}

// starsOf returns the stars of a row.
func starsOf(label string, m *metric.Result, of []metric.Stat) []star {
	var out []star
	for _, stat := range of {
		out = append(out, star{fmt.Sprintf("%s %s", label, stat), m.Count, m.Confidence.Independent(stat)})
	}
	return out
}

// latencyRow returns a row of the small table, and which percentiles have a star; none if the
// metric has none of the statistics.
func (p *page) latencyRow(label string, m *metric.Result, withheld bool) (row []string, starred []metric.Stat) {
	cells, empty := "", true
	for _, stat := range headlineStats {
		text := p.sign("–", "-")
		if v, ok := m.Get(stat); ok {
			empty = false
			text = view.Figure(v)
			if !m.Confidence.Supported(stat) {
				text, starred = text+"*", append(starred, stat)
			}
		}
		if withheld {
			text, starred = "withheld", nil
		}
		cells += fmt.Sprintf("%*s", latencyCell, text)
	}
	if empty {
		return nil, nil
	}
	over := min(max(0, len(label)+1-headlineIndent), latencyCell/2) // of the first cell, which is not full
	return []string{p.paint(bold, fmt.Sprintf("%-*s", headlineIndent+over, label)) + cells[over:]}, starred
}

// alike says of the percentile with the fewest independent requests what a large sample of
// requests that are alike is worth.
func (p *page) alike(r *Report, stars []star) {
	const many, half = 100, 0.5
	stars = slices.DeleteFunc(stars, func(s star) bool { return s.count < many || s.independent >= half*float64(s.count) })
	if len(stars) == 0 {
		return
	}
	least := slices.MinFunc(stars, func(a, b star) int { return cmp.Compare(a.independent, b.independent) })
	text := fmt.Sprintf("* consecutive requests are alike: for %s, %s are worth %s", least.name, view.Whole(least.count), view.Whole(int64(max(1, least.independent))))
	if least.independent < 2 {
		text += " independent one"
	} else {
		text += " independent ones"
	}
	if r.Saturation == nil || !r.Saturation.Saturated { // the queue grows for as long as the run lasts
		text += "; a longer run has more"
	}
	p.entry("", "", text, 0)
}

// waited reports whether arrivals of an open loop waited for a slot, so that latencies from
// the start of requests do not include all that users waited.
func (r *Report) waited() bool {
	for i := range r.Phases {
		if s := &r.Phases[i].Stats; s.Kind == bench.Profiling && s.Arrivals.Waited > 0 {
			return true
		}
	}
	return false
}

// steady prints the throughput without the beginning and the end of the load.
func steady(p *page, r *Report) {
	for _, w := range r.Windows() {
		if w.Name != measure.SteadyWindow || w.Absent {
			continue
		}
		text := ""
		if v, ok := w.Results.Value("request_throughput", metric.Avg); ok {
			text = view.Figure(v) + " req/s"
		}
		if v, ok := w.Results.Value("output_token_throughput", metric.Avg); ok {
			text += ", " + view.Figure(v) + " output tok/s"
		}
		text += fmt.Sprintf(" in %s s of %s s", view.Figure(w.End.Sub(w.Start).Seconds()), view.Figure(r.Duration.Seconds()))
		if doubt := w.Trend.Doubt(); doubt != "" {
			text += "; " + doubt
		}
		p.entry("", "Steady", text, 0)
	}
}

// goodput prints how many requests met the objectives.
func (p *page) goodput(r *Report) {
	if len(r.SLOs.Requests) == 0 {
		return
	}
	text := "none"
	if v, ok := r.Results.Value("good_request_fraction", metric.Avg); ok {
		text = view.Percent(v)
	}
	if v, ok := r.Results.Value("goodput", metric.Avg); ok {
		text += " (" + view.Figure(v) + " req/s)"
	}
	text += " met "
	for i, tag := range slices.Sorted(maps.Keys(r.SLOs.Requests)) {
		if i > 0 {
			text += ", "
		}
		def, ok := catalogue.Lookup(tag)
		if !ok {
			continue
		}
		relation := p.sign("≤", "<=")
		if def.Flags&catalogue.LargerIsBetter != 0 {
			relation = p.sign("≥", ">=")
		}
		text += fmt.Sprintf("%s %s %s", headlineName(def), relation, strings.TrimSuffix(fmt.Sprintf("%v %s", r.SLOs.Requests[tag], def.Unit), " ratio"))
		if v, ok := r.Results.Value("slo_attainment."+tag, metric.Avg); ok && len(r.SLOs.Requests) > 1 {
			text += " (" + view.Percent(v) + ")"
		}
	}
	p.entry("", "Goodput", text, 0)
}

// runSLOs prints the outcome of each objective of the run.
func (p *page) runSLOs(r *Report) {
	for i := range r.SLOs.Run {
		s, label := green, ""
		if !r.SLOs.Run[i].Met {
			s = red
		}
		if i == 0 {
			label = "SLO"
		}
		p.entry(s, label, r.SLOs.Run[i].Line(), 0)
	}
}

// clientReport prints the verdict on the load generator with its reason.
func (p *page) clientReport(r *Report) {
	c := r.Client
	if c == nil {
		return
	}
	s, text := verdictStyle(c.Verdict), c.Line()
	if c.Verdict == verdict.OK {
		s = green
	}
	if advice := c.Advice(); advice != "" {
		text = advice // whole: it ends with the remedy
	}
	p.entry(s, "Client", text, 0)
	if c.Certificate != nil {
		p.entry("", "Certified", c.Certificate.Line(), 0)
	}
}

// validity prints whether the result counts for its scenario, and if not, every reason.
func (p *page) validity(r *Report) {
	v := r.Validity
	if v == nil {
		return
	}
	if v.Valid {
		p.entry(green, "Scenario", v.Line(), 0)
		return
	}
	p.entry(red, "Scenario", v.Line(), 0)
	for _, c := range v.Checks {
		if !c.OK {
			p.entry("", "", c.ID+": "+c.Text(), 0)
		}
	}
}

// NotValid is the code of the warning about a result that does not count for its scenario.
const NotValid = "not-valid"

// warnings prints the most important warnings, as many as fit on room lines, but at least
// one, and how many are left. Each is printed whole, since many end with the remedy. Warnings
// that repeat other lines of the headline are omitted.
func (p *page) warnings(r *Report, room int) {
	notes := slices.DeleteFunc(slices.Clone(r.Warnings), func(n bench.Warning) bool {
		return strings.HasPrefix(n.Code, "client-") || n.Code == "request-errors" || n.Code == NotValid || r.onlyWithholds(n)
	})
	switch {
	case r.Cancelled:
		notes = append(notes, bench.Warning{Code: cancelledNote, Detail: "the run was cancelled: the results are partial"})
	case !r.Complete && count(r, "request_count") > 0:
		notes = append(notes, bench.Warning{Code: incompleteCode, Detail: incompleteText(r)})
	}
	slices.SortStableFunc(notes, func(a, b bench.Warning) int { return cmp.Compare(noteRank(a), noteRank(b)) })
	shown, taken := 0, 0
	for shown < len(notes) && (shown == 0 || taken < room) {
		taken += p.entryLines(notes[shown].Detail)
		shown++
	}
	if left := len(notes) - shown; left > 0 {
		notes[shown-1].Detail += fmt.Sprintf(" (%d more%s)", left, p.where())
	}
	for _, n := range notes[:shown] {
		name, s := "Warning", yellow
		switch rank := noteRank(n); {
		case rank == remarkRank:
			name, s = "Note", ""
		case rank < len(noteOrder):
			s = red
		}
		p.entry(s, name, n.Detail, 0)
	}
}

// onlyWithholds reports whether a warning is about the pieces in which streams arrived, and no
// metric that they make meaningless is in the headline or has an objective.
func (r *Report) onlyWithholds(n bench.Warning) bool {
	if r.Stream == nil || n.Code != "stream-"+string(verdict.Batched) && n.Code != "stream-"+string(verdict.Coalesced) {
		return false
	}
	for tag := range r.Stream.Withheld {
		_, good := r.SLOs.Requests[tag]
		judged := slices.ContainsFunc(r.SLOs.Run, func(o metric.SLOResult) bool { return o.Metric == tag })
		if good || judged || slices.Contains(headlineLatencies(), tag) {
			return false
		}
	}
	return true
}

// Codes of warnings that are red; the headline makes the last two itself.
const (
	cutCode        = "cut-by-grace" // made by the engine
	incompleteCode = "incomplete"
	cancelledNote  = "cancelled"
)

// noteOrder lists the most important warnings, in order.
var noteOrder = [...]string{SaturatedCode, cutCode, incompleteCode, cancelledNote}

// remarks lists the warnings that do not affect results.
var remarks = [...]string{"same-host", "offered-rate", "http2", "tokenizer-builtin", "isl-calibrated"}

// remarkRank is the rank of remarks: they come last.
const remarkRank = len(noteOrder) + 1

// Remark reports whether a warning does not affect results: people read Note in place of
// Warning.
func Remark(code string) bool { return slices.Contains(remarks[:], code) }

// noteRank orders notes; those that are in neither list are equal.
func noteRank(n bench.Warning) int {
	if i := slices.Index(noteOrder[:], n.Code); i >= 0 {
		return i
	}
	if Remark(n.Code) {
		return remarkRank
	}
	return len(noteOrder)
}

// incompleteText returns the warning that requests are missing from the results.
func incompleteText(r *Report) string {
	text := "INCOMPLETE RESULTS: not comparable with complete runs"
	if r.Reason != "" {
		text = "INCOMPLETE RESULTS: " + view.Printable(r.Reason) + "; not comparable with complete runs"
	}
	return text
}

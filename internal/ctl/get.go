package ctl

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aiperfd/internal/client"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
	"aiperfd/internal/view"
)

func getCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Show a run",
		Args:  cobra.ExactArgs(1),
		RunE: g.online([]string{formatJSON, formatYAML, formatName}, func(ctx context.Context, s *session, args []string) error {
			r, err := s.find(ctx, args[0])
			if err != nil {
				return err
			}
			return printRun(s, r)
		}),
	}
	completeRuns(g, cmd, false)
	return cmd
}

// find returns a run by its id, the beginning of it, or a name.
func (s *session) find(ctx context.Context, name string) (*client.Run, error) {
	id, err := s.Resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.Run(ctx, id)
}

// printRun prints a run.
func printRun(s *session, r *client.Run) error {
	if done, err := s.printed(s.out, r.JSON, r.ID); done {
		return err
	}
	return printFields(s.out, widthOf(s.cmd), describe(r, time.Now()))
}

// describe returns what people want to know of a run.
func describe(r *client.Run, now time.Time) []field {
	state := stateOf(r)
	if r.StateReason != "" {
		state += ": " + r.StateReason
	}
	kind := string(r.Kind)
	if r.ParentID != nil {
		kind += " of study " + *r.ParentID
	}
	out := []field{
		{"Id", r.ID},
		{"Name", nameOf(r)},
		{"Labels", strings.Join(labelList(r.Labels), "\n")},
		{"Notes", r.Notes},
		{"Kind", kind},
		{"State", state},
		{"Submitted", submitted(r, now)},
		{"Started", stamp(r.StartedAt)},
		{"Ended", stamp(r.EndedAt)},
		{"Took", durationOf(r, now)},
		{"Models", strings.Join(r.Models, "\n")},
		{"Targets", strings.Join(r.Targets, "\n")},
		{"Endpoint", r.Endpoint},
		{"Load", loadOf(r)},
	}
	if r.Pinned {
		out = append(out, field{"Pinned", "yes: neither retention nor delete removes it"})
	}
	if r.Error != nil {
		out = append(out, field{"Error", fmt.Sprintf("%s: %s", r.Error.Code, r.Error.Message)})
	}
	if p := r.Progress; p != nil && !r.State.Terminal() {
		out = append(out, field{"Progress", progressText(r)})
	}
	out = append(out, summaryFields(r)...)
	for _, w := range r.Warnings {
		if r.Client != nil && strings.Contains(verdict.Why(verdict.Decisive(r.Client.Reasons)), w.Detail) {
			continue // the field Client has it
		}
		name := "Warning"
		if export.Remark(w.Code) {
			name = "Note"
		}
		out = append(out, field{name, w.Code + ": " + w.Detail})
	}
	if r.Artifacts.Ready {
		out = append(out, field{"Files", fmt.Sprintf("%d, %s", r.Artifacts.Count, size(r.Artifacts.Bytes))})
	}
	return out
}

func submitted(r *client.Run, now time.Time) string {
	text := fmt.Sprintf("%s (%s ago), by %s", stamp(&r.CreatedAt), age(now.Sub(r.CreatedAt)), r.Via)
	if r.SubmittedBy != "" {
		text += " with the token " + r.SubmittedBy
	}
	return text
}

// loadOf returns the load that a run asks for, in a line for each phase; empty for a study, whose runs have one each.
func loadOf(r *client.Run) string {
	if r.Kind == run.KindSweep {
		return ""
	}
	var out []string
	if len(r.Loads) > 1 {
		for _, l := range r.Loads {
			out = append(out, l.Phase+": "+l.Load)
		}
		return strings.Join(out, "\n")
	}
	if r.Concurrency != nil {
		out = append(out, fmt.Sprintf("concurrency %d", *r.Concurrency))
	}
	if r.RequestRate != nil {
		out = append(out, view.FigureOr(r.RequestRate, "")+" requests/s")
	}
	return strings.Join(out, ", ")
}

// summaryFields returns the results of a run in a few lines.
func summaryFields(r *client.Run) []field {
	m := r.Summary
	if m == nil {
		return nil
	}
	requests := view.Plural(m.Requests, "request") + ", " + view.Plural(m.Errors, "error")
	if m.Cancelled > 0 {
		requests += fmt.Sprintf(", %d cancelled", m.Cancelled)
	}
	rate := join(", ", unit(m.RequestThroughput, "requests/s"), unit(m.OutputTokenThroughput, "output tokens/s"))
	percentile := func(name, member string, v *float64) string {
		if slices.Contains(m.Unsupported, member) {
			return labelled(name+" ", v, "* ms")
		}
		return labelled(name+" ", v, " ms")
	}
	out := []field{
		{"Requests", requests},
		{"Throughput", rate},
		{"TTFT", join(", ", percentile("p50", "time_to_first_token_p50_ms", m.TTFTP50), percentile("p99", "time_to_first_token_p99_ms", m.TTFTP99))},
		{"ITL", join(", ", labelled("avg ", m.ITLAvg, " ms"), percentile("p99", "inter_token_latency_p99_ms", m.ITLP99))},
		{"Latency", join(", ", percentile("p50", "request_latency_p50_ms", m.LatencyP50), percentile("p99", "request_latency_p99_ms", m.LatencyP99))},
	}
	if len(m.Unsupported) > 0 {
		out = append(out, field{"", "* too few independent requests"})
	}
	out = append(out, field{"Goodput", unit(m.Goodput, "requests/s")})
	for i := range m.SLOs {
		out = append(out, field{"Objective", m.SLOs[i].Line()})
	}
	if c := r.Client; c != nil {
		out = append(out, field{"Client", join(": ", string(c.Verdict), verdict.Why(verdict.Decisive(c.Reasons)))})
	}
	return out
}

// labelled returns a value between two texts, or nothing.
func labelled(before string, v *float64, after string) string {
	if v == nil {
		return ""
	}
	return before + view.FigureOr(v, "") + after
}

func unit(v *float64, name string) string { return labelled("", v, " "+name) }

// join joins the texts that are not empty.
func join(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), separator)
}

// labelList returns labels as name=value, ordered.
func labelList(labels map[string]string) []string {
	out := make([]string, 0, len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, name+"="+labels[name])
	}
	return out
}

// stamp formats a time of the daemon.
func stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// size formats a number of bytes.
func size(n int64) string {
	const step = 1024
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	v := float64(n)
	for v >= step && len(units) > 1 {
		v, units = v/step, units[1:]
	}
	if n < step {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[0])
}

package export

import (
	"io"
	"maps"
	"path"
	"slices"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plainjson"
)

// phaseManifest lists the phases of a run.
const phaseManifest = "phase_manifest.json"

// phaseOutputs returns the summaries of each phase and the list of them. A run of one
// phase has none: they would repeat its summary.
func phaseOutputs(r *Report) []output {
	if len(r.Phases) < 2 {
		return nil
	}
	var files []output
	for i := range r.Phases {
		p := &r.Phases[i]
		for _, f := range phaseFormats(r) {
			files = append(files, output{
				format: f.Name + " of phase " + p.Stats.Name, name: phaseFile(r, p, &f),
				write: func(w io.Writer) error { return f.Write(w, r.phase(p)) },
			})
		}
		for _, t := range phaseTelemetries(r, p) {
			if t.data != nil {
				files = append(files, output{
					format: t.about + " of phase " + p.Stats.Name, name: t.path(p),
					write: func(w io.Writer) error { return t.write(w, p) },
				})
			}
		}
	}
	return append(files, output{"phases", phaseManifest, func(w io.Writer) error { return writeManifest(w, r) }})
}

// phaseFormats returns the formats in which each phase has a file of its own.
func phaseFormats(r *Report) []Format {
	return slices.DeleteFunc(formatsOf(r), func(f Format) bool { return f.Phase == "" })
}

// phaseFile returns the name of a file of a phase. Names of phases are valid names of
// folders.
func phaseFile(r *Report, p *PhaseReport, f *Format) string {
	return path.Join(phaseFolder, p.Stats.Name, f.File(NamesFor(r.Layout.Prefix)))
}

// phase returns the report of a phase alone. It has no judgements, which are on the
// run.
func (r *Report) phase(p *PhaseReport) *Report {
	c := *r
	c.Results, c.Errors, c.Start, c.End, c.Duration = p.Results, p.Errors, p.Start, p.End, p.End.Sub(p.Start)
	c.Cancelled, c.Complete = p.Stats.End == bench.PhaseCancelled, p.Stats.End == bench.PhaseCompleted
	c.Warmup, c.Phases, c.Warnings, c.Client, c.Stream, c.Saturation, c.Server = nil, nil, nil, nil, nil, nil, nil
	c.Checks.Checked = nil
	return &c
}

// writeManifest writes phase_manifest.json. Like AIPerf's, its members are sorted.
func writeManifest(w io.Writer, r *Report) error {
	const version = 1
	list := []map[string]any{}
	for i := range r.Phases {
		p := &r.Phases[i]
		s := &p.Stats
		entry := p.identity()
		maps.Copy(entry, map[string]any{
			"successful_request_count": s.Records.Success, "error_request_count": s.Records.Errors,
			"total_request_count": s.Records.Success + s.Records.Errors, "error_summary": errorSummary(p.Errors),
		})
		for _, f := range phaseFormats(r) {
			entry[f.Phase] = phaseFile(r, p, &f)
		}
		for _, t := range phaseTelemetries(r, p) {
			entry[t.member] = t.path(p)
		}
		list = append(list, entry)
	}
	return plainjson.WriteIndent(w, map[string]any{"phases": list, "schema_version": version})
}

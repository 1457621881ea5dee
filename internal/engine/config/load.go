package config

import (
	"encoding/json"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/template"
	"aiperfd/internal/engine/config/tree"
)

// Load reads a document, fills in the defaults and checks everything. A document
// with problems gives *Invalid with all of them, text that is no document gives
// *Malformed. Warnings come with and without an error. The document does not
// keep data. Load reads the files of the API key, of a template and of the
// first record of a dataset, and checks that the other files exist.
func Load(data []byte, o LoadOptions) (*Document, []problem.Problem, error) {
	d, err := Read(data, o)
	if err != nil {
		return nil, nil, err
	}
	return d.Load()
}

// Load evaluates the templates, decodes and checks the draft and fills in the
// defaults, like [Load]. The draft cannot be used again.
func (d *Draft) Load() (*Document, []problem.Problem, error) {
	var unread *Draft
	if d.Root.Get("sweep") != nil || d.Root.Get("multiRun") != nil || d.Root.Get("repeats") != nil {
		unread = d.clone()
	}
	in := d.decode()
	checkDocument(in)
	fillDocument(in)
	checkFilled(in)
	hideMetadata(in)
	if in.Err() == nil && unread != nil {
		makeStudy(in, unread)
	}
	warnings := in.Warnings()
	if err := in.Err(); err != nil {
		return nil, warnings, err
	}
	return in.doc, warnings, nil
}

// Defaults decodes the draft and fills in the defaults without a check. The draft
// cannot be used again.
func (d *Draft) Defaults() *Document {
	in := d.decode()
	fillDocument(in)
	return in.doc
}

// Decode reads the draft into a document over the fixed defaults.
func (d *Draft) decode() *input {
	in := &input{
		Decoder: newDecoder(&d.Report, d.options, d.FlagFor != nil), options: d.options,
		flagFor: d.FlagFor, noSchedule: d.NoSchedule, doc: &Document{defaulted: d.inferred},
	}
	if in.doc.untrusted = d.options.Untrusted; in.doc.untrusted {
		in.doc.roots = d.options.DataRoots
	}
	schema.Fill(&in.doc.Benchmark, "benchmark")
	in.doc.MultiRun = sweep.NewMultiRun()
	if !d.options.Resolved && template.Render(d.Root, &d.Report) {
		d.Root = schema.Expand(d.Root, shorthandReporter{&d.Report}) // of what the templates made
	}
	nameCorpora(d)
	in.doc.scenario = layScenario(d)
	addLaneWarmups(d.Root)
	if b := d.Root.Get("benchmark"); b != nil && b.Get("cluster") != nil {
		in.doc.source = sourceOfParts(d.Root)
	}
	in.Options.IgnoreUnsupported = isTrue(d.Root.Get("ignoreUnsupported"))
	in.Document(d.Root, in.doc)
	in.doc.injected, in.doc.confidential = in.Injected, in.Confidential
	return in
}

// sourceOfParts returns the document of the parts of a run. It lacks what the controller alone does: it observes the
// servers, and judges the run.
func sourceOfParts(root *tree.Node) json.RawMessage {
	root = root.Clone()
	for _, name := range []string{"serverMetrics", "gpuTelemetry", "gates"} {
		root.Get("benchmark").Drop(name)
	}
	return root.JSON()
}

// newDecoder returns the decoder of a document, or of a part of it.
func newDecoder(r *problem.Report, o LoadOptions, byFlags bool) *schema.Decoder {
	return schema.NewDecoder(r, schema.DecodeOptions{
		Untrusted: o.Untrusted, Stored: o.Stored, Flags: byFlags, Lists: o.Choices.list,
		ServerOwned: []string{
			"benchmark.runtime", "benchmark.logging", "benchmark.client.strict",
			"benchmark.artifacts.dir", "benchmark.artifacts.overwrite",
		},
	})
}

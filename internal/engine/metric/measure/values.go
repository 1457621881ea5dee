package measure

import (
	"math"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/catalogue"
)

// RecordMetrics computes the metrics of single records: what a line about a record
// holds. It is not safe for concurrent use; the definitions must not be changed.
type RecordMetrics struct {
	values []*catalogue.Row // that have one value a record, in catalogue order
	lists  []*catalogue.Row // that have several
	view   catalogue.View
	list   []float64
}

// NewRecordMetrics returns the RecordMetrics of the metrics that make sense under o and are
// written for single records.
func NewRecordMetrics(o *Options) *RecordMetrics {
	const hidden = catalogue.Internal | catalogue.Experimental | catalogue.NoIndividualRecords
	p := &RecordMetrics{view: catalogue.View{Deadline: o.Deadline}}
	rows, run := catalogue.Rows(), o.run()
	for i := range rows {
		row := &rows[i]
		switch {
		case row.Flags&hidden != 0 || !run.Measures(row):
		case row.Each != nil:
			p.values = append(p.values, row)
		case row.List != nil:
			p.lists = append(p.lists, row)
		}
	}
	return p
}

// Load takes a record, which must not change until the next.
func (p *RecordMetrics) Load(r *bench.Record) { p.view.Load(r) }

// Values yields the metrics of the record in catalogue order and in display units.
// Records that are not successes have few.
func (p *RecordMetrics) Values(yield func(d *catalogue.Def, v float64)) {
	for _, row := range p.values {
		if !row.Scope.Covers(p.view.Outcome) {
			continue
		}
		if x := row.Each(&p.view); !math.IsNaN(x) {
			yield(&row.Def, x/row.Div)
		}
	}
}

// Lists yields the metrics of the record that have several values, in display
// units; a list without values is not yielded. values is valid during the call
// only.
func (p *RecordMetrics) Lists(yield func(d *catalogue.Def, values []float64)) {
	for _, row := range p.lists {
		if !row.Scope.Covers(p.view.Outcome) {
			continue
		}
		p.list = row.List(&p.view, p.list[:0])
		if len(p.list) == 0 {
			continue
		}
		for i := range p.list {
			p.list[i] /= row.Div
		}
		yield(&row.Def, p.list)
	}
}

package metric

import (
	"math"

	"aiperfd/internal/engine/bench"
)

// RecordMetrics computes the metrics of single records: what a line about a record
// holds. It is not safe for concurrent use; the definitions must not be changed.
type RecordMetrics struct {
	values []*row // that have one value a record, in catalogue order
	lists  []*row // that have several
	view   view
	list   []float64
}

// NewRecordMetrics returns the RecordMetrics of the metrics that make sense under o and are
// written for single records.
func NewRecordMetrics(o *Options) *RecordMetrics {
	const hidden = Internal | Experimental | NoIndividualRecords
	p := &RecordMetrics{}
	for i := range catalogue {
		row := &catalogue[i]
		switch {
		case row.Flags&hidden != 0 || !o.measures(row):
		case row.each != nil:
			p.values = append(p.values, row)
		case row.list != nil:
			p.lists = append(p.lists, row)
		}
	}
	return p
}

// Load takes a record, which must not change until the next.
func (p *RecordMetrics) Load(r *bench.Record) { p.view.load(r) }

// Values yields the metrics of the record in catalogue order and in display units.
// Records that are not successes have few.
func (p *RecordMetrics) Values(yield func(d *Def, v float64)) {
	for _, row := range p.values {
		if !row.scope.covers(p.view.outcome) {
			continue
		}
		if x := row.each(&p.view); !math.IsNaN(x) {
			yield(&row.Def, x/row.unit.div)
		}
	}
}

// Lists yields the metrics of the record that have several values, in display
// units; a list without values is not yielded. values is valid during the call
// only.
func (p *RecordMetrics) Lists(yield func(d *Def, values []float64)) {
	for _, row := range p.lists {
		if !row.scope.covers(p.view.outcome) {
			continue
		}
		p.list = row.list(&p.view, p.list[:0])
		if len(p.list) == 0 {
			continue
		}
		for i := range p.list {
			p.list[i] /= row.unit.div
		}
		yield(&row.Def, p.list)
	}
}

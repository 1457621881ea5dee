package metric

import (
	"math"

	"aiperfd/internal/engine/bench"
)

// Values yields the metrics of one record in catalogue order and in display
// units: what a line about the record holds. Lists are apart, see [Lists].
// Records that are not successes have few. It is safe for concurrent use; the
// definitions must not be changed.
func Values(r *bench.Record, o Options, yield func(d *Def, v float64)) {
	var v view
	v.load(r)
	for i := range catalogue {
		row := &catalogue[i]
		if row.each == nil || !row.inRecords(&v, &o) {
			continue
		}
		if x := row.each(&v); !math.IsNaN(x) {
			yield(&row.Def, x/row.unit.div)
		}
	}
}

// Lists yields the metrics of one record that have several values, in display
// units; a list without values is not yielded. values is valid during the call
// only. It is safe for concurrent use.
func Lists(r *bench.Record, o Options, yield func(d *Def, values []float64)) {
	var v view
	v.load(r)
	var values []float64
	for i := range catalogue {
		row := &catalogue[i]
		if row.list == nil || !row.inRecords(&v, &o) {
			continue
		}
		values = row.list(&v, values[:0])
		if len(values) == 0 {
			continue
		}
		for j := range values {
			values[j] /= row.unit.div
		}
		yield(&row.Def, values)
	}
}

// inRecords reports whether a metric is written for single records, and for this
// one.
func (r *row) inRecords(v *view, o *Options) bool {
	const hidden = Internal | Experimental | NoIndividualRecords
	return r.Flags&hidden == 0 && r.scope.covers(v.outcome) && o.measures(r)
}

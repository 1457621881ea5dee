package measure

import "aiperfd/internal/engine/metric/timeline"

// checkEvery is the number of records after which the budget is checked again. One
// record takes about 500 bytes besides its lists.
const checkEvery = 64

// listShare is the part of the budget that the values of one list may take. A list
// has a value for each content event, which must not displace the values of
// requests.
const listShare = 8

// Size returns the bytes that the observed records take, in memory and on disk (see
// [Set.KeepIn]). It stays within the budget of [Options] as follows:
//
//   - a list (one value per content event) keeps its values while they fit an
//     eighth of the budget;
//   - curves are exact while the steps that they are computed from would fit the
//     budget; then they are kept in bins of equal width, in at most an eighth of it;
//   - all other metrics keep their values while everything together fits.
//
// A metric that does not keep its values has percentiles from a sketch, whose
// memory does not grow with the number of values. Results report the method. What
// remains without values is bounded too: sketches (typically 10 KB per metric,
// 250 KB at most), the bins (1 MB at least) and 1,000 kinds of errors (1.5 KB each
// at most). Final results take as much again while they are computed. See ADR 16.
func (s *Set) Size() int64 {
	n := s.timeline.Size() + s.errors.Size()
	for i := range s.series {
		n += s.series[i].size()
	}
	return n
}

// keepWithinBudget drops values that have become too many.
func (s *Set) keepWithinBudget() {
	if s.unchecked++; s.unchecked < checkEvery {
		return
	}
	s.unchecked = 0
	s.enforce()
}

// enforce drops values that exceed the budget.
func (s *Set) enforce() {
	for i := range s.series {
		if se := &s.series[i]; se.row.List != nil && se.exact.Size() > s.opts.Budget/listShare {
			s.dropList(se)
		}
	}
	untilNext := s.opts.Budget / 64 // room for the records before the next check
	if !s.sketched && s.Size() > s.opts.Budget-untilNext {
		s.dropExact()
	}
}

// dropList drops the values of a list. Exact curves need the gaps, so they become
// bins.
func (s *Set) dropList(se *series) {
	if se == s.gaps {
		s.timeline.UseBins()
	}
	se.drop()
}

// dropExact drops the values of all metrics.
func (s *Set) dropExact() {
	s.timeline.UseBins()
	for i := range s.series {
		s.series[i].drop()
	}
	s.sketched = true
}

// KeepIn makes the set store full blocks of values in a file. Call it before the
// first record.
func (s *Set) KeepIn(f timeline.File) { s.disk.Use(f) }

// DiskError returns why values are in memory instead of the file, or could not be
// read back, so that percentiles come from sketches, without intervals, and there
// are no curves; nil = neither.
func (s *Set) DiskError() error { return s.disk.Err() }

// Package stat has the statistics of samples: quantiles and order statistics,
// confidence intervals, the effective size of a sample whose neighbours are
// alike, and tests of fit. Functions are pure; sums over samples that do not fit
// in memory are in [Sequence], which is not safe for concurrent use.
//
// Intervals hold at [Level] unless a function takes another one. They are for
// means, for quantiles of any continuous distribution (by order statistics, so
// that nothing is assumed about its shape), and for the quantile of the next
// sample ([PredictionRank]).
package stat

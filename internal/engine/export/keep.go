package export

import (
	"fmt"
	"hash/fnv"
	"math"

	"aiperfd/internal/engine/bench"
)

// KeepMode says which requests record files have.
type KeepMode string

// The modes. Without one, all requests are kept.
const (
	KeepAll      KeepMode = "all"
	KeepSample   KeepMode = "sample"   // all failures and cancelled requests, and a share of the others
	KeepFailures KeepMode = "failures" // and cancelled requests
)

// RecordKeep selects the requests of record files.
type RecordKeep struct {
	Mode KeepMode `json:"keep"`
	Rate float64  `json:"sample_rate,omitempty"` // of KeepSample, above 0 and below 1
}

// Everything reports whether all requests are kept.
func (k RecordKeep) Everything() bool { return k.Mode == "" || k.Mode == KeepAll }

// Admits reports whether a request is kept. For a sample this depends on its id alone, so
// that all files have the same requests, and a repeated run keeps the same ones.
func (k RecordKeep) Admits(r *bench.Record) bool {
	if k.Everything() || r.Answer.Failure != nil || r.Cancelled() {
		return true
	}
	if k.Mode != KeepSample {
		return false
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(r.RequestID)) // never fails
	return mixed(h.Sum64()) < k.Rate
}

// mixed spreads a hash evenly over the numbers from 0 to 1. It is the finalizer of
// MurmurHash3, because FNV changes its upper bits little with the last bytes.
func mixed(h uint64) float64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return float64(h^h>>33) / math.MaxUint64
}

// KeptRecords is what the record files of a run have, if it is not everything.
type KeptRecords struct {
	RecordKeep
	Kept     int64 `json:"kept"`
	Requests int64 `json:"requests"` // of the run, warm-up included
}

// Warning says what the record files have.
func (k *KeptRecords) Warning() bench.Warning {
	what := "all failed and cancelled requests"
	if k.Mode == KeepSample {
		what += fmt.Sprintf(" and a sample of %s %% of the others", formatShare(k.Rate))
	}
	return bench.Warning{Code: "records-kept", Detail: fmt.Sprintf(
		"the record files have %d of %d requests: %s (artifacts.keepRecords: %s); all other numbers are of all requests",
		k.Kept, k.Requests, what, k.Mode)}
}

// formatShare formats a share as a percentage.
func formatShare(share float64) string { return fmt.Sprintf("%.4g", 100*share) }

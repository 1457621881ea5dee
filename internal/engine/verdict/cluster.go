package verdict

// Contamination bounds a percentile of a metric.
type Contamination struct {
	Metric     string   `json:"metric"`
	Percentile float64  `json:"percentile"`
	Lower      float64  `json:"lower"`
	Upper      *float64 `json:"upper"` // null = there is no upper bound
	Unit       string   `json:"unit"`
}

// Conservation compares what was asked with what became of it, over all phases.
type Conservation struct {
	Scheduled int64 `json:"scheduled"` // requests that bounds asked for; 0 = there is no such number
	Sent      int64 `json:"sent"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
	// Unrecorded were sent by a load generator that was lost, and nobody has its records.
	Unrecorded int64 `json:"unrecorded"`
	NotSent    int64 `json:"not_sent"` // arrivals after a load generator was lost
	Unknown    int64 `json:"unknown"`  // arrivals that it may have sent after its last message
	Holds      bool  `json:"holds"`    // sent = succeeded + failed + cancelled + unrecorded
}

package results

// PairsFile has the pairs of an experiment that compares two servers, in the folder of its study, oldest first.
const PairsFile = "pairs.csv"

// Paired is what an answer of kind ab has besides: two servers got the same requests, and the changes from A to B have
// intervals that hold whenever they are looked at.
type Paired struct {
	Design  string         `json:"design" enums:"mirror,crossover,split"` // see sweep.design
	Metrics []PairedMetric `json:"metrics"`
	Pairs   int64          `json:"pairs" example:"3120"`    // in blocks, or in the one that is being filled
	Looks   int            `json:"first_look" example:"30"` // blocks before which there is no interval
	Level   float64        `json:"level" example:"0.95"`    // probability that all intervals hold at every look
	Block   float64        `json:"block_sec" example:"5"`   // least length of a block
	Sides   []PairedSide   `json:"sides"`                   // A, then B
	Blocks  []PairedBlock  `json:"blocks"`                  // of time, in order: the unit of replication
	Method  string         `json:"method"`
}

// PairedMetric is the change of one metric from A to B. Means are geometric.
type PairedMetric struct {
	Tag     string `json:"tag" example:"time_to_first_token"`
	Verdict string `json:"verdict" enums:"better,worse,equivalent,inconclusive"`
	// Unit of the change, its interval, the margin, the detectable change and the effect of the order.
	Unit   string   `json:"unit" enums:"%,points"`
	Blocks int      `json:"blocks"` // with pairs that have the metric
	Change *float64 `json:"change" example:"-4.1"`
	Low    *float64 `json:"low" example:"-5"`    // null = too few blocks
	High   *float64 `json:"high" example:"-3.2"` // likewise
	Margin float64  `json:"margin" example:"3"`  // changes within it count as equal
	// Detectable is the change that as many blocks find in 80 % of cases; null = too few blocks, or all are alike.
	Detectable *float64 `json:"detectable" example:"1.2"`
	Won        *float64 `json:"share_won_by_b" example:"0.64"` // of pairs; null = it is no latency
	// Order is by how much the change differs between pairs that A got first and those that B got first; of design
	// crossover, between blocks.
	Order  *float64 `json:"order_effect" example:"0.1"`
	OrderT float64  `json:"order_effect_t" example:"0.4"`
	DriftA *float64 `json:"drift_a_pct" example:"2.1"` // from the first to the last block
	DriftB *float64 `json:"drift_b_pct" example:"1.9"`
}

// PairedSide is one of the two servers.
type PairedSide struct {
	Name    string   `json:"name" enums:"A,B"`
	RunID   string   `json:"run_id"`
	Targets []string `json:"targets"`
	Models  []string `json:"models"`
	Failed  int64    `json:"failed"`      // of the pairs
	Lag     float64  `json:"send_lag_ms"` // mean time between when a request was due and its first byte
}

// PairedBlock is a block of time.
type PairedBlock struct {
	From  float64 `json:"from_sec"` // since the start of the phase
	To    float64 `json:"to_sec"`
	Pairs int     `json:"pairs"`
	// Change is by metric, in percent or points; null = no pair of the block has the metric.
	Change map[string]*float64 `json:"change"`
	// SoFar is by metric what this block and those before it say.
	SoFar map[string]PairedRunning `json:"so_far"`
}

// PairedRunning is a change with the interval that held after a block.
type PairedRunning struct {
	Change float64  `json:"change" example:"-4.1"` // in percent or points
	Low    *float64 `json:"low" example:"-5"`      // null = too few blocks
	High   *float64 `json:"high" example:"-3.2"`   // likewise
}

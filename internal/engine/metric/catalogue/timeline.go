package catalogue

// CurveKind is a function of time; a metric of it has the statistics of its values.
type CurveKind uint8

// The curves. Rates are in tokens per second. Those per user are divided by the
// requests that take part; active ones span only the time with such requests.
const (
	NoCurve CurveKind = iota
	Concurrency
	Completions // successes per second: each counts evenly over the time that it took
	Decodes
	Prefills
	DecodeRate
	PrefillRate
	TotalRate
	DecodeRatePerUser
	PrefillRatePerUser
	TokensInFlight
	ActiveDecodeRate
	ActivePrefillRate
	ActiveTotalRate
	ActiveDecodeRatePerUser
	ActivePrefillRatePerUser
)

// Flow is what happened in an interval of time.
type Flow struct {
	Started, Ended float64 // requests of every outcome
	Succeeded      float64 // of those that ended
	Input          float64 // prompt tokens of the successes that ended
	Output         float64 // tokens of successes that arrived; see Timeline.Flows
	Wait           float64 // seconds to the first content, or to the end without one, of the successes that started
	Waits          float64 // their number
}

package timeline

// Curve is a function of time.
type Curve uint8

// The curves. Rates are in tokens per second. Those per user are divided by the
// requests that take part; active ones span only the time with such requests.
const (
	None Curve = iota // no curve
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

// needs returns which facts about requests a curve is computed from.
func (c Curve) needs() (first, isl, osl bool) {
	switch c {
	case None, Concurrency, Completions:
		return false, false, false
	case Decodes, Prefills, TokensInFlight:
		return true, false, false
	case DecodeRate, DecodeRatePerUser, ActiveDecodeRate, ActiveDecodeRatePerUser:
		return true, false, true
	case PrefillRate, PrefillRatePerUser, ActivePrefillRate, ActivePrefillRatePerUser:
		return true, true, false
	case TotalRate, ActiveTotalRate:
		return true, true, true
	}
	return false, false, false
}

// value returns the curve's value at a level, and the share of the time for which
// it counts: an active curve does not count while nothing happens. At an instant
// the share is 0 or 1. In a bin, whose level is a mean, less than one request on
// average means that for the rest of the time there was none.
func (c Curve) value(l *level) (v, share float64) {
	switch c {
	case Concurrency:
		return l.running, 1
	case Completions:
		return l.served, 1
	case Decodes:
		return l.decoding, 1
	case Prefills:
		return l.prefilling, 1
	case DecodeRate:
		return l.decodeRate, 1
	case PrefillRate:
		return l.prefillRate, 1
	case TotalRate:
		return l.prefillRate + l.evenRate, 1
	case DecodeRatePerUser:
		return perUser(l.decodeRate, l.decoding) * min(1, l.decoding), 1
	case PrefillRatePerUser:
		return perUser(l.prefillRate, l.prefilling) * min(1, l.prefilling), 1
	case TokensInFlight:
		return l.tokens, 1
	case ActiveDecodeRate:
		return active(l.decodeRate, l.decoding)
	case ActivePrefillRate:
		return active(l.prefillRate, l.prefilling)
	case ActiveTotalRate:
		return active(l.prefillRate+l.evenRate, l.running)
	case ActiveDecodeRatePerUser:
		return perUser(l.decodeRate, l.decoding), min(1, l.decoding)
	case ActivePrefillRatePerUser:
		return perUser(l.prefillRate, l.prefilling), min(1, l.prefilling)
	case None:
	}
	return 0, 0
}

// active returns a rate and the share of the time in which there were requests.
func active(rate, requests float64) (v, share float64) {
	if requests <= 0 {
		return 0, 0
	}
	return rate / min(1, requests), min(1, requests)
}

// perUser divides a rate among requests; 0 if there is none.
func perUser(rate, requests float64) float64 {
	if requests <= 0 {
		return 0
	}
	return rate / requests
}

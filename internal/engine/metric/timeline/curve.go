package timeline

import "aiperfd/internal/engine/metric/catalogue"

// needs returns which facts about requests a curve is computed from.
func needs(c catalogue.CurveKind) (first, isl, osl bool) {
	switch c {
	case catalogue.NoCurve, catalogue.Concurrency, catalogue.Completions:
		return false, false, false
	case catalogue.Decodes, catalogue.Prefills, catalogue.TokensInFlight:
		return true, false, false
	case catalogue.DecodeRate, catalogue.DecodeRatePerUser, catalogue.ActiveDecodeRate, catalogue.ActiveDecodeRatePerUser:
		return true, false, true
	case catalogue.PrefillRate, catalogue.PrefillRatePerUser, catalogue.ActivePrefillRate, catalogue.ActivePrefillRatePerUser:
		return true, true, false
	case catalogue.TotalRate, catalogue.ActiveTotalRate:
		return true, true, true
	}
	return false, false, false
}

// valueAt returns the curve's value at a level, and the share of the time for which
// it counts: an active curve does not count while nothing happens. At an instant
// the share is 0 or 1. In a bin, whose level is a mean, less than one request on
// average means that for the rest of the time there was none.
func valueAt(c catalogue.CurveKind, l *level) (v, share float64) {
	switch c {
	case catalogue.Concurrency:
		return l[runningLevel], 1
	case catalogue.Completions:
		return l[servedLevel], 1
	case catalogue.Decodes:
		return l[decodingLevel], 1
	case catalogue.Prefills:
		return l[prefillingLevel], 1
	case catalogue.DecodeRate:
		return l[decodeRateLevel], 1
	case catalogue.PrefillRate:
		return l[prefillRateLevel], 1
	case catalogue.TotalRate:
		return l[prefillRateLevel] + l[evenRateLevel], 1
	case catalogue.DecodeRatePerUser:
		return perUser(l[decodeRateLevel], l[decodingLevel]) * min(1, l[decodingLevel]), 1
	case catalogue.PrefillRatePerUser:
		return perUser(l[prefillRateLevel], l[prefillingLevel]) * min(1, l[prefillingLevel]), 1
	case catalogue.TokensInFlight:
		return l[tokensLevel], 1
	case catalogue.ActiveDecodeRate:
		return active(l[decodeRateLevel], l[decodingLevel])
	case catalogue.ActivePrefillRate:
		return active(l[prefillRateLevel], l[prefillingLevel])
	case catalogue.ActiveTotalRate:
		return active(l[prefillRateLevel]+l[evenRateLevel], l[runningLevel])
	case catalogue.ActiveDecodeRatePerUser:
		return perUser(l[decodeRateLevel], l[decodingLevel]), min(1, l[decodingLevel])
	case catalogue.ActivePrefillRatePerUser:
		return perUser(l[prefillRateLevel], l[prefillingLevel]), min(1, l[prefillingLevel])
	case catalogue.NoCurve:
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

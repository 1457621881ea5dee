package catalogue

// networkRows are latencies without the round trip to the server, and the round trip. AIPerf adjusts no time between
// two events of a response: the round trip is in both of them.
func networkRows() []Row {
	return []Row{
		withoutTrip("time_to_first_token", streamedTokens).alsoAudio(),
		withoutTrip("time_to_first_output_token", streamedTokens|SupportsReasoning),
		withoutTrip("request_latency", 0),
		roundTrip(),
	}
}

// withoutTrip is a latency minus the round trip to the server of each request, 0 at least.
func withoutTrip(tag string, f Flags) Row {
	r := newRow("network_adjusted_"+tag, Derived, f, inMS)
	r.LessTrip = tag
	return r
}

// roundTrip is what is subtracted.
func roundTrip() Row {
	r := newRow("network_rtt", Derived, NoIndividualRecords, inMS)
	r.Trip = true
	return r
}

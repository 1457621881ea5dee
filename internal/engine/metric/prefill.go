package metric

// prefillRows are about the limit of requests that have no content yet.
func prefillRows() []row {
	return []row{{
		Def: Def{
			Tag: "prefill_wait", Header: "Prefill Wait", Short: "Prefill Wait", Origin: ours,
			Group: GroupDefault, Flags: PrefillOnly,
			Doc: "Time that the request waited because too many others had no content yet (prefill concurrency), for every attempt. Part of schedule_lag.",
		},
		unit: inMS, each: func(v *view) float64 { return max(0, since(v.r.Stamps.Permit, v.r.Stamps.Queued)) }, scope: onAttempt,
	}}
}

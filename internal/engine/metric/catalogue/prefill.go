package catalogue

// prefillRows are about the limit of requests that have no content yet.
func prefillRows() []Row {
	return []Row{{
		Def: Def{
			Tag: "prefill_wait", Header: "Prefill Wait", Short: "Prefill Wait", Origin: Ours,
			Group: GroupDefault, Flags: PrefillOnly,
			Doc: "Time that the request waited because too many others had no content yet (prefill concurrency), for every attempt. Part of schedule_lag.",
		},
		unit: inMS, Each: func(v *View) float64 { return max(0, since(v.Record.Stamps.Permit, v.Record.Stamps.Queued)) }, Scope: OnAttempt,
	}}
}

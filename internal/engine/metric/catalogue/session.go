package catalogue

// sessionRows are about conversations of several turns.
func sessionRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "session_latency", Better: Lower, Header: "Session Latency", Short: "Session Latency", Origin: Ours,
				Headline: Headline{16, InTables},
				Group:    GroupDefault, Order: 310, Flags: NoIndividualRecords,
				Doc: "From the start of the first turn of a conversation to the end of the body of the last one, with the delays between them.",
			},
			unit: inMS, Each: func(v *View) float64 { return since(v.Record.Stamps.End, v.SessionStart) },
		},
		{
			Def: Def{
				Tag: "session_turns", Better: Neither, Header: "Session Turns", Short: "Session Turns", Origin: Ours,
				Group: GroupDefault, Order: 320, Flags: NoIndividualRecords,
				Doc: "Turns of a conversation.",
			},
			unit: inCount, Each: func(v *View) float64 { return present(v.SessionStart != 0, float64(v.Record.Turns)) },
		},
		{
			Def: Def{
				Tag: "turn_latency", Better: Lower, Header: "Turn Latency", Short: "Turn Latency", Origin: Ours, Flags: NoIndividualRecords,
				Doc: "request_latency of a turn, whether or not the conversation was completed.",
			},
			unit: inMS, Each: func(v *View) float64 { return present(v.Record.Turns > 1, v.Last) },
		},
		{
			Def: Def{
				Tag: "cache_hit_ratio", Better: Higher, Header: "Cache Hit Ratio", Short: "Cache Hits", Origin: Ours, Flags: NoIndividualRecords | LargerIsBetter,
				Doc: "Prompt tokens of a turn that the server read from its cache / its prompt tokens, by the server's count.",
			},
			unit: inRatio,
			Each: func(v *View) float64 {
				return present(v.Record.Turns > 1, count(v.Usage.Cached)/positive(count(v.Usage.Input)))
			},
		},
	}
}

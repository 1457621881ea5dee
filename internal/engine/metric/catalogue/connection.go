package catalogue

import (
	"math"
	"slices"

	"aiperfd/internal/engine/bench"
)

// connectionRows are the costs of opening connections, before a phase or by the
// request that needed one.
func connectionRows() []Row {
	times := []Row{
		{
			Def: Def{
				Tag: "http_connection_time", Better: Lower, Header: "HTTP Connection Setup", Short: "Conn Setup",
				Order: 2140, Doc: "Name look-up + TCP handshake + TLS handshake.",
			},
			Setup: func(c bench.Setup) float64 { return float64(c.DNS + c.Connect + c.TLS) },
		},
		{
			Def: Def{
				Tag: "http_connection_dns_lookup", Better: Lower, Header: "HTTP Connection DNS Lookup", Short: "Conn DNS",
				Order: 2150, Doc: "Name look-up; 0 if none was needed.",
			},
			Setup: func(c bench.Setup) float64 { return float64(c.DNS) },
		},
		{
			Def: Def{
				Tag: "http_connection_tcp_connect", Better: Lower, Header: "HTTP Connection TCP Connect", Short: "Conn TCP",
				Order: 2160, Doc: "TCP handshake.",
			},
			Setup: func(c bench.Setup) float64 { return float64(c.Connect) },
		},
		{
			Def: Def{
				Tag: "http_connection_tls_handshake", Better: Lower, Header: "HTTP Connection TLS Handshake", Short: "Conn TLS",
				Order: 2170, Doc: "TLS handshake; 0 without TLS.",
			},
			Setup: func(c bench.Setup) float64 { return float64(c.TLS) },
		},
	}
	for i := range times {
		r := &times[i]
		setup := r.Setup
		r.unit, r.Scope = inMS, OnAttempt
		r.Each = func(v *View) float64 { return opened(v.Record, setup) }
	}
	rows := slices.Concat(times, connectionCounts())
	for i := range rows {
		rows[i].Flags, rows[i].Origin = HTTPTraceOnly|NoIndividualRecords, Ours
	}
	return rows
}

// connectionCounts count the opened connections, by reason.
func connectionCounts() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "http_connection_count", Better: Neither, Header: "HTTP Connections Opened", Short: "Conns", Kind: Aggregate,
				Order: 2180,
				Doc:   "Connections opened for the phase, ahead of it or by its requests. With HTTP/2 requests share them. Absent if a run was restored from its record file.",
			},
			unit: inCount, Total: func(t *Totals) float64 {
				if math.IsNaN(t.Opened) {
					return math.NaN()
				}
				return float64(t.Count("http_connection_time"))
			},
		},
		{
			Def: Def{
				Tag: "http_preconnected_count", Better: Neither, Header: "HTTP Connections Opened Ahead", Short: "Preconnected", Kind: Aggregate,
				Order: 2190, Doc: "Those of http_connection_count that were opened before the phase. Absent if a run was restored from its record file.",
			},
			unit: inCount, Total: func(t *Totals) float64 { return t.Opened },
		},
		{
			Def: Def{
				Tag: "http_retry_count", Better: Lower, Header: "HTTP Retries on New Connections", Short: "Conn Retries", Kind: Aggregate,
				Order: 2200, Doc: "Requests sent once more on a new connection because a reused one failed before the first byte of an answer. Absent when there was none.",
			},
			unit: inCount, Total: func(t *Totals) float64 { return positive(float64(t.Retries)) },
		},
	}
}

// opened returns the cost of the connection that a request opened; NaN = it opened none.
func opened(r *bench.Record, setup func(bench.Setup) float64) float64 {
	c := &r.Conn
	if r.Stamps.Connected == 0 || c.Reused {
		return math.NaN()
	}
	return setup(bench.Setup{DNS: c.DNS, Connect: c.Connect, TLS: c.TLS})
}

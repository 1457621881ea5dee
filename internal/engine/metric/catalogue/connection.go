package catalogue

import (
	"math"

	"aiperfd/internal/engine/bench"
)

// connectionRows are the costs of opening connections, before a phase or by the
// request that needed one.
func connectionRows() []Row {
	rows := []Row{
		opening("http_connection_time", func(c bench.Setup) float64 { return float64(c.DNS + c.Connect + c.TLS) }),
		opening("http_connection_dns_lookup", func(c bench.Setup) float64 { return float64(c.DNS) }),
		opening("http_connection_tcp_connect", func(c bench.Setup) float64 { return float64(c.Connect) }),
		opening("http_connection_tls_handshake", func(c bench.Setup) float64 { return float64(c.TLS) }),
		aggregate("http_connection_count", 0, inCount, func(t *Totals) float64 {
			if math.IsNaN(t.Opened) {
				return math.NaN()
			}
			return float64(t.Count("http_connection_time"))
		}),
		aggregate("http_preconnected_count", 0, inCount, func(t *Totals) float64 { return t.Opened }),
		aggregate("http_retry_count", 0, inCount, func(t *Totals) float64 { return positive(float64(t.Retries)) }),
	}
	for i := range rows {
		rows[i].Flags = HTTPTraceOnly | NoIndividualRecords
	}
	return rows
}

// opening is a cost of every connection that was opened.
func opening(tag string, cost func(bench.Setup) float64) Row {
	r := record(tag, 0, inMS, func(v *View) float64 { return opened(v.Record, cost) }).ofAttempts()
	r.Setup = cost
	return r
}

// opened returns the cost of the connection that a request opened; NaN = it opened none.
func opened(r *bench.Record, cost func(bench.Setup) float64) float64 {
	c := &r.Conn
	if r.Stamps.Connected == 0 || c.Reused {
		return math.NaN()
	}
	return cost(bench.Setup{DNS: c.DNS, Connect: c.Connect, TLS: c.TLS})
}

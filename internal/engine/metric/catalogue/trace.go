package catalogue

import "time"

// traceRows split a request into the work of its connection.
func traceRows() []Row {
	return []Row{
		record("http_req_blocked", HTTPTraceOnly, inMS, func(v *View) float64 {
			return traced(v, float64(v.Record.Conn.Blocked))
		}),
		record("http_req_dns_lookup", HTTPTraceOnly, inMS, func(v *View) float64 {
			return traced(v, float64(v.Record.Conn.DNS))
		}),
		record("http_req_connecting", HTTPTraceOnly, inMS, func(v *View) float64 {
			return traced(v, float64(v.Record.Conn.Connect+v.Record.Conn.TLS))
		}),
		record("http_req_tls", HTTPTraceOnly, inMS, func(v *View) float64 {
			return traced(v, float64(v.Record.Conn.TLS))
		}),
		record("http_req_sending", HTTPTraceOnly, inMS, sending),
		record("http_req_waiting", HTTPTraceOnly, inMS, waiting),
		record("http_req_ttfb", HTTPTraceOnly, inMS, func(v *View) float64 {
			return max(0, since(v.Record.Stamps.FirstByte, v.Record.Stamps.Wrote))
		}),
		record("ttft_wire", streamedTokens, inMS, func(v *View) float64 {
			return v.First + since(v.Record.Stamps.Start, v.Record.Stamps.Wrote)
		}),
		record("time_to_headers", 0, inMS, func(v *View) float64 { return v.afterStart(v.Record.Stamps.Headers) }),
		record("http_req_header", HTTPTraceOnly, inMS, func(v *View) float64 {
			return max(0, since(v.Record.Stamps.FirstBody, v.Record.Stamps.FirstByte))
		}),
		record("http_req_receiving", HTTPTraceOnly, inMS, receiving),
		record("http_req_connection_reused", HTTPTraceOnly, inRatio, reused),
		record("http_req_data_sent", HTTPTraceOnly, inKB, func(v *View) float64 {
			return traced(v, float64(v.Record.Conn.Sent))
		}),
		record("http_req_chunks_sent", HTTPTraceOnly, inCount, func(v *View) float64 {
			return traced(v, positive(float64(v.Record.Conn.Writes)))
		}),
		record("http_req_data_received", HTTPTraceOnly, inKB, func(v *View) float64 {
			return traced(v, float64(v.Record.Conn.Received))
		}),
		record("http_req_chunks_received", HTTPTraceOnly, inCount, func(v *View) float64 {
			return traced(v, positive(float64(v.Record.Conn.Reads)))
		}),
		record("http_req_connection_overhead", HTTPTraceOnly, inMS, func(v *View) float64 {
			return traced(v, float64(overhead(v)))
		}),
		record("http_req_duration", HTTPTraceOnly, inMS, func(v *View) float64 {
			return sending(v) + waiting(v) + receiving(v)
		}),
		record("http_req_total", HTTPTraceOnly, inMS, func(v *View) float64 {
			return float64(overhead(v)) + sending(v) + waiting(v) + receiving(v)
		}),
	}
}

// traced returns x if the request got a connection.
func traced(v *View, x float64) float64 { return present(v.Record.Stamps.Connected != 0, x) }

// overhead is the time spent on getting a connection.
func overhead(v *View) time.Duration {
	c := &v.Record.Conn
	return c.Blocked + c.DNS + c.Connect + c.TLS
}

// reused is 1 for a connection that had been used before.
func reused(v *View) float64 {
	return traced(v, float64(b2i(v.Record.Conn.Reused)))
}

// sending is the time to write the request.
func sending(v *View) float64 { return max(0, since(v.Record.Stamps.Wrote, v.Record.Stamps.Connected)) }

// waiting is the time from the request to the first byte of the response body, as
// AIPerf has it. It is 0 when the server answered before it had read everything.
func waiting(v *View) float64 { return max(0, since(v.Record.Stamps.FirstBody, v.Record.Stamps.Wrote)) }

// receiving is the time that the response body took to arrive.
func receiving(v *View) float64 { return max(0, since(v.Record.Stamps.End, v.Record.Stamps.FirstBody)) }

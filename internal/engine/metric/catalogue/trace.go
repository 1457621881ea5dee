package catalogue

import "time"

// traceRows split a request into the work of its connection.
func traceRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "http_req_blocked", Better: Lower, Header: "HTTP Blocked", Short: "Blocked",
				Order: 2000, Flags: HTTPTraceOnly,
				Doc: "Wait for a free connection.",
			},
			unit: inMS, Each: blocked,
		},
		{
			Def: Def{
				Tag: "http_req_dns_lookup", Better: Lower, Header: "HTTP DNS Lookup", Short: "DNS",
				Order: 2010, Flags: HTTPTraceOnly,
				Doc: "Name resolution; 0 if none was needed.",
			},
			unit: inMS, Each: func(v *View) float64 { return traced(v, float64(v.Record.Conn.DNS)) },
		},
		{
			Def: Def{
				Tag: "http_req_connecting", Better: Lower, Header: "HTTP Connecting", Short: "Connecting",
				Order: 2020, Flags: HTTPTraceOnly,
				Doc: "TCP and TLS handshakes; 0 on a reused connection.",
			},
			unit: inMS, Each: func(v *View) float64 { return traced(v, float64(v.Record.Conn.Connect+v.Record.Conn.TLS)) },
		},
		{
			Def: Def{
				Tag: "http_req_tls", Better: Lower, Header: "HTTP TLS Handshake", Short: "TLS", Origin: Ours,
				Order: 2025, Flags: HTTPTraceOnly,
				Doc: "TLS handshake only; 0 on a reused or plain connection.",
			},
			unit: inMS, Each: func(v *View) float64 { return traced(v, float64(v.Record.Conn.TLS)) },
		},
		{
			Def: Def{
				Tag: "http_req_sending", Better: Lower, Header: "HTTP Sending", Short: "Sending",
				Order: 2030, Flags: HTTPTraceOnly,
				Doc: "From having a connection to the request being written.",
			},
			unit: inMS, Each: sending,
		},
		{
			Def: Def{
				Tag: "http_req_waiting", Better: Lower, Header: "HTTP Waiting (TTFB)", Short: "TTFB",
				Order: 2040, Flags: HTTPTraceOnly,
				Doc: "Request written to first byte of the response body.",
			},
			unit: inMS, Each: waiting,
		},
		{
			Def: Def{
				Tag: "http_req_ttfb", Better: Lower, Header: "HTTP Time to First Byte", Short: "TTFB (head)", Origin: Ours,
				Order: 2042, Flags: HTTPTraceOnly,
				Doc: "Request written to first byte of the response head.",
			},
			unit: inMS, Each: func(v *View) float64 { return max(0, since(v.Record.Stamps.FirstByte, v.Record.Stamps.Wrote)) },
		},
		{
			Def: Def{
				Tag: "ttft_wire", Better: Lower, Header: "Time to First Token on the Wire", Short: "Wire TTFT", Origin: Ours,
				Flags: StreamingOnly | ProducesTokensOnly,
				Doc:   "First content event minus the time at which the whole request was written: time_to_first_token without connecting and sending.",
			},
			unit: inMS, Each: func(v *View) float64 { return v.First + since(v.Record.Stamps.Start, v.Record.Stamps.Wrote) },
		},
		{
			Def: Def{
				Tag: "time_to_headers", Better: Lower, Header: "Time to Response Head", Short: "Head", Origin: Ours,
				Doc: "From the start of the request to the response head.",
			},
			unit: inMS, Each: func(v *View) float64 { return v.afterStart(v.Record.Stamps.Headers) },
		},
		{
			Def: Def{
				Tag: "http_req_header", Better: Lower, Header: "HTTP Response Head to Body", Short: "Head to body", Origin: Ours,
				Order: 2044, Flags: HTTPTraceOnly,
				Doc: "First byte of the response head to first byte of the body.",
			},
			unit: inMS, Each: func(v *View) float64 { return max(0, since(v.Record.Stamps.FirstBody, v.Record.Stamps.FirstByte)) },
		},
		{
			Def: Def{
				Tag: "http_req_receiving", Better: Lower, Header: "HTTP Receiving", Short: "Receiving",
				Order: 2050, Flags: HTTPTraceOnly,
				Doc: "First byte of the response body to its end.",
			},
			unit: inMS, Each: receiving,
		},
		{
			Def: Def{
				Tag: "http_req_connection_reused", Better: Neither, Header: "HTTP Connection Reused", Short: "Conn Reused",
				Order: 2060, Flags: HTTPTraceOnly,
				Doc: "1 if the connection had served an earlier request, else 0.",
			},
			unit: inRatio, Each: reused,
		},
		{
			Def: Def{
				Tag: "http_req_data_sent", Better: Neither, Header: "HTTP Data Sent", Short: "Sent",
				Order: 2070, Flags: HTTPTraceOnly,
				Doc: "Bytes of the request body.",
			},
			unit: inKB, Each: func(v *View) float64 { return traced(v, float64(v.Record.Conn.Sent)) },
		},
		{
			Def: Def{
				Tag: "http_req_chunks_sent", Better: Neither, Header: "HTTP Chunks Sent", Short: "Chunks Sent",
				Order: 2080, Flags: HTTPTraceOnly,
				Doc: "Writes that sent the request. Absent with HTTP/2.",
			},
			unit: inCount, Each: func(v *View) float64 { return traced(v, positive(float64(v.Record.Conn.Writes))) },
		},
		{
			Def: Def{
				Tag: "http_req_data_received", Better: Neither, Header: "HTTP Data Received", Short: "Received",
				Order: 2090, Flags: HTTPTraceOnly,
				Doc: "Bytes of the response body as received.",
			},
			unit: inKB, Each: func(v *View) float64 { return traced(v, float64(v.Record.Conn.Received)) },
		},
		{
			Def: Def{
				Tag: "http_req_chunks_received", Better: Neither, Header: "HTTP Chunks Received", Short: "Chunks Recv",
				Order: 2100, Flags: HTTPTraceOnly,
				Doc: "Reads that returned bytes of the response.",
			},
			unit: inCount, Each: func(v *View) float64 { return traced(v, positive(float64(v.Record.Conn.Reads))) },
		},
		{
			Def: Def{
				Tag: "http_req_connection_overhead", Better: Lower, Header: "HTTP Connection Overhead", Short: "Conn Overhead",
				Order: 2110, Flags: HTTPTraceOnly,
				Doc: "Blocked + name resolution + connecting.",
			},
			unit: inMS, Each: func(v *View) float64 { return traced(v, float64(overhead(v))) },
		},
		{
			Def: Def{
				Tag: "http_req_duration", Better: Lower, Header: "HTTP Duration (excl. conn)", Short: "Dur (excl)",
				Order: 2120, Flags: HTTPTraceOnly,
				Doc: "Sending + waiting + receiving.",
			},
			unit: inMS, Each: func(v *View) float64 { return sending(v) + waiting(v) + receiving(v) },
		},
		{
			Def: Def{
				Tag: "http_req_total", Better: Lower, Header: "HTTP Total Time", Short: "Total",
				Order: 2130, Flags: HTTPTraceOnly,
				Doc: "Blocked + name resolution + connecting + sending + waiting + receiving; the phases do not overlap.",
			},
			unit: inMS, Each: func(v *View) float64 { return float64(overhead(v)) + sending(v) + waiting(v) + receiving(v) },
		},
	}
}

// traced returns x if the request got a connection.
func traced(v *View, x float64) float64 { return present(v.Record.Stamps.Connected != 0, x) }

// overhead is the time spent on getting a connection.
func overhead(v *View) time.Duration {
	c := &v.Record.Conn
	return c.Blocked + c.DNS + c.Connect + c.TLS
}

// blocked is the wait for a free connection.
func blocked(v *View) float64 { return traced(v, float64(v.Record.Conn.Blocked)) }

// reused is 1 for a connection that had been used before.
func reused(v *View) float64 {
	if v.Record.Conn.Reused {
		return traced(v, 1)
	}
	return traced(v, 0)
}

// sending is the time to write the request.
func sending(v *View) float64 { return max(0, since(v.Record.Stamps.Wrote, v.Record.Stamps.Connected)) }

// waiting is the time from the request to the first byte of the response body, as
// AIPerf has it. It is 0 when the server answered before it had read everything.
func waiting(v *View) float64 { return max(0, since(v.Record.Stamps.FirstBody, v.Record.Stamps.Wrote)) }

// receiving is the time that the response body took to arrive.
func receiving(v *View) float64 { return max(0, since(v.Record.Stamps.End, v.Record.Stamps.FirstBody)) }

package transport

import (
	"net/netip"
	"strings"
	"testing"
)

// A trace has the addresses of the connection, and the number of writes is known.
func TestTraceOfAConnection(t *testing.T) {
	for _, way := range ways() {
		for _, traced := range []bool{true, false} {
			t.Run(way.name, func(t *testing.T) {
				stage := perform(t, answers(false, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "{}"), Options{Dial: way.dial, TLS: way.tls, Trace: traced})
				var ports []uint16
				for _, body := range []string{"{}", strings.Repeat("x", 1<<20)} {
					r := stage.request()
					r.Body = []byte(body)
					x := stage.client.Do(t.Context(), r)
					if x.Response.Failure != nil {
						t.Fatal(x.Response.Failure)
					}
					if x.Conn.Writes < 1 || len(body) == 2 && x.Conn.Writes != 1 {
						t.Errorf("%d writes for %d bytes", x.Conn.Writes, len(body))
					}
					trace := x.Conn.Trace
					x.Release()
					if (trace != nil) != traced {
						t.Fatalf("trace = %v", trace)
					}
					if !traced {
						continue
					}
					if want := netip.MustParseAddrPort(stage.url.Host); trace.Remote != want || trace.Local.Addr() != want.Addr() || trace.Local.Port() == 0 {
						t.Errorf("from %s to %s, want to %s", trace.Local, trace.Remote, want)
					}
					ports = append(ports, trace.Local.Port())
				}
				if traced && ports[0] != ports[1] {
					t.Errorf("ports %v of one connection", ports)
				}
			})
		}
	}
}

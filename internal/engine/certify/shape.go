package certify

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"
)

const (
	wantedRequests = 800 // requests; some more than a bound of a p99 needs
	maxChunks      = 50  // events of a response
)

// shape describes the responses of the reference server.
type shape struct {
	ttft, itl time.Duration
	streams   int      // at the same time, at most
	writes    [][]byte // one for each event: head and first event, …, last event and end
}

// newShape returns the requested responses, shortened if necessary to get
// wantedRequests within the time.
func newShape(o *Options) *shape {
	sh := &shape{streams: min(o.Concurrency, MaxStreams)}
	// A closed loop of c streams performs c·(time-2·length)/length requests if the
	// streams take the first length to start and the last one to end.
	length := o.Time / 4
	if o.Rate == 0 {
		c := float64(sh.streams)
		length = time.Duration(float64(o.Time) * c / (wantedRequests + 2*c))
	}
	sh.ttft, sh.itl = min(o.TTFT, length*2/5), min(o.ITL, length/5)
	sh.ttft, sh.itl = max(sh.ttft, 1), max(sh.itl, 1)
	chunks := min(max(1+int((length-sh.ttft)/sh.itl), 2), maxChunks)
	if o.Rate > 0 {
		// Twice the mean number of requests in flight, and a margin for small numbers.
		sh.streams = min(16+int(math.Ceil(2*o.Rate*(sh.ttft+time.Duration(chunks)*sh.itl).Seconds())), MaxStreams)
	}
	sh.writes = responses(chunks, o.ChunkBytes)
	return sh
}

// length returns the duration of a response.
func (s *shape) length() time.Duration {
	return s.ttft + time.Duration(len(s.writes)-1)*s.itl
}

const responseHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"

// responses returns the writes of a response with events of about size bytes.
func responses(chunks, size int) [][]byte {
	out := make([][]byte, chunks)
	for i := range out {
		var b bytes.Buffer
		if i == 0 {
			b.WriteString(responseHead)
		}
		e := event(i, size)
		if i == chunks-1 {
			e += "data: [DONE]\n\n"
		}
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(e), e)
		if i == chunks-1 {
			b.WriteString("0\r\n\r\n")
		}
		out[i] = b.Bytes()
	}
	return out
}

// event returns a content event of a chat stream, padded to size bytes.
func event(i, size int) string {
	const head = `data: {"id":"chatcmpl-reference","object":"chat.completion.chunk","created":0,"model":"reference","choices":[{"index":0,"delta":{"content":"`
	const tail = `"},"finish_reason":null}]}` + "\n\n"
	text := fmt.Sprintf(" w%d", i)
	if fill := size - len(head) - len(text) - len(tail); fill > 0 {
		text += strings.Repeat("x", fill)
	}
	return head + text + tail
}
